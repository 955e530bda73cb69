"""Strategy: the question put to a backend - how is a started call run, and how is it stopped?"""

from __future__ import annotations

import math
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

from toolexec._bell import Bell
from toolexec._beside import run_beside
from toolexec._call_state import Ask
from toolexec._clock import MONOTONIC, Clock
from toolexec._job import Job, Owner
from toolexec._loop_kind import shield
from toolexec._runner import has_hook
from toolexec._waiting import apark, park, refuse_running_loop

API_VERSION = 1

# Every strategy object of the process: at exit and after a fork each gives back, or forgets, its own.
INSTANCES: weakref.WeakSet[Strategy] = weakref.WeakSet()

# Long enough for a tool to close what it holds open, short enough for a person who waits.  A guess.
DEFAULT_GRACE_S = 2.0

# What closing allows beyond grace, for the last settles to get their turn.  A guess.
_SLACK_S = 0.5


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Place(ABC):
    """Where the calls of one Group run under one strategy.

    Every method may be called from any thread, must not block on user code and must not raise.
    """

    lazy: ClassVar[bool] = False
    """Whether calls run only while somebody waits (then ``drive`` and ``adrive`` run them)."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Start a job: arrange for ``job.begin()``, its body and one ``job.finish()``."""

    def ask(self, job: Job) -> None:
        """Deliver an interrupt to a job in flight; ``job.call`` says already that it was asked.

        The default delivers nothing: the body may still notice by itself.
        """

    def hook(self, job: Job) -> None:
        """The body still runs at half the grace: have the tool's hook run meanwhile.

        By default on a thread of its own; nothing for an isolated strategy, whose workers run their
        hooks themselves.
        """
        if job.entry is not None and has_hook(job.call.runner):
            run_beside(job.run_hook, "hook")

    def stop(self, job: Job) -> None:
        """Stop a job by force, more gently than ``kill`` where there are two ways.  Default: nothing."""

    def kill(self, job: Job) -> bool:
        """Stop a job by the last means there is.

        Returns:
            True when the job is certain to be delivered very soon because of it; False (the
            default) when it cannot be stopped: the engine settles it and leaves it behind.
        """
        return False

    def leave(self, job: Job) -> str | None:
        """The job, or its hook, was left behind: give up the worker that runs it, and never use that one again.

        Returns:
            What the user has to expect of it, for the log's warning; None when it is of no consequence.
        """
        return None

    def release(self) -> None:
        """Every call of the Group here has settled."""

    def bound_to(self, loop: object) -> bool:
        """Whether calls here need ``loop`` (the caller's running loop) to go on."""
        return False

    def clock(self) -> Clock | None:
        """The clock of the caller's own loop, where calls run in that; else None."""
        return None

    def nursery(self) -> Any:
        """An async context manager for ``async with group``, in which the calls run, or None."""
        return None

    def ready(self) -> bool:
        """Whether ``drive`` would run a job now; lazy places only."""
        return False

    def drive(self, more: Callable[[], bool]) -> None:
        """Run ready jobs on the calling thread, one after another, as long as ``more()``; lazy places only."""

    async def adrive(self, more: Callable[[], bool]) -> None:
        """The same from a running loop, without blocking it."""


class Batch(Protocol):
    """A Group, as a strategy sees it."""

    def _owners_in(self, strategy: Strategy) -> list[Owner]: ...


class Strategy(Place):
    """Where and how calls run.

    A subclass needs a ``name`` and ``start``; calls then run wherever ``start`` puts them.  One that
    needs to know the Group's loop or thread overrides ``bind``; one that can reach a running body
    overrides ``ask``, ``stop``, ``kill``.  Proved by ``toolexec.testing``'s suite.

    Attributes:
        api_version: The version of this protocol the class was written for.
        name: As in the entry point.
        isolated: Whether bodies run outside this process's memory: their runner is resolved there.
        grace: Seconds from asking a call to stop to its Return.
        window: How many calls of one Group are in flight at once where the Group sets no window of
            its own; None for no bound.
    """

    api_version: ClassVar[int] = API_VERSION
    name: ClassVar[str]
    isolated: ClassVar[bool] = False
    default_window: ClassVar[int | None] = None

    def __init__(self, *, grace: float = DEFAULT_GRACE_S, window: int | None = None) -> None:
        if not isinstance(getattr(self, "name", None), str):
            raise TypeError(f"class {type(self).__name__} has no name: write  name = 'my-strategy'")
        if not (isinstance(grace, int | float) and math.isfinite(grace) and grace >= 0):
            raise ValueError(f"grace is {grace!r}: it takes seconds, zero or more")
        check_window(window)
        self.grace: float = float(grace)
        self.window: int | None = window if window is not None else self._default_window()
        self._live: set[Batch] = set()  # the Groups that have calls here, while one of theirs has not settled
        self._closed = False
        INSTANCES.add(self)

    def _default_window(self) -> int | None:
        return self.default_window

    @classmethod
    def unavailable(cls) -> str | None:
        """Why this strategy cannot run on this machine, in words, or None when it can."""
        return None

    def bind(self) -> Place:
        """The place for one Group's calls, decided on the thread (and loop) that makes the Group."""
        return self

    @property
    def closed(self) -> bool:
        """Whether it was closed; a closed strategy starts nothing."""
        return self._closed

    def shutdown(self) -> None:
        """Give back workers, descriptors and processes; called after the last job settled.

        May block, for a bounded time; may be called again.
        """

    def reset_after_fork(self) -> None:
        """In a child of ``os.fork()``: forget the parent's workers without touching them."""

    def close(self) -> None:
        """Interrupt what runs, wait at most ``grace`` for it, give everything back.  A second call does nothing.

        Raises:
            WrongLoop: On the thread of a running event loop, which it would block; use ``aclose``.
        """
        refuse_running_loop("await strategy.aclose()")
        if self._closed:
            return
        until = self._refuse_work("its strategy was closed")
        self._park_live(until)
        self.shutdown()

    async def aclose(self) -> None:
        """:meth:`close`, from a running event loop."""
        if self._closed:
            return
        until = self._refuse_work("its strategy was closed")
        with shield():  # bounded by grace; cut short, it would give nothing back, and nobody could close it again
            for owner in self._owners():
                await apark(owner._wakers, owner._done, MONOTONIC, until)
        bell = Bell()

        def shut() -> None:
            try:
                self.shutdown()
            finally:
                bell.ring()

        # It may wait for a process to end, which must not block the loop.
        threading.Thread(target=shut, name="toolexec-close", daemon=True).start()
        await bell.wait()

    def _owners(self) -> list[Owner]:
        """The calls here that have not settled."""
        return [owner for batch in list(self._live) for owner in batch._owners_in(self)]

    def _refuse_work(self, reason: str) -> float:
        """Start nothing any more and ask what runs to stop; until when to wait for that."""
        self._closed = True
        for owner in self._owners():
            owner._ask(Ask(reason))
        return MONOTONIC.now() + self.grace + _SLACK_S

    def _park_live(self, until: float) -> None:
        for owner in self._owners():
            park(owner._wakers, owner._done, MONOTONIC, until)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def check_window(window: object) -> None:
    """Refuse a window that could never let a call start."""
    if window is None:
        return
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ValueError(f"window is {window!r}: it takes a whole number of calls, 1 or more, or None for no bound")
