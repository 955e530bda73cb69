"""Task: the caller's handle on one started call, settled once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

from toolexec._control import CONTROL
from toolexec._errors import WaitTimeout
from toolexec._ladder import climb
from toolexec._return import Return, cancelled_form, error_form
from toolexec._waiting import Wakers, check_timeout, wake_all

if TYPE_CHECKING:
    from toolexec._current import Progress
    from toolexec._function import Function
    from toolexec._group import Group
    from toolexec._job import Job
    from toolexec._outcome import Outcome
    from toolexec._schedule import Entry
    from toolexec._strategy import Place, Strategy
    from toolexec._tracer import Tracing


class Task:
    """One started call.

    May be waited for and awaited from any number of threads and loops, any number of times; all get
    the same Return, and nothing runs again.

    Attributes:
        function: The call.
    """

    __slots__ = (
        "_begun_at",
        "_claimed_at",
        "_context",
        "_entry",
        "_group",
        "_handed",
        "_job",
        "_on_progress",
        "_outcomes",
        "_place",
        "_return",
        "_start_token",
        "_strategy",
        "_tracing",
        "_undo",
        "_wakers",
        "function",
    )

    def __init__(self, function: Function, group: Group, context: Context, tracing: Tracing | None) -> None:
        self.function = function
        self._group = group
        self._context = context
        self._tracing = tracing
        self._on_progress: Callable[..., object] | None = None
        self._strategy: Strategy | None = None
        self._place: Place | None = None
        self._job: Job | None = None
        self._entry: Entry[Task] | None = None
        self._handed = False  # given to its place
        self._claimed_at = group._clock.now()
        self._begun_at: float | None = None
        self._start_token = [1]  # whoever pops it traces the start
        # Appending is atomic: of several outcomes the first in the list is the answer.
        self._outcomes: list[Outcome | None] = []
        self._return: Return | None = None
        self._undo: list[Callable[[], None]] = []  # timers, to be cancelled when it settles
        self._wakers: Wakers = []

    # For the caller

    @property
    def alive(self) -> bool:
        """Whether it has no Return yet."""
        return self._return is None

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> Return:
        """Block until the call has settled.

        Under sequential this is what runs it, here on this thread, and the calls before it in its
        Group first.

        Args:
            timeout: Seconds to wait at most; nothing is interrupted when they are over.  0 polls.
            block_loop: Allow it on a running loop's thread, if the call does not need that loop.

        Raises:
            WrongLoop: This would block a running event loop; ``await task`` instead.
            WaitTimeout: It has not settled.

        Cancellation: a KeyboardInterrupt, or anything else raised in here, interrupts the call and is
        raised on once the call has settled or its grace is over.
        """
        check_timeout(timeout)
        if self._return is None:
            self._group._refuse_loop(timeout, "await task", block_loop=block_loop, polls=True)
            self._group._wait(self._wakers, self._done, timeout, [self])
        return self._answer(timeout)

    value = wait

    def __await__(self) -> Generator[Any, Any, Return]:
        return self._await().__await__()

    async def _await(self) -> Return:
        await self._group._await(self._wakers, self._done, [self])
        return self._answer(None)

    def __repr__(self) -> str:
        state = "alive" if self._return is None else self._return.status
        return f"<Task {self.function.name!r} {state}>"

    def _done(self) -> bool:
        return self._return is not None

    def _answer(self, timeout: float | None) -> Return:
        if self._return is None:
            raise WaitTimeout(timeout or 0.0, [self.function.id])
        return self._return

    # For the job

    def _begun(self, job: Job) -> None:
        self._begun_at = self._group._clock.now()
        self.function._called = True
        self._trace_start()

    def _progressed(self, job: Job, progress: Progress) -> None:
        if self._on_progress is not None and self._return is None:
            self._group._tell(self._context, self._on_progress, progress)

    def _ask(self, reason: str) -> None:
        """Ask the call to stop: two stores and a message, so any thread or signal handler may."""
        job = self._job
        if job is None or job.call.asked or self._return is not None:
            return
        job.call.reason = reason
        try:
            job.call.asked = True
            CONTROL.post(partial(climb, self))
        except BaseException:  # a Ctrl-C between the two: nobody would ask again
            CONTROL.post(partial(climb, self))
            raise

    def _refuse(self, outcome: Outcome) -> None:
        """Answer a call that never got as far as a job."""
        self._outcomes.append(outcome)
        self._answer_with(outcome)

    def _settle(self, job: Job, outcome: Outcome) -> None:
        outcomes = self._outcomes
        outcomes.append(outcome)
        if outcomes[0] is not outcome:
            del outcomes[1:]  # late: somebody else's is the answer, and this value must not live on here
            return
        self._answer_with(outcome)

    def _answer_with(self, outcome: Outcome) -> None:
        try:
            self._group._publish(self, outcome)
        except BaseException:
            # A Ctrl-C on the main thread, or an Interrupt of the call around this one.  Half-way
            # settled, it would hold its place, its limits and its waiters for ever.
            CONTROL.post(partial(self._group._mend, self, outcome))
            raise

    def _publish(self, outcome: Outcome) -> None:
        """Make the Return of the outcome, trace it, and only then let it be seen."""
        now = self._group._clock.now()
        function = self.function
        begun = self._begun_at
        ret = Return(
            id=function.id,
            name=function.name,
            value=_in_band(outcome),
            status=outcome.status,
            exception=outcome.exception,
            reason=outcome.reason,
            abandoned=outcome.abandoned,
            strategy=self._strategy.name if self._strategy is not None else None,
            queued_s=(now if begun is None else begun) - self._claimed_at,
            duration_s=0.0 if begun is None else now - begun,
            attempts=0 if begun is None else 1,
            output=outcome.output,
        )
        if self._tracing is not None:
            self._trace_start()
            self._tracing.tell(
                self._context, "on_tool_finish" if ret.status == "ok" else "on_tool_error", function, ret
            )
        function._cancelled = function._cancelled or ret.cancelled
        function._return = ret
        self._return = ret
        self._outcomes[0] = None  # or a large value lives on here when the Return is let go
        for undo in self._undo:
            undo()
        wake_all(self._wakers)

    def _trace_start(self) -> None:
        if self._tracing is None:
            return
        try:
            self._start_token.pop()
        except IndexError:
            return
        self._tracing.tell(self._context, "on_tool_start", self.function)


def _in_band(outcome: Outcome) -> Any:
    if outcome.status == "ok" or outcome.value is not None:
        return outcome.value
    extra = {"abandoned": True} if outcome.abandoned else {}
    if outcome.status == "cancelled":
        return cancelled_form(outcome.reason or "interrupted", **extra)
    if outcome.exception is None:
        return cancelled_form(outcome.reason or outcome.status, **extra)
    return error_form(outcome.exception, **extra)
