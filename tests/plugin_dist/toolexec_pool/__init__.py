"""A strategy of a third party: calls on a thread pool of the standard library."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from toolexec.lowlevel import Job, Outcome, Strategy


class PoolStrategy(Strategy):
    """Run each call on a thread of a ``ThreadPoolExecutor``.

    The pool has a size, so calls that make calls in the same pool may wait for each other for ever;
    and the program does not end before its threads do.  The thread strategy has neither fault.

    Cancellation: nothing is raised into a body; an async one is cancelled natively.
    """

    name: ClassVar[str] = "pool"
    default_window: ClassVar[int | None] = 32

    def __init__(self, *, grace: float = 2.0, window: int | None = None, threads: int = 32) -> None:
        """Configure.

        Args:
            grace: Seconds from asking a call to stop to its Return.
            window: How many calls of one Group are in flight at once.
            threads: The size of the pool.
        """
        super().__init__(grace=grace, window=window)
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "toolexec-pool")

    def start(self, job: Job) -> None:
        """Queue the call; the pool takes it when a thread is free."""
        self._pool.submit(_run, job)

    def shutdown(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False)

    def reset_after_fork(self) -> None:
        """Begin anew: the threads stayed in the parent."""
        self._pool = ThreadPoolExecutor(self._threads, "toolexec-pool")


def _run(job: Job) -> None:
    outcome = job.body() if job.begin() else job.stopped()
    assert isinstance(outcome, Outcome)  # only hand_over=True leaves something to be awaited
    job.finish(outcome)
