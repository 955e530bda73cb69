"""Calls as tasks of a trio run: the caller's, or one in the background."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, ClassVar

import trio

from toolexec.lowlevel import Awaiting, Clock, Job, Outcome, Place, Strategy, has_hook
from toolexec_strategies._loops._background import Background
from toolexec_strategies._loops._trio import ENDED, BackgroundTrio, Body, drive, hook_beside
from toolexec_strategies._loops._trio_clock import TrioClock
from toolexec_strategies._workers import interrupt_thread, leave_thread, retire_idle, start_in_thread


class TrioStrategy(Strategy):
    """Run async calls in a trio run and sync ones on daemon threads.

    The run is the caller's when the Group is made inside one, else one in the background.  A bare
    Group's calls live in a system task of their own, outside the caller's cancel scopes; under
    ``async with group`` they live in a nursery of the caller's task.

    Cancellation: a cancel scope per call.  A body that swallows it cannot be dropped: its waiter is
    released, and the run goes on with the body in it.
    """

    name: ClassVar[str] = "trio"

    def __init__(
        self, *, grace: float = 2.0, window: int | None = None, token: trio.lowlevel.TrioToken | None = None
    ) -> None:
        """Configure.

        Args:
            grace: Seconds from asking a call to stop to its Return.
            window: How many calls of one Group are in flight at once; None for no bound.
            token: The running trio run to use, wherever a Group is made.
        """
        super().__init__(grace=grace, window=window)
        self._token = token
        self._background = Background(BackgroundTrio)

    def start(self, job: Job) -> None:
        raise AssertionError("calls start in the place that bind() gives")

    def bind(self) -> Place:
        if trio.lowlevel.in_trio_run() and self._token in (None, trio.lowlevel.current_trio_token()):
            return _TrioPlace(trio.lowlevel.current_trio_token(), TrioClock())
        return _TrioPlace(self._token or self._background.get(self).token)

    def shutdown(self) -> None:
        self._background.stop(self.grace)
        retire_idle()

    def reset_after_fork(self) -> None:
        self._background.forget()


class _TrioPlace(Place):
    """The calls of one Group in one trio run."""

    def __init__(self, token: trio.lowlevel.TrioToken, clock: TrioClock | None = None) -> None:
        self._token = token
        self._clock = clock  # where the run is the caller's
        # Started and not yet in a nursery.  Its ends are atomic; what takes from it runs in the run's thread.
        self._inbox: deque[tuple[Job, Awaiting | None]] = deque()
        self._nursery: trio.Nursery | None = None
        self._outside = ENDED  # why the scope around all calls would be cancelled
        self._hosted = False
        self._over = False  # every call has settled
        self._ended = False  # the run is ending
        self._released: trio.Event | None = None
        self._on_threads: list[Job] = []

    def bound_to(self, loop: object) -> bool:
        return loop is self._token

    def clock(self) -> Clock | None:
        return self._clock

    def start(self, job: Job) -> None:
        if self._ended:
            job.deliver(Outcome("cancelled", reason=ENDED))
        elif job.is_async:
            self._put(job, None)
        else:
            self._on_threads.append(job)
            self._in_run()  # the host is there to notice the end of the run
            start_in_thread(job, self._await_here)

    def _await_here(self, job: Job, awaitable: Any) -> None:
        """A sync body returned something to await: in this run, where it most likely belongs."""
        self._put(job, Awaiting(awaitable))

    def _put(self, job: Job, awaiting: Awaiting | None) -> None:
        self._inbox.append((job, awaiting))
        if not self._in_run():
            job.deliver(Outcome("cancelled", reason=ENDED))

    def _in_run(self) -> bool:
        """Have :meth:`_pump` run in the run, soon; False when there is no run any more."""
        # Always a step later, also from inside the run: so that ``async with group``, which opens its
        # nursery right after the Group was made, finds the calls still unclaimed.
        return self._soon(self._pump)

    def _pump(self) -> None:
        if self._nursery is None and not self._hosted and not self._over and not self._ended:
            try:
                trio.lowlevel.spawn_system_task(self._host)
                self._hosted = True
            except RuntimeError:  # the last callbacks of a run come when it takes no task any more
                self._ended = True
        if self._ended:
            while self._inbox:
                self._inbox.popleft()[0].deliver(Outcome("cancelled", reason=ENDED))
        if self._nursery is None:
            return
        while self._inbox:
            job, awaiting = self._inbox.popleft()
            # start_soon copies the context it is called in: the job's.
            job.context.run(self._nursery.start_soon, drive, job, awaiting, self._outside)

    async def _host(self) -> None:
        """The system task of a bare Group."""
        async with self._open_nursery():
            self._released = trio.Event()
            if self._over:
                return
            await self._released.wait()

    @asynccontextmanager
    async def _open_nursery(self) -> AsyncGenerator[None]:
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._pump()
                try:
                    yield
                finally:
                    self._nursery = None
                    if trio.current_effective_deadline() == float("-inf"):
                        self._end()
        finally:
            self._hosted = False

    def _end(self) -> None:
        """The scope around all calls is cancelled: the caller's, or the run's own end."""
        self._ended = True
        for job in self._on_threads:
            if not job.settled:
                job.ask(self._outside)

    def nursery(self) -> AbstractAsyncContextManager[None] | None:
        if self._hosted or not trio.lowlevel.in_trio_run() or trio.lowlevel.current_trio_token() is not self._token:
            return None  # the calls live in a system task already, or in another thread's run
        self._hosted = True
        self._outside = "a cancel scope around its group was cancelled"
        return self._open_nursery()

    def ask(self, job: Job) -> None:
        if not job.is_async:  # an async body's scope was cancelled natively already
            interrupt_thread(job)

    def hook(self, job: Job) -> None:
        if not isinstance(job.slot, Body):
            super().hook(job)
        elif has_hook(job.call.runner):
            self._soon(partial(self._start_hook, job))

    def _start_hook(self, job: Job) -> None:
        if self._nursery is not None:  # the body is in there, or else it has just ended
            job.context.copy().run(self._nursery.start_soon, hook_beside, job)

    def leave(self, job: Job) -> str | None:
        if not isinstance(job.slot, Body):
            leave_thread(job)
            return None
        job.slot.leave()
        if job.slot.hook is not None:  # only that is left, and cancelled
            return None
        return "trio cannot drop a task: until it ends, trio.run and 'async with group' stay open"

    def release(self) -> None:
        self._over = True
        self._soon(self._release_here)

    def _release_here(self) -> None:
        if self._released is not None:
            self._released.set()
        if self._clock is not None:
            self._clock.release()

    def _soon(self, call: Callable[[], object]) -> bool:
        """Have ``call`` run in the run, soon; False when there is no run any more."""
        try:
            self._token.run_sync_soon(call, idempotent=True)
        except trio.RunFinishedError:
            return False
        return True
