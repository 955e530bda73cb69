"""The single Interrupt that may be raised into a body on a thread.

The protocol has one token per call and no lock, because on CPython 3.14 an asynchronous exception
can land between a lock's acquisition and the block that would release it:

- the thread *opens* the call by appending the token, and drains it when the body has ended;
- whoever interrupts pops the token and, having got it, owes exactly one raise;
- a thread that finds its token gone waits until that raise was really sent, withdraws it if it has
  not landed, and otherwise catches it in the one window where it still can land.

So an Interrupt never reaches what the thread does next.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from toolexec import Interrupt
from toolexec.lowlevel import CallState, warn_beside
from toolexec_strategies._workers import _gate

R = TypeVar("R")

# How soon a thread that stood where it may not be interrupted is looked at again.  Short beside any
# grace, and 1,000 looks a second are no load.
AGAIN_S = 0.001

# cpython issue 148874: there an exception that lands at a ``with`` can leave its lock taken, also
# outside the code that the gate knows.
LOCKS_MAY_STAY = sys.version_info[:2] == (3, 14)
# There NULL sets the flag that an exception waits, and only one that lands clears it: everything runs slower from
# then on, and a thread that is profiled, traced or debugged stands still for ever.
FLAG_STAYS = sys.version_info[:2] == (3, 11)
_warned: list[bool] = []


class OneShot(Generic[R]):
    """One body on one thread.

    Args:
        call: The state of its call.
        failed: Makes a result of an exception.

    Attributes:
        ident: The thread's.
        fired: Whether an Interrupt was raised.
    """

    __slots__ = ("_call", "_failed", "_over", "_sent", "_token", "fired", "ident")

    def __init__(self, call: CallState, failed: Callable[[BaseException], R]) -> None:
        self._call = call
        self._failed = failed
        self._token: list[int] = []
        self._sent = False
        self._over = False
        self.ident = 0
        self.fired = False

    def run(self, body: Callable[[], R]) -> R | None:
        """Run ``body`` here, open to one Interrupt; None when that took the place of its result."""
        result: list[R] = []
        try:
            self._guarded(body, result)
        except Interrupt:
            # The one shot, landed after the body and before the drain was through.  None can follow.
            pass
        return result[0] if result else None

    def fire(self) -> bool:
        """Raise Interrupt in the body, once, if it runs and the gate allows.

        Only on a thread of the engine: a Ctrl-C in the middle would owe a raise that is never sent.

        Returns:
            False when the thread stands where nothing may be raised now: try again in a moment.
        """
        if self._over or not self._token:  # not open yet, closed, or sent already
            return True
        send, _ = _setters()  # before the look, which must not be old when something is raised
        if _gate.is_closed(self.ident):
            return False
        try:
            self._token.pop()
        except IndexError:
            return True
        try:
            if self._call.deliver_once():
                self.fired = True
                send(self.ident, Interrupt)
        finally:
            self._sent = True
        return True

    def give_up(self) -> None:
        """The body was left behind: nothing is raised in it any more."""
        self._over = True

    def _guarded(self, body: Callable[[], R], result: list[R]) -> None:
        # The catching frame must not be the one that loops in the drain: on CPython 3.13.0 an exception
        # that hits a ``while`` condition escapes the ``try`` of its own frame.
        try:
            result.append(self._opened(body))
        except BaseException as exc:  # noqa: BLE001 - the Interrupt, landed outside the tool's own frames
            result.append(self._failed(exc))
        self._drain()

    def _opened(self, body: Callable[[], R]) -> R:
        self.ident = threading.get_ident()
        self._token.append(1)
        if self._call.asked:  # asked before the token was there: never start
            raise self._call.interrupt()
        return body()

    def _drain(self) -> None:
        try:
            self._token.pop()  # ours now: nobody can send any more
        except IndexError:
            while not self._sent:  # taken: wait until it was really sent
                time.sleep(0)
            self._withdraw()  # take it back if it has not landed
        self._over = True

    def _withdraw(self) -> None:
        send, withdraw = _setters()
        if not FLAG_STAYS:
            withdraw(self.ident, None)
            return
        try:
            send(self.ident, Interrupt)  # in place of the one that has not landed, or one more
            while True:
                time.sleep(0)
        except Interrupt:
            pass


@functools.cache
def _setters() -> tuple[Callable[[int, type[BaseException]], int], Callable[[int, None], int]]:
    """PyThreadState_SetAsyncExc for an exception, and for NULL; ``None`` as a py_object would be no NULL."""
    import ctypes  # only an interrupt needs it

    symbol: Any = ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
    send: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(symbol)
    withdraw: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(symbol)
    return send, withdraw


def warn_once() -> None:
    """Say, where it is so, what an interrupt in a thread may have left behind."""
    if LOCKS_MAY_STAY and not _warned:
        _warned.append(True)
        warn_beside(
            "toolexec: an interrupt was raised in a thread, which on Python 3.14 can leave a lock taken that a `with` "
            "was just taking; tools that lock much belong in the fork strategy, or set deliver='poll'"
        )
