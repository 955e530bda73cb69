"""A job on a worker thread, and the single Interrupt that may be raised into it.

The protocol has one token per job and no lock, because on CPython 3.14 an asynchronous exception
can land between a lock's acquisition and the block that would release it:

- the worker *opens* the job by appending the token, and drains it when the body has ended;
- whoever interrupts pops the token and, having got it, owes exactly one raise;
- a worker that finds its token gone waits until that raise was really sent, withdraws it if it has
  not landed, and otherwise catches it in the one window where it still can land.

So an Interrupt never reaches the next job on the thread.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from toolexec import Interrupt
from toolexec.lowlevel import Awaiting, Job, Outcome
from toolexec_strategies._workers._cache import run_in_thread


class _Shot:
    """What one job on a thread needs for being interrupted."""

    __slots__ = ("ident", "left", "sent", "token")

    def __init__(self) -> None:
        self.token: list[int] = []
        self.ident = 0
        self.sent = False
        self.left = False


def start_in_thread(job: Job, awaitable: Callable[[Job, Any], None] | None = None) -> None:
    """Run a job's body on a daemon thread and deliver its outcome from there.

    Args:
        job: The job; its ``slot`` is used.
        awaitable: Takes over when a sync body returned something to await; None has it awaited on
            the thread, in a loop of its own.
    """
    job.slot = shot = _Shot()

    def work() -> bool:
        outcome = _run(job, shot, hand_over=awaitable is not None)
        if isinstance(outcome, Awaiting):
            assert awaitable is not None
            awaitable(job, outcome.awaitable)
        else:
            job.finish(outcome)
        return not shot.left

    run_in_thread(work)


def interrupt_thread(job: Job) -> bool:
    """Raise Interrupt in the job's thread, once, if its body is running.

    Only on a thread of the engine: a Ctrl-C in the middle would owe a raise that is never sent.

    Returns:
        Whether one was raised into the live body by this call.
    """
    shot = job.slot
    if not isinstance(shot, _Shot):
        return False
    try:
        shot.token.pop()
    except IndexError:  # not open yet, closed, or sent already
        return False
    try:
        return job.call.deliver_once() and _raise_in(shot.ident, Interrupt)
    finally:
        shot.sent = True


def leave_thread(job: Job) -> None:
    """The job was left behind: its thread ends with it and takes no other."""
    if isinstance(job.slot, _Shot):
        job.slot.left = True


def _run(job: Job, shot: _Shot, *, hand_over: bool) -> Outcome | Awaiting:
    if not job.begin():
        return job.stopped()
    result: list[Outcome | Awaiting] = []
    try:
        _guarded(job, shot, result, hand_over)
    except Interrupt:
        # The one shot, landed after the body and before the drain was through.  None can follow.
        pass
    return result[0] if result else job.stopped()


def _guarded(job: Job, shot: _Shot, result: list[Outcome | Awaiting], hand_over: bool) -> None:
    # The catching frame must not be the one that loops in the drain: on CPython 3.13.0 an exception
    # that hits a ``while`` condition escapes the ``try`` of its own frame.
    try:
        result.append(_body(job, shot, hand_over))
    except BaseException as exc:  # noqa: BLE001 - the Interrupt, landed outside the tool's own frames
        result.append(job.failed(exc))
    _drain(shot)


def _body(job: Job, shot: _Shot, hand_over: bool) -> Outcome | Awaiting:
    shot.ident = threading.get_ident()
    shot.token.append(1)
    if job.asked:  # asked between begin and here: never start
        return job.stopped()
    return job.body(hand_over=hand_over)


def _drain(shot: _Shot) -> None:
    try:
        shot.token.pop()  # ours now: nobody can send any more
    except IndexError:
        while not shot.sent:  # taken: wait until it was really sent
            time.sleep(0)
        _raise_in(shot.ident, None)  # and withdraw it if it has not landed


def _raise_in(ident: int, exception: type[BaseException] | None) -> bool:
    send, withdraw = _setters()
    return bool(withdraw(ident, None) if exception is None else send(ident, exception))


@functools.cache
def _setters() -> tuple[Callable[[int, type[BaseException]], int], Callable[[int, None], int]]:
    """PyThreadState_SetAsyncExc for an exception, and for NULL; ``None`` as a py_object would be no NULL."""
    import ctypes  # only an interrupt needs it

    symbol: Any = ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
    send: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.py_object)(symbol)
    withdraw: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)(symbol)
    return send, withdraw
