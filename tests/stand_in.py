"""What stands for a Task in tests of a strategy's own parts."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import toolexec as tx
from toolexec.lowlevel import MONOTONIC, Ask, CallState, Job, LoopKind, Outcome


class Owner:
    """Hands out the outcome, and notes what came before."""

    _timeout: float | None = None
    _tracing: object = None
    _steps: object = None

    job: Job

    def __init__(self) -> None:
        self._wakers: list[Callable[[], object]] = []
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.begun = threading.Event()
        self.progress: list[tx.Progress] = []
        self.printed: list[str] = []

    def _sent(self, job: Job) -> None: ...

    def _begun(self, job: Job) -> None:
        self.begun.set()

    def _progressed(self, job: Job, progress: tx.Progress) -> None:
        self.progress.append(progress)

    def _printed(self, job: Job, text: str) -> None:
        self.printed.append(text)

    def _conclude(self, job: Job, outcome: Outcome) -> None: ...

    def _settle(self, job: Job, outcome: Outcome) -> None:
        self.outcomes.put(outcome)

    def _ctrl_c(self, job: Job, exc: BaseException) -> None: ...

    def _ask(self, ask: Ask) -> bool:
        return self.job.call.ask(ask)

    def _done(self) -> bool:
        return not self.outcomes.empty()


@dataclass
class _Sheet:
    source: Any
    loop: LoopKind = "asyncio"
    deliver: str = "raise"


def job_of(body: Any, *args: Any, is_async: bool = False, isolated: bool = False) -> tuple[Owner, Job]:
    """A job of a tool or a plain function, and its owner."""
    source = getattr(body, "__wrapped__", body)
    owner = Owner()
    call = CallState("c1", "tool", MONOTONIC)
    job = Job(owner, _Sheet(source), args, {}, contextvars.copy_context(), call)
    owner.job = job
    job.is_async = is_async
    job.entry = None if isolated else source
    return owner, job
