"""The engine's control thread: timers and decisions, one at a time, never on a user's thread.

Whatever has to be decided about calls that wait or have to stop is decided here.  So none of that
state needs a lock: a lock held on a thread that a signal handler or an Interrupt can cut is a lock
that may stay taken for ever.  Others reach this thread by one ``SimpleQueue.put``.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable

from toolexec._timers import Timer, Timers

_log = logging.getLogger("toolexec")

# How long :meth:`Control.catch_up` waits: what runs on the control thread takes microseconds, so
# longer means that it is stuck, and then nothing is won by waiting.
_CATCH_UP_S = 1.0


class Control:
    """A daemon thread that runs what is posted to it, and timers.  One per process, started on first use."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: no thread, nothing posted, no timer."""
        self._inbox: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._seat = [1]
        self._ident: int | None = None
        self._timers = Timers()

    def post(self, call: Callable[[], object]) -> None:
        """Have ``call`` run on the control thread, after what was posted before.

        Any thread, loop or signal handler; never blocks.  ``call`` must be quick and run no user code.
        """
        self._inbox.put(call)
        self.ensure()

    def ensure(self) -> None:
        """Have the thread running; it has to be before the program exits, where none can be started."""
        if self._ident is None:
            # Two posters may both come here, and a Ctrl-C may cut one of them: so a thread is not
            # *the* control thread by having been started, but by finding the seat free.
            try:
                threading.Thread(target=self._run, name="toolexec-control", daemon=True).start()
            except RuntimeError:
                # From Python 3.12 on a program that exits starts no threads: what has to be answered
                # then is answered here.
                self._run_here()

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        """Run ``call`` on the control thread once ``time.monotonic()`` has reached ``when``.

        Returns:
            A function that cancels the timer; any thread, any number of times.
        """
        timer = Timer(when, call)
        self.post(lambda: self._timers.push(timer))
        return timer.cancel

    def catch_up(self) -> None:
        """Block until what was posted before has been done.  Not for long: no user code is among it."""
        if self.is_current():
            return
        reached: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.post(lambda: reached.put(None))
        try:
            reached.get(timeout=_CATCH_UP_S)
        except queue.Empty:
            pass

    def is_current(self) -> bool:
        """Whether the calling thread is the control thread."""
        return self._ident == threading.get_ident()

    def _run(self) -> None:
        try:
            self._seat.pop()
        except IndexError:  # somebody sits there
            return
        self._ident = threading.get_ident()
        while True:
            try:
                self._take()()
            except queue.Empty:
                continue
            except Exception:  # noqa: BLE001 - without this thread no call would ever be stopped
                _log.exception("toolexec: the control thread met an error of its own; please report it")

    def _run_here(self) -> None:
        try:
            seat = self._seat.pop()
        except IndexError:  # somebody is at it, this thread perhaps
            return
        try:
            while not self._inbox.empty():
                self._inbox.get_nowait()()
        finally:
            self._seat.append(seat)

    def _take(self) -> Callable[[], object]:
        # In a frame of its own: a local of the loop would keep the last call, and all that it holds,
        # until the next one comes.
        return self._inbox.get(timeout=self._fire_due())

    def _fire_due(self) -> float | None:
        """Run the timers that are due; how long until the next, None when there is none."""
        timer = self._timers.pop_due(time.monotonic())
        while timer is not None:
            try:
                timer.fire()
            except Exception:  # noqa: BLE001 - as in _run
                _log.exception("toolexec: a timer met an error of the engine's own; please report it")
            timer = self._timers.pop_due(time.monotonic())
        when = self._timers.next_at()
        return None if when is None else max(0.0, when - time.monotonic())


CONTROL = Control()


def catch_up() -> None:
    """Block until the engine has decided all that it was asked before; see :meth:`Control.catch_up`."""
    CONTROL.catch_up()


if hasattr(os, "register_at_fork"):
    # The thread did not come along into the child, and what was posted to it belongs to the parent.
    os.register_at_fork(after_in_child=CONTROL.forget)
