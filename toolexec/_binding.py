"""Binding: a call's validated arguments, what is injected into it, and the job that carries both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from toolexec._arguments import Plain, copied
from toolexec._call_state import CallState
from toolexec._errors import ArgumentsError, Interrupt, NoSuchToolError, UnsendableError
from toolexec._inject import Sources, injected_into, makes, with_made
from toolexec._job import Job
from toolexec._outcome import Outcome
from toolexec._runner import entry
from toolexec._schedule import Limit
from toolexec._strategy import Strategy
from toolexec._task import Task
from toolexec._tracer import Tracer

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._signature import Param

_NOTHING: Mapping[str, Any] = {}


def fit(task: Task, strategy: Strategy | None, parent: CallState | None) -> Job | Outcome:
    """Hold a call to its tool's parameters: the job, which has no body yet; or the outcome that refuses it."""
    function = task.function
    definition = function._definition
    if definition.source is None or strategy is None:
        return _unknown(function)
    call = CallState(function._id, definition.name, task._group._clock, parent=parent)
    given, fill = function.arguments, _NOTHING
    try:
        if type(given) is Plain:
            args, kwargs = given
        else:
            parameters = function._rendered or definition.parameters
            if parameters.injected:
                fill = _fill(task, strategy, call, parameters.injected)
            args, kwargs = parameters.take(given, fill)
    except UnsendableError as exc:
        return Outcome("unsendable", exception=exc)
    except ArgumentsError as exc:
        return Outcome("bad_arguments", exception=exc)
    except BaseException as exc:  # noqa: BLE001 - see there
        return _raised(exc, parent)
    job = Job(task, definition, args, kwargs, task._context, call)
    if definition.is_async:
        job.is_async = True
    if fill and makes(fill.values()):
        job.makes = True
    return job


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


def named_arguments(function: Function, fitting: Job) -> dict[str, Any]:
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
    task: Task, strategy: Strategy | None, parent: CallState | None, fitting: Job | Outcome | None = None
) -> Job | Outcome:
    """A job for the call, or the outcome that refuses it; what ``fit`` gave may be handed in."""
    job = fitting or fit(task, strategy, parent)
    if strategy is None or isinstance(job, Outcome):
        return job
    function, call = task.function, job.call
    definition = function._definition
    source = definition.source
    if strategy.isolated:
        pass  # its runner lives where its body does; this process's copy is not told of its interrupt
    elif type(source) is FunctionType and function.tracer is None and not job.makes:
        call.runner = job.entry = source  # as nearly always, and what the rest comes to then
    else:
        try:
            call.runner = runner = function.runner
            job.entry = with_made(entry(runner)) if job.makes else entry(runner)
        except BaseException as exc:  # noqa: BLE001 - see there
            return _raised(exc, parent)
    call.grace = strategy.grace  # a body may end by its interrupt before the ladder has set the exact one
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


def deps_of(context: Any) -> Mapping[Any, Any]:
    return {} if context is None else context._deps


def _fill(task: Task, strategy: Strategy, call: CallState, injected: Sequence[Param]) -> Mapping[str, Any]:
    """The values of the parameters that are not the model's."""
    context: Any = task._group._context
    tracer = Tracer() if task._tracing is None else task._tracing.tracer
    return injected_into(
        call.name, injected, Sources(call, context, deps_of(context), tracer, isolated=strategy.isolated)
    )


def _held(call: CallState | None) -> set[Limit]:
    held: set[Limit] = set()
    while call is not None:
        held.update(call.limits)
        call = call.parent
    return held
