"""The one place where a tool's body is called, and what comes out of it becomes an Outcome."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolexec._call_state import CallState
from toolexec._here import CURRENT
from toolexec._inject import put_in_place
from toolexec._loop_kind import LoopKind
from toolexec._outcome import Outcome, failed
from toolexec._own_loop import run_to_end
from toolexec._runner import entry, resolve, yields_parts
from toolexec._values import collect


class Awaiting:
    """What a sync body left to be awaited, for a strategy that has a loop to do it on."""

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Any) -> None:
        self.awaitable: Any = awaitable


def invoke(
    body: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    call: CallState,
    loop: LoopKind = "asyncio",
    *,
    hand_over: bool = False,
) -> Outcome | Awaiting:
    """Call ``body`` on this thread and say how it ended; never raises.

    Anything awaitable that comes back is awaited: in a loop of its own here, or, with
    ``hand_over``, by the caller, who gets an :class:`Awaiting`.  A generator is run through: each
    part is a report of progress, the value is the list of parts.
    """
    CURRENT.set(call)
    try:
        value: object = body(*args, **kwargs)
        kind = type(value)
        if kind is types.GeneratorType and yields_parts(body):
            return Outcome("ok", collect(value, call))
        if kind is not types.AsyncGeneratorType and not hasattr(kind, "__await__"):
            return Outcome("ok", value)
        if hand_over:
            return Awaiting(value)
        return run_to_end(value, call, loop)
    except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is that call's answer
        return failed(call, exc)


def perform(
    source: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    call: CallState,
    loop: LoopKind,
    begun: Callable[[], object],
) -> Outcome:
    """Run a call in a worker that has its own copy of the tool; never raises.

    The runner is resolved here, because an isolated call's instance lives where its body runs; a
    constructor that fails is the call's ``raised``.

    Args:
        source: What the tool was declared with: a class, a factory, an instance or a callable.
        args: Positional arguments for the body.
        kwargs: Keyword arguments for the body.
        call: The state the body sees; its ``sink`` gets the progress.
        loop: The kind of loop an async body runs in.
        begun: Called once, right before the body.
    """
    try:
        call.runner = runner = resolve(source)
        body, args, kwargs = put_in_place(entry(runner), args, kwargs, call)
        begun()
    except BaseException as exc:  # noqa: BLE001 - a constructor is the tool's code
        return failed(call, exc)
    outcome = invoke(body, args, kwargs, call, loop)
    assert isinstance(outcome, Outcome)  # without hand_over nothing is left to await
    return outcome
