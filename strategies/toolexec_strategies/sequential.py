"""Calls one after another, on the thread of whoever waits for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from toolexec import Interrupt
from toolexec.lowlevel import Clock, Job, Outcome, Place, Strategy
from toolexec_strategies._loops import loop_clock
from toolexec_strategies._workers import retire_idle


class SequentialStrategy(Strategy):
    """Run calls in call order, never two of a Group at once, while somebody waits.

    Nothing runs before the first wait.  Under ``await`` async tools run as tasks of the caller's
    loop, sync tools on one worker thread.

    Cancellation: nothing is raised into a body; calls that have not begun never do.
    """

    name: ClassVar[str] = "sequential"
    default_window: ClassVar[int | None] = 1
    lazy: ClassVar[bool] = True

    def start(self, job: Job) -> None:
        raise AssertionError("calls start in the place that bind() gives")

    def bind(self) -> Place:
        return _Line()

    def shutdown(self) -> None:
        retire_idle()


class _Line(Place):
    """The calls of one Group that wait for somebody to run them."""

    lazy: ClassVar[bool] = True

    def __init__(self) -> None:
        self._clock = loop_clock()
        self._jobs: deque[Job] = deque()
        # Whoever pops it runs the calls; a second waiter only waits.  A pop is atomic and no lock.
        self._driver = [1]
        self._last: Job | None = None

    def clock(self) -> Clock | None:
        return self._clock

    def start(self, job: Job) -> None:
        self._jobs.append(job)

    def ready(self) -> bool:
        return bool(self._jobs and self._driver) and self._free()

    def _free(self) -> bool:
        # Who awaited it may have been cancelled and be gone; nothing overtakes a body that still runs.
        return self._last is None or self._last.settled

    def drive(self, more: Callable[[], bool]) -> None:
        try:
            self._driver.pop()
        except IndexError:
            return
        try:
            while self._jobs and more() and (self._last is None or self._last.settled):
                self._last = job = self._jobs.popleft()
                outcome = _run(job)
                if not job.call.asks:  # or else its hook may still run
                    self._last = None
                if outcome.status != "cancelled":
                    continue
                if isinstance(outcome.exception, Interrupt) and job.call.hit_by_outer():
                    # It was raised in this thread, for the call whose body waits here, and has to get there.
                    raise outcome.exception
        finally:
            self._driver.append(1)

    async def adrive(self, more: Callable[[], bool]) -> None:
        from toolexec_strategies._loops import run_on_worker, run_task  # a loop runs, so its library is loaded

        try:
            self._driver.pop()
        except IndexError:
            return
        try:
            while more() and self._jobs and self._free():
                self._last = job = self._jobs.popleft()
                await (run_task(job) if job.is_async else run_on_worker(_run, job))
        finally:
            self._driver.append(1)

    def release(self) -> None:
        if self._clock is not None:
            self._clock.release()


def _run(job: Job) -> Outcome:
    try:
        outcome = job.body() if job.begin() else job.stopped()
        assert isinstance(outcome, Outcome)  # without hand_over nothing is left to await
        job.finish(outcome)
    except BaseException as exc:  # outside the body: nobody else will answer for this job
        job.ask("interrupted by Ctrl-C" if isinstance(exc, KeyboardInterrupt) else "the call around it was interrupted")
        job.deliver(job.stopped())
        raise
    return outcome
