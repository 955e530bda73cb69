"""Running a job from inside whatever loop the caller has, until it is through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolexec.lowlevel import Bell, Job, running_loop
from toolexec_strategies._loops._clock import LoopClock
from toolexec_strategies._workers import run_in_thread


async def run_on_worker(work: Callable[[Job], Any], job: Job) -> None:
    """Run ``work(job)`` on a worker thread and await its end; cancelled, it leaves the thread to finish."""
    bell = Bell()

    def run() -> None:
        try:
            work(job)
        finally:
            bell.ring()

    run_in_thread(run)
    await bell.wait()


async def run_task(job: Job) -> None:
    """Run an async body as a task of the caller's loop, in the job's context, and await its end.

    Cancelled, it leaves the task to finish.
    """
    bell = Bell()
    if running_loop() == "trio":
        import trio

        from toolexec_strategies._loops._trio import drive as drive_trio

        async def run() -> None:
            try:
                await drive_trio(job)
            finally:
                bell.ring()

        # A system task: outside the scopes of whoever awaits, as that cancels nothing here.
        trio.lowlevel.spawn_system_task(run, context=job.context)
    else:
        from toolexec_strategies._loops._asyncio import answer_unstepped, start_task

        def done(_: object) -> None:
            answer_unstepped(job)
            bell.ring()

        task = start_task(job)  # held by the job, once it has begun
        task.add_done_callback(done)
    await bell.wait()


def loop_clock() -> LoopClock | None:
    """The clock of the loop that runs on this thread, or None."""
    kind = running_loop()
    if kind == "asyncio":
        from toolexec_strategies._loops._asyncio_clock import AsyncioClock, running_loop_here

        loop = running_loop_here()
        return None if loop is None else AsyncioClock(loop)
    if kind == "trio":
        from toolexec_strategies._loops._trio_clock import TrioClock

        return TrioClock()
    return None
