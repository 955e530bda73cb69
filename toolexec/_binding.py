"""Binding: a call's validated arguments, what is injected into it, and the job that carries both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolexec._arguments import Plain
from toolexec._call_state import CallState
from toolexec._errors import ArgumentsError, Interrupt, NoSuchToolError, UnsendableError
from toolexec._inject import Sources, injected_into
from toolexec._job import Job, Parcel
from toolexec._outcome import Outcome
from toolexec._runner import entry
from toolexec._schedule import Limit
from toolexec._strategy import Strategy
from toolexec._task import Task
from toolexec._tracer import Tracer, Tracing

if TYPE_CHECKING:
    from toolexec._function import Function

_NOTHING: Mapping[str, Any] = {}


def bind_call(
    task: Task, strategy: Strategy | None, parent: CallState | None, tracing: Tracing | None
) -> Job | Outcome:
    """A job for the call, or the outcome that refuses it."""
    function = task.function
    definition = function._definition
    if definition.source is None or strategy is None:
        return Outcome(
            "unknown_tool", function.unavailable().value, exception=NoSuchToolError(f"no tool named {function.name!r}")
        )
    call = CallState(function.id, function.name, task._group._clock, parent=parent)
    try:
        fill = _fill(task, strategy, call, tracing)
    except UnsendableError as exc:
        return Outcome("unsendable", exception=exc)
    try:
        args, kwargs = _take(function, fill)
        # An isolated call's runner lives where its body does; this process's copy is not told of its interrupt.
        call.runner = runner = None if strategy.isolated else function.runner
    except ArgumentsError as exc:
        return Outcome("bad_arguments", exception=exc)
    except BaseException as exc:
        # An Interrupt here is for the call whose body starts this one, and not this one's fault.
        if isinstance(exc, KeyboardInterrupt) or (isinstance(exc, Interrupt) and parent is not None and parent.asked):
            raise
        return Outcome("raised", exception=exc)
    call.grace = strategy.grace  # a body may end by its interrupt before the ladder has set the exact one
    job = Job(
        task,
        Parcel(
            function.id,
            function.name,
            definition.source,
            args,
            kwargs,
            definition.loop,
            task._limits.timeout,
            definition.deliver == "poll",
        ),
        is_async=definition.is_async,
        entry=None if strategy.isolated else entry(runner),
        context=task._context,
        call=call,
    )
    # What an ancestor holds, a call inside it need not wait for: it would wait for ever.
    call.limits = tuple(limit for limit in definition.limits if limit not in _held(parent))
    return job


def _take(function: Function, fill: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What the body is given, by position and by keyword; a model's arguments are validated."""
    given = function.arguments
    return given if isinstance(given, Plain) else function._parameters.take(given, fill)


def deps_of(context: Any) -> Mapping[Any, Any]:
    return {} if context is None else context._deps


def _fill(task: Task, strategy: Strategy, call: CallState, tracing: Tracing | None) -> Mapping[str, Any]:
    """The values of the parameters that are not the model's."""
    function = task.function
    injected = () if isinstance(function.arguments, Plain) else function._parameters.injected
    if not injected:
        return _NOTHING
    context: Any = task._group._context
    default = Tracer() if tracing is None else tracing.tracer
    tracer = default if function.tracer is None else function.tracer
    return injected_into(
        function.name, injected, Sources(call, context, deps_of(context), tracer, isolated=strategy.isolated)
    )


def _held(call: CallState | None) -> set[Limit]:
    held: set[Limit] = set()
    while call is not None:
        held.update(call.limits)
        call = call.parent
    return held
