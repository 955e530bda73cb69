"""Steps: what a call goes through beside its one body - a decision before it, further attempts, a look at the end."""

from __future__ import annotations

import inspect
import logging
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from toolexec._beside import run_beside
from toolexec._binding import bind_call, limits_of
from toolexec._call_state import CallState
from toolexec._clock import MONOTONIC
from toolexec._control import CONTROL
from toolexec._ctrl_c import pressed
from toolexec._deciding import Undecided
from toolexec._errors import ToolexecError
from toolexec._intercept import name_of, options_of
from toolexec._job import Job
from toolexec._json import class_name
from toolexec._ladder import climb
from toolexec._loop_kind import LoopKind
from toolexec._outcome import Outcome
from toolexec._return import Return, error_form
from toolexec._runner import stated

if TYPE_CHECKING:
    from toolexec._retry import Retry
    from toolexec._schedule import Limit
    from toolexec._strategy import Place, Strategy
    from toolexec._task import Task

_log = logging.getLogger("toolexec")


class _Decision:
    """What a job is told of its tool that awaits a decision, and so runs none."""

    source: Any = None
    loop: LoopKind = "asyncio"
    deliver = "raise"


_DECISION = _Decision()


class Steps:
    """What one Task has of them.  A job that has ended asks here whether another follows.

    Attributes:
        gated: Whether it is still to be decided if the call may run.
        strategy: Where the body runs; while gated the Task's own is where the decision is awaited.
        place: Likewise.
        limits: What it has to hold while it runs.
    """

    __slots__ = (
        "_context",
        "_intercept",
        "_retry",
        "_task",
        "_tried",
        "_undecided",
        "gated",
        "limits",
        "place",
        "strategy",
    )

    def __init__(self, task: Task, strategy: Strategy | None, place: Place | None, retry: Retry | None) -> None:
        self._task = task
        self.strategy = strategy
        self.place = place
        self.limits: tuple[Limit, ...] = ()
        self._retry = retry
        self._intercept = task.function.intercept
        self._tried = 1
        self._context: Context | None = None  # the submitter's, as it was before the first body
        self._undecided: Undecided | None = None
        self.gated = False

    @property
    def repeats(self) -> bool:
        """Whether it may be attempted more than once."""
        return self._retry is not None

    # The decision

    def gate(self, undecided: Undecided, parent: CallState | None) -> Job:
        """The job that awaits the decision."""
        task, function = self._task, self._task.function
        self._undecided = undecided
        self.gated = True
        self.limits = limits_of(function, parent)
        call = CallState(function.id, function.name, task._group._clock, parent=parent)
        job = Job(task, _DECISION, (), {}, task._context.copy(), call)
        job.entry, job.is_async = undecided.decide, True
        return job

    def drop(self) -> None:
        """The decision is not awaited any more, or never was."""
        if self._undecided is not None:
            self._undecided.drop()
            self._undecided = None

    def _decided(self, job: Job, outcome: Outcome) -> Outcome | None:
        if job.begun:  # or else it would never be awaited
            self._undecided = None
        self.drop()
        if outcome.status == "raised":  # what asked has passed on all that is not its own
            return Outcome("denied", reason="what decides about this call has failed")
        made = outcome.value
        if isinstance(made, Job):
            CONTROL.post(partial(self._open, job, made))
            return None
        return made if isinstance(made, Outcome) else outcome

    def _open(self, gate: Job, job: Job) -> None:
        """The call may run; on the control thread."""
        task = self._task
        if task not in task._group._open:
            return
        self.gated = False
        self._follow(gate, job)
        entry = task._entry
        assert entry is not None
        entry.gated = False
        if job.asked:
            climb(task)
        for ready in entry.window.take():
            task._group._starter(ready.item)

    # Further attempts

    def begun(self) -> None:
        """A body is about to begin."""
        if self._retry is not None and self._context is None:
            self._context = self._task._context.copy()

    def after(self, job: Job, outcome: Outcome) -> Outcome | None:
        """What the call has come to with this outcome of a job; None if another job follows."""
        if self.gated:
            return self._decided(job, outcome)
        if self._retry is None or not self._may_go_on(self._retry, job, outcome):
            return outcome
        # The user's code has a part in it, and may block: neither a loop, nor who hears of a worker's end.
        run_beside(partial(self._again, self._retry, job, outcome), "retry")
        return None

    def _may_go_on(self, retry: Retry, job: Job, outcome: Outcome) -> bool:
        task, call = self._task, job.call
        if self._tried >= retry.attempts or call.barred is not None or any(not ask.again for ask in call.asks):
            return False
        if call.parent is not None and call.parent.asked_around() is not None:
            return False
        return retry.wants(outcome, task._attempts, idempotent=task.function._definition.idempotent)

    def _again(self, retry: Retry, job: Job, outcome: Outcome) -> None:
        task = self._task
        made: Job | Outcome = outcome
        delay = 0.0
        try:
            delay = retry.delay_s(self._tried)
            if self._context is not None:
                task._context = self._context.copy()
            made = bind_call(task, self.strategy, job.call.parent)
        except BaseException as exc:
            if pressed(exc) is not None:
                raise
            _log.exception("toolexec: tool %r is not attempted again", task.function.name)
        if isinstance(made, Outcome):  # the failure that there was says more than that of the next attempt
            task._come_to(outcome)
        else:
            CONTROL.post(partial(self._restart, job, made, delay))

    def _restart(self, last: Job, job: Job, delay: float) -> None:
        """Make another attempt, after a while; on the control thread."""
        task = self._task
        if task not in task._group._open:
            return
        self._tried += 1
        self._follow(last, job)
        if job.asked:
            climb(task)
        elif delay == 0:
            task._group._starter(task)
        else:
            start = partial(CONTROL.post, partial(self._start, job))
            for clock in {task._group._clock, MONOTONIC} if task._group._in_loop else {task._group._clock}:
                # A loop's clock stands still once that has ended; the process's runs beside it.
                task._undo.append(clock.call_at(clock.now() + delay, start))

    def _start(self, job: Job) -> None:
        task = self._task
        if task._job is job and not task._handed and task in task._group._open:
            task._group._starter(task)

    def _follow(self, last: Job, job: Job) -> None:
        """Put a job in the place of the last one, with what that was asked; on the control thread."""
        task, call, place = self._task, job.call, self.place
        assert place is not None
        for undo in task._undo:
            undo()
        task._undo.clear()
        last._over = True
        last.call.sink = None
        call.deadline = task._due
        call.lazy = place.lazy
        task._concluded = None
        task._handed = False
        task._strategy, task._place = self.strategy, place
        task._job = job
        # First the new job, and then a look; whoever asks first sets the flag, and then looks which job there is.
        ask = next((ask for ask in last.call.asks if not ask.again), last.call.barred)
        if ask is not None:
            call.ask(ask)

    # The look at the end

    def rewrite(self, ret: Return) -> Return:
        """The Return as its intercept lets it be seen; once, on the thread that settles the call."""
        intercept = self._intercept
        if intercept is None or ret.status == "deferred":
            return ret
        try:
            after = stated(intercept, "after")
            if after is None:
                return ret
            given: Any = after(function=self._task.function, ret=ret, **options_of(intercept))
            if inspect.iscoroutine(given):
                given.close()
        except BaseException as exc:
            if pressed(exc) is not None:
                raise
            return self._withheld(ret, class_name(exc), exc)
        if given is None:
            return ret
        if not isinstance(given, Return):
            return self._withheld(ret, f"it gave a {type(given).__name__}, where it takes a Return or None", None)
        if given.status == "deferred":  # an approval would run the body once more
            return self._withheld(ret, "it gave a Return that is deferred, of a call that has ended", None)
        return replace(ret, value=given.value, status=given.status, exception=given.exception, reason=given.reason)

    def _withheld(self, ret: Return, why: str, cause: BaseException | None) -> Return:
        whose = f"the intercept {name_of(self._intercept)!r}"
        _log.error("toolexec: %s failed on the result of tool %r: %s", whose, ret.name, why, exc_info=cause)
        error = ToolexecError(f"the result is withheld: {whose} failed on it ({why})")
        return replace(ret, status="raised", value=error_form(error), exception=error, reason=None)
