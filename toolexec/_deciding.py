"""Deciding, before a call's body, whether it may run: in one order, here or in a loop where somebody has to be awaited.

The guard and the Budget come first, then the intercept, which may change the arguments; what is left is
held to the tool's parameters, and only a call that could run is put before a person.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from toolexec._binding import bind_call, fit
from toolexec._ctrl_c import pressed
from toolexec._errors import Interrupt
from toolexec._intercept import DEFER, name_of, options_of
from toolexec._job import Job
from toolexec._json import class_name
from toolexec._loop_kind import is_cancellation
from toolexec._outcome import Outcome
from toolexec._return import Return

if TYPE_CHECKING:
    from toolexec._call_state import CallState
    from toolexec._strategy import Strategy
    from toolexec._supervision import Supervision
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

DEFERRED = {"deferred": True}

Decision = Job | Outcome
Deciding = Generator[Any, Any, Decision]


class Undecided(NamedTuple):
    """A decision that has to be awaited.

    Attributes:
        steps: What is left of it.
        awaitable: What it waits for.
    """

    steps: Deciding
    awaitable: Any

    async def decide(self) -> Decision:
        """Come to it, in a loop."""
        awaitable = self.awaitable
        try:
            while True:
                try:
                    answer = await awaitable
                except BaseException as exc:  # noqa: BLE001 - goes to where it was asked, which raises on what is not its own
                    awaitable = self.steps.throw(exc)
                else:
                    awaitable = self.steps.send(answer)
        except StopIteration as made:
            decision: Decision = made.value
            return decision

    def drop(self) -> None:
        """Nobody will await it."""
        self.steps.close()
        close = getattr(self.awaitable, "close", None)  # a coroutine; it may have run
        if close is not None:
            close()


def decide(
    task: Task,
    strategy: Strategy | None,
    parent: CallState | None,
    supervision: Supervision | None,
    warning: str | None,
) -> Decision | Undecided:
    """Decide as much as can be on this thread."""
    steps = _steps(task, strategy, parent, supervision, warning)
    try:
        return Undecided(steps, next(steps))
    except StopIteration as made:
        decision: Decision = made.value
        return decision


def _steps(
    task: Task,
    strategy: Strategy | None,
    parent: CallState | None,
    supervision: Supervision | None,
    warning: str | None,
) -> Deciding:
    function = task.function
    if supervision is not None and not function._admitted:
        function._admitted = True  # counted once, should a Ctrl-C undo the claim of it
        refused = supervision.refuses(function, warning)
        if refused is not None:
            return refused
    intercept = function.intercept
    if intercept is not None:
        whose = f"the intercept {name_of(intercept)!r}"
        answer = yield from _ask(whose, parent, intercept.call, function=function, **options_of(intercept))
        if answer is not None:
            return _answered(whose, answer)
    if (
        supervision is not None
        and (outcome := (yield from _confirmed(task, strategy, parent, supervision))) is not None
    ):
        return outcome
    return bind_call(task, strategy, parent)


def _confirmed(
    task: Task, strategy: Strategy | None, parent: CallState | None, supervision: Supervision
) -> Generator[Any, Any, Outcome | None]:
    function = task.function
    if not supervision.may_ask_about(function):
        return None
    fitting = fit(task, strategy, parent)  # before the predicates: these look into the arguments
    if isinstance(fitting, Outcome):
        return fitting
    wanted = yield from _ask("a predicate of confirm", parent, supervision.confirms, function)
    if isinstance(wanted, Outcome):
        return wanted
    if not wanted:
        return None
    if supervision.on_confirm is None:
        return Outcome("denied", reason="this call has to be confirmed, and nobody is there to do so")
    answer = yield from _ask("on_confirm", parent, supervision.on_confirm, function)
    if answer is True:
        return None
    if answer is None or answer is False:
        return Outcome("denied", reason="this call was not confirmed")
    return _answered("on_confirm", answer)


def _ask(
    whose: str, parent: CallState | None, callback: Callable[..., Any], *args: Any, **kwargs: Any
) -> Generator[Any, Any, Any]:
    """What the user's code answers; the outcome where it fails."""
    try:
        answer: Any = callback(*args, **kwargs)
        if inspect.isawaitable(answer):
            answer = yield answer
    except BaseException as exc:
        if _is_not_its_own(exc, parent):
            raise
        _log.exception("toolexec: %s raised; the call is denied", whose)
        return Outcome("denied", reason=f"{whose} raised {class_name(exc)}")
    return answer


def _is_not_its_own(exc: BaseException, parent: CallState | None) -> bool:
    """Whether it is for somebody else: a person's Ctrl-C, the interrupt of a call around this one, a cancellation."""
    if pressed(exc) is not None:
        return True
    if issubclass(type(exc), Interrupt):
        return parent is not None and parent.asked_around() is not None
    return is_cancellation(exc) or issubclass(type(exc), GeneratorExit)


def _answered(whose: str, answer: Any) -> Outcome:
    if isinstance(answer, Outcome):
        return answer
    if answer is DEFER:
        return Outcome("deferred", dict(DEFERRED))
    if isinstance(answer, Return):
        return outcome_of(answer)
    _log.error(
        "toolexec: %s answered with a %s, where it takes a Return, toolexec.DEFER%s; the call is denied",
        whose,
        type(answer).__name__,
        ", True or False" if whose == "on_confirm" else " or None",
    )
    return Outcome("denied", reason=f"{whose} gave no answer that is one")


def outcome_of(ret: Return) -> Outcome:
    """What a Return that was made by hand comes to."""
    return Outcome(ret.status, ret.value, exception=ret.exception, reason=ret.reason, output=ret.output)
