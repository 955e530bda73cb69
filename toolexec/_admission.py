"""Admission: which of the calls that are to start may, and what else comes before or after their bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolexec._binding import bind_call, own_arguments
from toolexec._deciding import Undecided, decide
from toolexec._discovery import shared
from toolexec._loop_kind import running_loop
from toolexec._outcome import Outcome
from toolexec._steps import Steps

if TYPE_CHECKING:
    from toolexec._call_state import CallState
    from toolexec._function import Function
    from toolexec._job import Job
    from toolexec._retry import Retry
    from toolexec._strategy import Place, Strategy
    from toolexec._supervision import Supervision
    from toolexec._task import Task


class Admission:
    """Who has a say in the calls of one Group.

    Attributes:
        answer: What its calls have come to already, so that nothing runs; or None.
    """

    __slots__ = ("_context", "_decided", "_stopped", "_supervision", "_warnings", "answer")

    def __init__(
        self,
        context: Any,
        supervision: Supervision | None,
        stopped: Callable[[], Callable[[Function], str | None] | None] | None,
        *,
        decided: bool,
        answer: Outcome | None,
    ) -> None:
        """Take the options of a launch; see there."""
        self._context = context
        self._supervision = supervision
        self._stopped = stopped
        self._decided = decided
        self.answer = answer
        self._warnings: list[str | None] = []

    @property
    def concerns_all(self) -> bool:
        """Whether somebody has a say in every call, and not only an intercept of its own."""
        return self._supervision is not None or self.answer is not None

    def first_job(
        self, task: Task, strategy: Strategy | None, parent: CallState | None, places: dict[Strategy, Place]
    ) -> Job | Outcome:
        """The first job of a call; or the outcome that refuses it.

        Args:
            task: The call.
            strategy: Where it is to run; None for a tool that is not there.
            parent: The call whose body makes it.
            places: Those of its Group; one is added for a decision that has to be awaited.
        """
        function = task.function
        place = None if strategy is None else places[strategy]
        retry = self._retry(function, strategy)
        if retry is not None or function.intercept is not None:
            task._steps = Steps(task, strategy, place, retry)
        if function.intercept is not None and (
            self._supervision is None or function.intercept is not self._supervision.intercept
        ):
            from toolexec._intercept import check_intercept  # few calls have one of their own

            check_intercept(function.intercept)
        unreadable = None if function.intercept is None else own_arguments(function)
        if self.answer is not None:
            return self.answer
        if self._decided or self._is_stopped(function):
            return bind_call(task, strategy, parent)
        made = decide(task, strategy, parent, self._supervision, self._warning(function), unreadable)
        if not isinstance(made, Undecided):
            return made
        steps = task._steps = task._steps or Steps(task, strategy, place, retry)
        # As an async tool under "auto": in the loop that runs here, or else in the background.
        awaits = shared(running_loop() or "asyncio")
        if awaits not in places:
            places[awaits] = awaits.bind()
        task._strategy, task._place = awaits, places[awaits]
        return steps.gate(made, parent)

    def _is_stopped(self, function: Function) -> bool:
        reason_for = None if self._stopped is None else self._stopped()
        return reason_for is not None and reason_for(function) is not None

    def _retry(self, function: Function, strategy: Strategy | None) -> Retry | None:
        retry = None if self._supervision is None else self._supervision.retry
        # Of a tool that is not idempotent only a call that is lost before its body, which a worker runs.
        possible = function._definition.idempotent or (strategy is not None and strategy.isolated)
        return retry if possible else None

    def _warning(self, function: Function) -> str | None:
        """What the guard says of a call; it is asked once for them all."""
        supervision = self._supervision
        if supervision is None:
            return None
        if not self._warnings:
            self._warnings.append(supervision.warning(self._context))
        warning = self._warnings[0]
        return warning if warning is not None and supervision.guards(self._context, function) else None
