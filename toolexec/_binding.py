"""Binding: a call's validated arguments, what is injected into it, and the job that carries both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolexec._arguments import Plain, copied
from toolexec._call_state import CallState
from toolexec._errors import ArgumentsError, Interrupt, NoSuchToolError, UnsendableError
from toolexec._inject import Sources, injected_into, makes, with_made
from toolexec._job import Job, Parcel
from toolexec._outcome import Outcome
from toolexec._runner import entry
from toolexec._schedule import Limit
from toolexec._strategy import Strategy
from toolexec._task import Task
from toolexec._tracer import Tracer

if TYPE_CHECKING:
    from toolexec._function import Function

_NOTHING: Mapping[str, Any] = {}


class Fit(NamedTuple):
    """A call that could run.

    Attributes:
        call: Its state.
        strategy: Where.
        args: What its body is given by position.
        kwargs: And by keyword.
        makes: Whether some of that is still to be made, where the body runs.
    """

    call: CallState
    strategy: Strategy
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    makes: bool


def fit(task: Task, strategy: Strategy | None, parent: CallState | None) -> Fit | Outcome:
    """Hold a call to its tool's parameters; or the outcome that refuses it."""
    function = task.function
    if function._definition.source is None or strategy is None:
        return _unknown(function)
    call = CallState(function._id, function._definition.name, task._group._clock, parent=parent)
    try:
        fill = _fill(task, strategy, call)
        return Fit(call, strategy, *_take(function, fill), bool(fill) and makes(fill.values()))
    except UnsendableError as exc:
        return Outcome("unsendable", exception=exc)
    except ArgumentsError as exc:
        return Outcome("bad_arguments", exception=exc)
    except BaseException as exc:  # noqa: BLE001 - see there
        return _raised(exc, parent)


def own_arguments(function: Function) -> Outcome | None:
    """Give a call arguments of its own, decoded, for those to see and change who supervise it.

    Returns:
        The outcome of a call whose arguments cannot be read.
    """
    if isinstance(function.arguments, Plain):
        return None
    try:
        function.arguments = function._parameters.read(function.arguments)
    except ArgumentsError as exc:
        return _unknown(function) if function._definition.source is None else Outcome("bad_arguments", exception=exc)
    return None


def named_arguments(function: Function, fitting: Fit) -> dict[str, Any]:
    """What the body of a call is given of the model's, by name, in containers of its own."""
    named: dict[str, Any] = copied(function._parameters.named(fitting.args, fitting.kwargs))
    return named


def _unknown(function: Function) -> Outcome:
    missing = NoSuchToolError(f"no tool named {function.name!r}")
    return Outcome("unknown_tool", function.unavailable().value, exception=missing)


def _raised(exc: BaseException, parent: CallState | None) -> Outcome:
    # An Interrupt here is for the call whose body starts this one, and not this one's fault.
    if isinstance(exc, KeyboardInterrupt) or (isinstance(exc, Interrupt) and parent is not None and parent.asked):
        raise exc
    return Outcome("raised", exception=exc)


def bind_call(
    task: Task, strategy: Strategy | None, parent: CallState | None, fitting: Fit | Outcome | None = None
) -> Job | Outcome:
    """A job for the call, or the outcome that refuses it; what ``fit`` gave may be handed in."""
    fitting = fitting or fit(task, strategy, parent)
    if isinstance(fitting, Outcome):
        return fitting
    function = task.function
    definition = function._definition
    call, strategy, args, kwargs, to_make = fitting
    try:
        # An isolated call's runner lives where its body does; this process's copy is not told of its interrupt.
        call.runner = runner = None if strategy.isolated else function.runner
        body = None if strategy.isolated else with_made(entry(runner)) if to_make else entry(runner)
    except BaseException as exc:  # noqa: BLE001 - see there
        return _raised(exc, parent)
    call.grace = strategy.grace  # a body may end by its interrupt before the ladder has set the exact one
    job = Job(
        task,
        Parcel(
            call.id,
            call.name,
            definition.source,
            args,
            kwargs,
            definition.loop,
            task._limits.timeout,
            definition.deliver == "poll",
        ),
        is_async=definition.is_async,
        entry=body,
        context=task._context,
        call=call,
    )
    if definition.limits:
        call.limits = limits_of(function, parent)
    return job


def limits_of(function: Function, parent: CallState | None) -> tuple[Limit, ...]:
    """What a call has to hold while it runs."""
    limits = function._definition.limits
    if not limits or parent is None:
        return limits
    # What an ancestor holds, a call inside it need not wait for: it would wait for ever.
    held = _held(parent)
    return tuple(limit for limit in limits if limit not in held)


def _take(function: Function, fill: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What the body is given, by position and by keyword; a model's arguments are validated."""
    given = function.arguments
    return given if isinstance(given, Plain) else function._parameters.take(given, fill)


def deps_of(context: Any) -> Mapping[Any, Any]:
    return {} if context is None else context._deps


def _fill(task: Task, strategy: Strategy, call: CallState) -> Mapping[str, Any]:
    """The values of the parameters that are not the model's."""
    function = task.function
    injected = () if isinstance(function.arguments, Plain) else function._parameters.injected
    if not injected:
        return _NOTHING
    context: Any = task._group._context
    tracer = Tracer() if task._tracing is None else task._tracing.tracer
    return injected_into(
        function.name, injected, Sources(call, context, deps_of(context), tracer, isolated=strategy.isolated)
    )


def _held(call: CallState | None) -> set[Limit]:
    held: set[Limit] = set()
    while call is not None:
        held.update(call.limits)
        call = call.parent
    return held
