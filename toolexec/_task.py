"""Task: the caller's handle on one started call, settled once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

from toolexec._at_need import is_first, own_list
from toolexec._beside import run_beside
from toolexec._call_state import Ask, check_reason
from toolexec._control import CONTROL
from toolexec._ctrl_c import REASON
from toolexec._deadline import start_clock
from toolexec._errors import Interrupt, WaitTimeout
from toolexec._events import Output, Started
from toolexec._here import CURRENT
from toolexec._ladder import ask_all, bar, climb, finish_off, hook_begun, interrupt_all
from toolexec._outcome import Outcome, out_of_time
from toolexec._return import Return, cancelled_form, error_form, settled
from toolexec._time_limits import NO_LIMITS
from toolexec._tracer import CallTrace
from toolexec._waiting import Wakers, check_timeout, wake_all

if TYPE_CHECKING:
    from toolexec._call_state import Progress
    from toolexec._function import Function
    from toolexec._group import Group
    from toolexec._job import Job
    from toolexec._schedule import Entry
    from toolexec._steps import Steps
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
        "__dict__",
        "_active_at",
        "_attempts",
        "_begun_at",
        "_claimed_at",
        "_concluded",
        "_context",
        "_due",
        "_entry",
        "_group",
        "_handed",
        "_job",
        "_limits",
        "_on_progress",
        "_place",
        "_replaced",
        "_reports",
        "_return",
        "_steps",
        "_strategy",
        "_timers",
        "_tracing",
        "_waiters",
        "function",
    )

    def __init__(self, function: Function, group: Group, context: Context, claimed_at: float) -> None:
        self.function: Function = function
        self._group = group
        self._context = context
        self._claimed_at = claimed_at
        self._tracing: CallTrace | None = None
        self._on_progress: Callable[..., object] | None = None
        self._strategy: Strategy | None = None
        self._place: Place | None = None
        self._job: Job | None = None
        self._entry: Entry[Task] | None = None
        self._handed = False  # given to its place
        self._begun_at: float | None = None  # its first attempt
        self._attempts = 0
        self._due: float | None = None  # when its Group's time is over
        self._steps: Steps | None = None  # what comes before and after its body, if anything does
        self._active_at = 0.0  # when it last reported progress
        self._limits = NO_LIMITS
        self._concluded: Outcome | None = None  # what it came to, while its hook still runs
        self._replaced: Return | None = None  # what it is to replace, which was no more than deferred
        self._reports: Sequence[Progress] = ()
        self._return: Return | None = None
        self._timers: Sequence[Callable[[], None]] = ()  # to be cancelled when it settles
        self._waiters: Sequence[Callable[[], object]] = ()

    @property
    def _wakers(self) -> Wakers:
        return own_list(self, "_waiters")

    @property
    def _undo(self) -> list[Callable[[], None]]:
        return own_list(self, "_timers")

    def _trace(self, tracing: Tracing) -> None:
        rendering = getattr(self._group._context, "_rendering", None)
        self._tracing = CallTrace(tracing, self.function, self._context, rendering)

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

    def interrupt(self, reason: str = "interrupted", *, after_running: bool = False) -> None:
        """Ask the call to stop.  Any thread, loop or signal handler; a second call does nothing.

        It does not wait: ``wait`` and ``await`` give the Return, within the strategy's ``grace``.  A
        call that has not begun never does.  In one that runs, ``Interrupt`` is raised (an async body
        is cancelled), and its hook is told; under sequential nothing is raised, and the hook runs
        here and now.

        Args:
            reason: Why, in words fit for the model.
            after_running: Let it end by itself if it has begun.
        """
        interrupt_all([self], Ask(check_reason(reason), tells=True), after_running=after_running)

    cancel = interrupt

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

    @property
    def _timeout(self) -> float | None:
        return self._limits.timeout

    def _answer(self, timeout: float | None) -> Return:
        if self._return is None:
            raise WaitTimeout(timeout or 0.0, [self.function.id])
        return self._return

    # For the job

    def _begun(self, job: Job) -> None:
        if self._return is not None or job is not self._job:  # a worker that was left behind meanwhile
            return
        steps = self._steps
        if steps is not None and steps.gated:
            return
        now = self._group._clock.now()
        if self._begun_at is None:
            self._begun_at = now
        self._attempts += 1
        self.function._called = True
        if self._tracing is not None:
            self._tracing.start()
            if self._attempts == 1:
                self._context = self._tracing.context
        if steps is not None:
            steps.begun()
        if self._limits is not NO_LIMITS:
            start_clock(self, now)
        if self._group._listeners:
            self._group._emit(Started(self))

    def _sent(self, job: Job) -> Mapping[str, str] | None:
        if self._tracing is None:
            return None
        self._tracing.start()
        return self._tracing.carrier()

    def _progressed(self, job: Job, progress: Progress) -> None:
        if self._is_gated():
            return
        if self._limits.idle_timeout is not None:
            self._active_at = self._group._clock.now()
        traced = self._tracing is not None and self._tracing.hears_progress
        if self._on_progress is None and not traced and not self._group._listeners:
            return
        # Reports may come from several of the tool's threads: one passes on what all of them have.
        reports = own_list(self, "_reports")
        reports.append(progress._replace(task=self))
        while reports:
            if not is_first(self, "_telling"):
                return
            try:
                while reports and self._return is None:
                    self._pass_on(reports.pop(0))
                reports.clear()
            finally:
                del vars(self)["_telling"]

    def _pass_on(self, progress: Progress) -> None:
        if self._tracing is not None:
            self._tracing.progress(progress)
        self._group._emit(progress)
        if self._on_progress is not None:
            self._group._tell(self._context, self._on_progress, progress)

    def _printed(self, job: Job, text: str) -> None:
        if self._return is None:
            self._group._emit(Output(self, text))

    def _ask(self, ask: Ask) -> bool:
        """Ask the call to stop, from any thread or signal handler; whether that was new."""
        return bool(ask_all([self], ask))

    def _ask_attempt(self, job: Job, ask: Ask) -> None:
        """Ask one attempt to stop, and none that has followed it meanwhile.  Any thread."""
        if self._return is None and job.call.ask(ask):
            CONTROL.post(partial(climb, self))

    def _tell_here(self) -> None:
        """Where nothing is raised into a body, its hook is told on the thread that interrupts."""
        job, place, strategy = self._job, self._place, self._strategy
        if job is not None and place is not None and place.lazy and strategy is not None and strategy.grace > 0:
            job.run_hook()

    def _bar(self, ask: Ask) -> None:
        """Ask it to stop unless it has begun."""
        job = self._job
        if job is None or self._return is not None or job.call.barred is not None:
            return
        job.call.barred = ask
        CONTROL.post(partial(bar, self))
        if self._job is not job:  # as when it is asked
            self._bar(ask)

    def _conclude(self, job: Job, outcome: Outcome) -> None:
        self._concluded = outcome
        CONTROL.post(partial(hook_begun, self, job))

    def _ctrl_c(self, job: Job, exc: BaseException) -> None:
        groups = (self._group, *self._group._followers)
        again = [group._press(exc) for group in groups]
        self._settle(job, Outcome("cancelled", exception=Interrupt(REASON), reason=REASON))
        for group, once_more in zip(groups, again, strict=True):
            ask_all(group._tasks, Ask(REASON))
            if once_more:
                for task in group._tasks:
                    CONTROL.post(partial(finish_off, task))
            wake_all(group._all)  # whoever is leaving already need not wait any longer

    def _void(self) -> None:
        """Its start was undone; whoever waits for it already looks at its call again."""
        function, reason = self.function, "its start was undone"
        value = cancelled_form(reason)
        self._return = Return(id=function.id, name=function.name, value=value, status="cancelled", reason=reason)
        wake_all(self._wakers)
        wake_all(self._group._each)

    def _come_to(self, outcome: Outcome) -> None:
        """Answer a call, unless it was answered: one that never got as far as a job, or comes to an end."""
        won: list[bool] = []
        try:
            # Out of the dict and into the list in one step: a Ctrl-C after the pop alone would leave nobody to answer.
            won.extend(map(self._group._open.pop, (self,), (False,)))
            if not won[0]:
                return  # late: somebody else's is the answer
            if (self._tracing is not None or self._steps is not None) and CONTROL.is_current():
                # A tracer and an intercept are the user's code, and may block; the control thread must not.
                run_beside(partial(self._group._finish, self, outcome), "trace")
            else:
                self._group._finish(self, outcome)
        except BaseException:
            # A Ctrl-C on the main thread, or an Interrupt of the call around this one.  Half-way
            # settled, it would hold its place, its limits and its waiters for ever.
            if won and won[0]:
                CONTROL.post(partial(self._group._mend, self, outcome))
            raise

    def _settle(self, job: Job, outcome: Outcome) -> None:
        if self not in self._group._open:
            return  # late: somebody else's is the answer
        asks = job.call.asks
        if asks and asks[0].timeout:
            outcome = out_of_time(job.call, outcome)
        try:
            last = outcome if self._steps is None else self._last_word(self._steps, job, outcome)
            if last is not None:
                self._come_to(last)
        except BaseException:  # as in there; and whatever follows finds an answer there
            if self._group._open.pop(self, False):
                CONTROL.post(partial(self._group._mend, self, outcome))
            raise

    def _last_word(self, steps: Steps, job: Job, outcome: Outcome) -> Outcome | None:
        """What the call has come to; None if it goes on."""
        outcomes = own_list(job, "_outcomes")
        outcomes.append(outcome)
        if outcomes[0] is outcome:
            return steps.after(job, outcome)
        del outcomes[1:]
        # What comes between two attempts hangs, and is left behind.
        return outcome if outcome.abandoned and self._job is job else None

    def _is_gated(self) -> bool:
        """Whether it is still to be decided if the call may run."""
        return self._steps is not None and self._steps.gated

    def _is_decided_here(self) -> bool:
        """Whether the caller is the one who decides about it, in a loop: to answer it is no reason to stop that."""
        return self._is_gated() and self._job is not None and self._job.call is CURRENT.get()

    def _strategies(self) -> Iterable[Strategy]:
        """Those that have to know of it."""
        own, later = self._strategy, None if self._steps is None else self._steps.strategy
        if own is None or own is later:
            return () if later is None else (later,)
        return (own,) if later is None else (own, later)

    def _publish(self, outcome: Outcome) -> None:
        """Make the Return of the outcome, trace it, and only then let it be seen."""
        now = self._group._clock.now()
        function, begun, job = self.function, self._begun_at, self._job
        ret = settled(
            function._id,
            function._definition.name,
            outcome.value if outcome.status == "ok" else _in_band(outcome),
            outcome.status,
            outcome.exception,
            outcome.reason,
            None if self._strategy is None or (self._steps is not None and self._steps.gated) else self._strategy.name,
            (now if begun is None else begun) - self._claimed_at,
            0.0 if begun is None else now - begun,
            self._attempts,
            outcome.output,
            abandoned=outcome.abandoned,
        )
        if self._steps is not None:
            ret = self._steps.rewrite(ret)
        if self._tracing is not None:
            self._tracing.end(ret)
        if job is not None:
            job.call.sink = None  # or job and call would keep each other
            if job._outcomes:
                own_list(job, "_outcomes").clear()  # or a large value lives on here when the Return is let go
        if ret.status != "ok" and ret.cancelled:
            function._cancelled = True
        function._return = ret
        if ret.status == "deferred" and self._group._note is not None:
            self._group._note(function)
        self._return = ret
        # First the Return, and then a look; who sets a timer, or waits, does it the other way round.
        for undo in self._timers:
            undo()
        if self._waiters:
            wake_all(self._wakers)


def _in_band(outcome: Outcome) -> Any:
    if outcome.value is not None:
        return outcome.value
    extra = {"abandoned": True} if outcome.abandoned else {}
    if outcome.status == "cancelled":
        return cancelled_form(outcome.reason or "interrupted", **extra)
    if outcome.exception is None:
        denied = {"denied": True} if outcome.status == "denied" else {}
        return cancelled_form(outcome.reason or outcome.status, **extra, **denied)
    return error_form(outcome.exception, **extra)
