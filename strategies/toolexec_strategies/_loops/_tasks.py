"""Running a job from inside whatever loop the caller has, until it is through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolexec.lowlevel import Bell, Job, running_loop
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
    """Run an async body as a task of the caller's loop, in the job's context, and await its end."""
    if running_loop() == "trio":
        import trio

        from toolexec_strategies._loops._trio import drive as drive_trio

        async with trio.open_nursery() as nursery:
            # A copy of the job's context goes with the task: start_soon copies the one it runs in.
            job.context.run(lambda: nursery.start_soon(drive_trio, job))
    else:
        from toolexec_strategies._loops._asyncio import start_task

        bell = Bell()
        task = start_task(job)
        task.add_done_callback(lambda _: bell.ring())
        await bell.wait()
