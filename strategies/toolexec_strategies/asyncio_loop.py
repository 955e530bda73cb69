"""Calls as tasks of an asyncio loop: the caller's, or one in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

from toolexec.lowlevel import Awaiting, Job, Outcome, Place, Strategy
from toolexec_strategies._loops._asyncio import ENDED, BackgroundAsyncio, start_task
from toolexec_strategies._workers import interrupt_thread, leave_thread, retire_idle, start_in_thread

# How long the first steps of eager tasks may hold up the caller before the rest is only scheduled;
# the interpreter's own switch interval.
_EAGER_S = 0.005


class AsyncioStrategy(Strategy):
    """Run async calls on an asyncio loop and sync ones on daemon threads.

    The loop is the caller's when the Group is made inside one, else one in the background.

    Cancellation: one ``Task.cancel()``.  A body that ignores it is left behind.
    """

    name: ClassVar[str] = "asyncio"

    def __init__(
        self,
        *,
        grace: float = 2.0,
        window: int | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Configure.

        Args:
            grace: Seconds from asking a call to stop to its Return.
            window: How many calls of one Group are in flight at once; None for no bound.
            loop: The running loop to use, wherever a Group is made.
        """
        super().__init__(grace=grace, window=window)
        self._loop = loop
        # Filled by setdefault, which is atomic: of two threads that need a loop at once, one makes it
        # and the other's is ended.
        self._background: dict[str, BackgroundAsyncio] = {}

    def start(self, job: Job) -> None:
        raise AssertionError("calls start in the place that bind() gives")

    def bind(self) -> Place:
        here = _running_loop()
        loop = self._loop or here
        if loop is None:
            return _AsyncioPlace(self._background_loop())
        place = _AsyncioPlace(loop)
        if loop is here:
            place.start_guard()
        else:
            place.call_on_loop(place.start_guard)
        return place

    def _background_loop(self) -> asyncio.AbstractEventLoop:
        background = self._background.get("loop")
        if background is None:
            made = BackgroundAsyncio()
            background = self._background.setdefault("loop", made)
            if background is not made:
                made.stop(0)
            if self.closed:  # since the Group chose it: nobody will come again to end this loop
                self.shutdown()
        return background.loop

    def shutdown(self) -> None:
        while self._background:
            self._background.popitem()[1].stop(self.grace)
        retire_idle()

    def reset_after_fork(self) -> None:
        self._background.clear()


class _AsyncioPlace(Place):
    """The calls of one Group on one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_threads: list[Job] = []
        self._posted: set[Job] = set()  # handed to the loop from another thread, and not yet its task
        self._guard: asyncio.Task[None] | None = None
        self._over = False  # every call has settled
        self._ended = False  # the loop has, before that
        self._eager_until: float | None = None

    def bound_to(self, loop: object) -> bool:
        return loop is self._loop

    def start(self, job: Job) -> None:
        if self._ended:
            job.deliver(Outcome("cancelled", reason=ENDED))
        elif job.is_async:
            self._on_loop(job, None)
        else:
            self._on_threads.append(job)
            if self._ended:  # since we looked
                job.deliver(Outcome("cancelled", reason=ENDED))
            else:
                start_in_thread(job, self._await_here)

    def _await_here(self, job: Job, awaitable: Any) -> None:
        """A sync body returned something to await: on this loop, where it most likely belongs."""
        self._on_loop(job, Awaiting(awaitable))

    def _on_loop(self, job: Job, awaiting: Awaiting | None) -> None:
        if _running_loop() is self._loop:
            self._spawn(job, awaiting, eager=awaiting is None and self._has_eager_time())
            return
        # A loop that is ending takes callbacks and never runs them.  The guard answers for those; one
        # that it missed, because it was put here after the guard had looked, sees that it ended.
        self._posted.add(job)
        if self._ended or not self.call_on_loop(self._spawn_posted, job, awaiting):
            job.deliver(Outcome("cancelled", reason=ENDED))

    def call_on_loop(self, call: Callable[..., object], *args: Any) -> bool:
        """Have ``call`` run in the loop, soon; False when it is closed."""
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            return False
        return True

    def _has_eager_time(self) -> bool:
        now = time.monotonic()
        if self._eager_until is None:
            self._eager_until = now + _EAGER_S
        return now < self._eager_until

    def _spawn_posted(self, job: Job, awaiting: Awaiting | None) -> None:
        self._posted.discard(job)
        if self._ended:
            job.deliver(Outcome("cancelled", reason=ENDED))
        else:
            self._spawn(job, awaiting)

    def _spawn(self, job: Job, awaiting: Awaiting | None, *, eager: bool = False) -> None:
        task = start_task(job, awaiting, eager=eager)
        if not task.done():
            # A loop holds its tasks weakly; so the place holds them until they are through.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def start_guard(self) -> None:
        """Keep a task in the loop that ends with it, for calls that wait or run on threads.

        Async bodies see the end themselves: the loop cancels their tasks.
        """
        if not self._over:
            self._guard = self._loop.create_task(self._watch())
            # A callback, not a ``finally``: a task that is cancelled before its first step runs neither.
            self._guard.add_done_callback(self._guard_ended)

    async def _watch(self) -> None:
        await self._loop.create_future()

    def _guard_ended(self, _: object) -> None:
        if self._over:
            return
        self._ended = True
        for job in list(self._posted):
            job.deliver(Outcome("cancelled", reason=ENDED))
        for job in self._on_threads:
            if not job.settled:
                job.ask(ENDED)

    def ask(self, job: Job) -> None:
        if not job.is_async:  # an async body's task was cancelled natively already
            interrupt_thread(job)

    def leave(self, job: Job) -> None:
        leave_thread(job)

    def release(self) -> None:
        self._over = True
        self._on_threads.clear()
        if self._guard is None:
            return
        if _running_loop() is self._loop:
            self._guard.cancel()
        else:
            self.call_on_loop(self._guard.cancel)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
