"""Calls on daemon threads, for tools that block on I/O."""

from __future__ import annotations

from typing import ClassVar

from toolexec.lowlevel import Job, Strategy
from toolexec_strategies._workers import interrupt_thread, leave_thread, retire_idle, start_in_thread


class ThreadStrategy(Strategy):
    """Run each call on a cached daemon thread.

    Uncapped but for windows, so that nested groups cannot starve each other.  An async body runs in
    a loop of its own on the call's thread.

    Cancellation: an interrupt is raised in the thread at the next safe bytecode; a body blocked in
    a system call sees it only when that returns.  One that ignores it is left behind.
    """

    name: ClassVar[str] = "thread"
    # Enough for waits on a network, few enough for the machine: a thread costs about 0.1 ms and
    # 8 MB of address space.
    default_window: ClassVar[int | None] = 64

    def start(self, job: Job) -> None:
        start_in_thread(job)

    def ask(self, job: Job) -> None:
        if not job.is_async:  # an async body's task was cancelled natively already
            interrupt_thread(job)

    def leave(self, job: Job) -> None:
        leave_thread(job)

    def shutdown(self) -> None:
        retire_idle()
