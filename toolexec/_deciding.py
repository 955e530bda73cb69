"""Deciding, before a call's body, whether it may run: in one order, here or in a loop where somebody has to be awaited.

The guard and the Budget come first, then the intercept, which may change the arguments; what is left is
held to the tool's parameters, and only a call that could run is put before a person, as it would run.
Nobody is asked about arguments that cannot be read, and who is asked sees a dict that is the call's own.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from toolexec._binding import bind_call, fit, named_arguments
from toolexec._ctrl_c import pressed
from toolexec._errors import Interrupt
from toolexec._intercept import DEFER, name_of, options_of
from toolexec._job import Job
from toolexec._loop_kind import is_cancellation
from toolexec._outcome import Outcome
from toolexec._return import Return

if TYPE_CHECKING:
    from toolexec._call_state import CallState
    from toolexec._function import Function
    from toolexec._strategy import Strategy
    from toolexec._supervision import Supervision
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

DEFERRED = {"deferred": True}


class Asked(NamedTuple):
    """Who has a say in a call.

    Attributes:
        whose: Its name, for the log.
        failed: What the model is told where it gives no answer.
    """

    whose: str
    failed: str


_UNCLEAR = "whether this call may run could not be decided, so it did not run"
_PREDICATE = Asked("a predicate of confirm", _UNCLEAR)
_PERSON = Asked("on_confirm", _UNCLEAR)

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
    unreadable: Outcome | None = None,
) -> Decision | Undecided:
    """Decide as much as can be on this thread.

    Args:
        task: The call.
        strategy: Where it is to run.
        parent: The call whose body makes it.
        supervision: What its Context lets run.
        warning: What the guard says.
        unreadable: The outcome where its arguments cannot be read, so that no intercept is asked.
    """
    steps = _steps(task, strategy, parent, supervision, warning, unreadable)
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
    unreadable: Outcome | None,
) -> Deciding:
    function = task.function
    if supervision is not None and not function._admitted:
        function._admitted = True  # counted once, should a Ctrl-C undo the claim of it
        refused = supervision.refuses(function, warning)
        if refused is not None:
            return refused
    intercept = function.intercept
    if intercept is not None:
        if unreadable is not None:
            return unreadable
        asked = Asked(
            f"the intercept {name_of(intercept)!r}",
            f"this call could not be checked (by {name_of(intercept)!r}), so it did not run",
        )
        answer = yield from _ask(
            asked, function, parent, lambda: intercept.call(function=function, **options_of(intercept))
        )
        if answer is not None:
            return _answered(asked, answer)
    if supervision is None or not supervision.may_ask_about(function):
        return bind_call(task, strategy, parent)
    fitting = fit(task, strategy, parent)  # before the predicates: these look into the arguments
    if isinstance(fitting, Outcome):
        return fitting
    sent, given = function.arguments, named_arguments(function, fitting)
    function.arguments = shown = named_arguments(function, fitting)
    try:
        outcome = yield from _confirmed(function, parent, supervision)
        shown = function.arguments
    finally:
        # What is tried again, settled later or written down begins with what the model sent.
        function.arguments = sent
    if outcome is not None:
        return outcome
    changed = not _equal(shown, given)
    if changed:
        function.arguments = shown
    # Exactly what was shown, which validators may not give twice; what was changed is held to the parameters too.
    return bind_call(task, strategy, parent, None if changed else fitting)


def _confirmed(
    function: Function, parent: CallState | None, supervision: Supervision
) -> Generator[Any, Any, Outcome | None]:
    wanted = yield from _ask(_PREDICATE, function, parent, partial(supervision.confirms, function))
    if isinstance(wanted, Outcome):
        return wanted
    if not wanted:
        return None
    if supervision.on_confirm is None:
        return Outcome("denied", reason="this call has to be confirmed, and nobody is there to do so")
    answer = yield from _ask(_PERSON, function, parent, partial(supervision.on_confirm, function))
    if answer is True:
        return None
    if answer is None or answer is False:
        return Outcome("denied", reason="this call was not confirmed")
    return _answered(_PERSON, answer)


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - the values' own code; then they are held to the parameters
        return False


def _ask(
    asked: Asked, function: Function, parent: CallState | None, callback: Callable[[], Any]
) -> Generator[Any, Any, Any]:
    """What the user's code answers; the outcome where it fails."""
    before = getattr(function, "_refusal", None)
    try:
        answer: Any = callback()
        if inspect.isawaitable(answer):
            answer = yield answer
    except BaseException as exc:
        if _is_not_its_own(exc, parent):
            raise
        _log.exception("toolexec: %s raised; the call is denied", asked.whose)
        return Outcome("denied", reason=asked.failed)
    refusal: Return | None = getattr(function, "_refusal", None)
    if refusal is not before and refusal is not None and not isinstance(answer, Return):
        return outcome_of(refusal)  # it has said no, and a "return" is easily forgotten
    return answer


def _is_not_its_own(exc: BaseException, parent: CallState | None) -> bool:
    """Whether it is for somebody else: a person's Ctrl-C, the interrupt of a call around this one, a cancellation."""
    if pressed(exc) is not None:
        return True
    if issubclass(type(exc), Interrupt):
        return parent is not None and parent.asked_around() is not None
    return is_cancellation(exc) or issubclass(type(exc), GeneratorExit)


def _answered(asked: Asked, answer: Any) -> Outcome:
    if isinstance(answer, Outcome):
        return answer
    if answer is DEFER:
        return Outcome("deferred", dict(DEFERRED))
    if isinstance(answer, Return):
        return outcome_of(answer)
    _log.error(
        "toolexec: %s answered with a %s, where it takes a Return, toolexec.DEFER%s; the call is denied",
        asked.whose,
        type(answer).__name__,
        ", True or False" if asked is _PERSON else " or None",
    )
    return Outcome("denied", reason=asked.failed)


def outcome_of(ret: Return) -> Outcome:
    """What a Return that was made by hand comes to."""
    return Outcome(ret.status, ret.value, exception=ret.exception, reason=ret.reason, output=ret.output)
