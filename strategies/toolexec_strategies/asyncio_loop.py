"""Calls as tasks of an asyncio loop: the caller's, or one in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, ClassVar

from toolexec.lowlevel import Awaiting, Clock, Job, Outcome, Place, Strategy, has_hook
from toolexec_strategies._loops._asyncio import ENDED, BackgroundAsyncio, Body, answer_unstepped, start_task
from toolexec_strategies._loops._asyncio_clock import Appointment, AsyncioClock, running_loop_here
from toolexec_strategies._loops._background import Background
from toolexec_strategies._workers import interrupt_thread, leave_thread, retire_idle, start_in_thread

# How long the first steps of eager tasks may hold up the caller before the rest is only scheduled;
# the interpreter's own switch interval.
_EAGER_S = 0.005

# No loop runs that long.
_FAR_S = 1e9


class AsyncioStrategy(Strategy):
    """Run async calls on an asyncio loop and sync ones on daemon threads.

    The loop is the caller's when the Group is made inside one, else one in the background.

    Cancellation: one ``Task.cancel()``.  A body that ignores it for its grace is dropped: it takes no
    further step, and its task ends.  Tasks that it made itself go on; they are the loop's.
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
        self._background = Background(BackgroundAsyncio)

    def start(self, job: Job) -> None:
        raise AssertionError("calls start in the place that bind() gives")

    def bind(self) -> Place:
        here = running_loop_here()
        loop = self._loop or here
        if loop is None:
            return _AsyncioPlace(self._background.get(self).loop)
        if loop is here:
            place = _AsyncioPlace(loop, AsyncioClock(loop))
            place.start_guard()
        else:
            place = _AsyncioPlace(loop)
            place.call_on_loop(place.start_guard)
        return place

    def shutdown(self) -> None:
        self._background.stop(self.grace)
        retire_idle()

    def reset_after_fork(self) -> None:
        self._background.forget()


class _AsyncioPlace(Place):
    """The calls of one Group on one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: AsyncioClock | None = None) -> None:
        self._loop = loop
        self._clock = clock  # where the loop is the caller's
        # A loop holds its tasks weakly; so the place holds them until they are through.
        self._tasks: dict[asyncio.Task[None], Job] = {}
        self._on_threads: list[Job] = []
        self._posted: set[Job] = set()  # handed to the loop from another thread, and not yet its task
        self._guard: asyncio.Task[None] | None = None
        self._closing: Appointment | None = None
        self._over = False  # every call has settled
        self._ended = False  # the loop has, before that
        self._eager_until: float | None = None

    def bound_to(self, loop: object) -> bool:
        return loop is self._loop

    def clock(self) -> Clock | None:
        return self._clock

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
        if running_loop_here() is self._loop:
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
            self._tasks[task] = job
            task.add_done_callback(self._through)

    def _through(self, task: asyncio.Task[None]) -> None:
        answer_unstepped(self._tasks.pop(task))

    def start_guard(self) -> None:
        """Notice the end of the loop, for calls that wait, or run on threads, or do not heed it."""
        if self._over:
            return
        self._guard = self._loop.create_task(self._watch())
        # A callback, not a ``finally``: a task that is cancelled before its first step runs neither.
        self._guard.add_done_callback(self._guard_ended)
        # And a loop that is closed as it is, with its tasks in the middle.
        self._closing = Appointment(self._loop, self._loop.time() + _FAR_S, _nothing, self._loop_closed)

    async def _watch(self) -> None:
        await self._loop.create_future()

    def _guard_ended(self, _: object) -> None:
        if self._over:
            return
        for task, job in list(self._tasks.items()):
            if task.cancelling():  # by the loop: once is enough
                job.call.deliver_once()
            job.ask(ENDED)
        self._end()

    def _loop_closed(self) -> None:
        if self._over:
            return
        if self._guard is not None:
            # It cannot end any more, and nobody need hear of that.
            setattr(self._guard, "_log_destroy_pending", False)  # noqa: B010 - private; asyncio.gather does it too
        self._end()
        for job in list(self._tasks.values()):
            job.deliver(Outcome("cancelled", reason=ENDED))

    def _end(self) -> None:
        self._ended = True
        for job in list(self._posted):
            job.deliver(Outcome("cancelled", reason=ENDED))
        for job in self._on_threads:
            if not job.settled:
                job.ask(ENDED)
        if self._clock is not None:
            self._clock.end()

    def ask(self, job: Job) -> None:
        if not job.is_async:  # an async body's task was cancelled natively already
            interrupt_thread(job)

    def hook(self, job: Job) -> None:
        if not isinstance(job.slot, Body):
            super().hook(job)
        elif has_hook(job.call.runner):
            job.slot.hook(job)

    def leave(self, job: Job) -> None:
        if isinstance(job.slot, Body):
            job.slot.leave()
        else:
            leave_thread(job)

    def release(self) -> None:
        self._over = True
        self._on_threads.clear()
        if running_loop_here() is self._loop:
            self._release_here()
        else:
            self.call_on_loop(self._release_here)

    def _release_here(self) -> None:
        if self._guard is not None:
            self._guard.cancel()
        if self._closing is not None:
            self._closing.cancel()
        if self._clock is not None:
            self._clock.release()


def _nothing() -> None:
    """What is due when the time comes that never comes."""
