"""A job on a worker thread, and its interrupt."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from toolexec.lowlevel import MONOTONIC, Awaiting, Job, Outcome
from toolexec_strategies._workers._cache import run_in_thread
from toolexec_strategies._workers._one_shot import AGAIN_S, OneShot, warn_once


class _Seat(OneShot["Outcome | Awaiting"]):
    """What one job on a thread needs for being interrupted."""

    __slots__ = ("left",)

    def __init__(self, job: Job) -> None:
        super().__init__(job.call, job.failed)
        self.left = False


def start_in_thread(job: Job, awaitable: Callable[[Job, Any], None] | None = None) -> None:
    """Run a job's body on a daemon thread and deliver its outcome from there.

    Args:
        job: The job; its ``slot`` is used.
        awaitable: Takes over when a sync body returned something to await; None has it awaited on
            the thread, in a loop of its own.
    """
    job.slot = seat = _Seat(job)

    def work() -> bool:
        outcome = _run(job, seat, hand_over=awaitable is not None)
        if isinstance(outcome, Awaiting):
            assert awaitable is not None
            awaitable(job, outcome.awaitable)
        else:
            job.finish(outcome)
        return not seat.left

    run_in_thread(work)


def interrupt_thread(job: Job) -> None:
    """Raise Interrupt in the job's thread, once, if its body runs and does not poll; on the control thread.

    While nothing may be raised there it looks again and again, until the call has settled.
    """
    seat = job.slot
    if not isinstance(seat, _Seat) or job.polls or job.settled:
        return
    if not seat.fire():
        MONOTONIC.call_at(MONOTONIC.now() + AGAIN_S, partial(interrupt_thread, job))
    elif seat.fired:
        warn_once()


def leave_thread(job: Job) -> None:
    """The job was left behind: its thread ends with it and takes no other."""
    if isinstance(job.slot, _Seat):
        job.slot.left = True
        job.slot.give_up()


def _run(job: Job, seat: _Seat, *, hand_over: bool) -> Outcome | Awaiting:
    if not job.begin():
        return job.stopped()
    outcome = seat.run(lambda: job.body(hand_over=hand_over))
    return job.stopped() if outcome is None else outcome
