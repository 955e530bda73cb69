"""Calls on daemon threads, for tools that block on I/O."""

from __future__ import annotations

from typing import ClassVar, Literal

from toolexec.lowlevel import Job, Strategy
from toolexec_strategies._workers import interrupt_thread, leave_thread, retire_idle, start_in_thread


class ThreadStrategy(Strategy):
    """Run each call on a cached daemon thread.

    Uncapped but for windows, so that nested groups cannot starve each other.  An async body runs in
    a loop of its own on the call's thread.

    Cancellation: ``Interrupt`` is raised in the thread at the next safe bytecode, but not while the
    thread is in code that takes locks; a body blocked in a system call sees it only when that
    returns.  One that ignores it is left behind.

    Args:
        grace: Seconds from asking a call to stop to its Return.
        window: How many calls of one Group are in flight at once; 64 by default.
        deliver: "raise" as above, or "poll": nothing is raised, tools ask by themselves
            (``checkpoint``, ``interrupted``), and callbacks and hooks are told as ever.
    """

    name: ClassVar[str] = "thread"
    # Enough for waits on a network, few enough for the machine: a thread costs about 0.1 ms and
    # 8 MB of address space.
    default_window: ClassVar[int | None] = 64

    def __init__(
        self, *, grace: float = 2.0, window: int | None = None, deliver: Literal["raise", "poll"] = "raise"
    ) -> None:
        super().__init__(grace=grace, window=window)
        if deliver not in ("raise", "poll"):
            raise ValueError(f"deliver is {deliver!r}: it takes 'raise' or 'poll'")
        self._polls = deliver == "poll"

    def start(self, job: Job) -> None:
        start_in_thread(job)

    def ask(self, job: Job) -> None:
        if not job.is_async and not self._polls:  # an async body's task was cancelled natively already
            interrupt_thread(job)

    def leave(self, job: Job) -> None:
        leave_thread(job)

    def shutdown(self) -> None:
        retire_idle()
