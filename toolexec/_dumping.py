"""Dumping: a conversation as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from toolexec._arguments import excerpt
from toolexec._deferred import is_deferred
from toolexec._dumped import FORMAT, OWN, VERSION, Dumped, DumpedCall, DumpedResponse, DumpedReturn, DumpedTurn
from toolexec._errors import ForeignError, ToolError, ToolexecError
from toolexec._json import class_name
from toolexec._json_options import AS_WRITTEN
from toolexec._packing import pack, pack_rendered, unpack
from toolexec._parts import parts_of
from toolexec._return import Return, describe, render

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._received import Received
    from toolexec._rendering import Rendering

# One has no text for a model, the other names the tools there are, in the words of who is asked.
_RENDERED_ANEW = ("deferred", "unknown_tool")


def dump(responses: Sequence[Received], submitted: Sequence[Function], turn: DumpedTurn, rendering: Rendering) -> str:
    """All of it.

    Args:
        responses: What was received.
        submitted: Calls of no response that were put off.
        turn: What holds for the turn.
        rendering: What models get to read.

    Raises:
        ToolexecError: Something is in flight, or cannot be written down.
    """
    if any(response.state == "open" for response in responses):
        raise ToolexecError("a stream still goes on, which cannot be dumped; read it to its end, or break it off")
    running = [
        function
        for function in chain(*(response.functions for response in responses), submitted)
        if function._return is None and not function.pending
    ]
    if running:
        raise ToolexecError(
            f"calls in flight cannot be dumped: {listed(running)}; wait for them (ctx.wait(), or await ctx.run()), "
            "or interrupt() them and then wait"
        )
    made = [_response(response, rendering) for response in responses]
    whole = Dumped(FORMAT, VERSION, turn, made, [_call(put_off, None, rendering) for put_off in submitted])
    return json.dumps(whole, default=_as_object)  # ASCII, so that it bears any encoding, lone surrogates too


def is_open(function: Function) -> bool:
    """Whether a call is still to be answered."""
    return function._return is None or is_deferred(function)


def listed(functions: Iterable[Function]) -> str:
    """Calls by their tools and ids, for a message."""
    return ", ".join(
        f"{excerpt(function.name)!r} ({'no id' if function.id is None else excerpt(repr(function.id))})"
        for function in functions
    )


def _as_object(value: Any) -> dict[str, Any]:
    assert is_dataclass(value)  # all else is packed
    return {part.name: getattr(value, part.name) for part in fields(value)}


def _response(response: Received, rendering: Rendering) -> DumpedResponse:
    reply = response.reply
    provider = None if response.provider is None else response.provider.name
    try:
        native = pack(reply.native)
    except TypeError as exc:
        raise ToolexecError(f"what the provider {provider!r} keeps of a response cannot be dumped: {exc}") from None
    return DumpedResponse(
        provider=provider,
        turn=response.turn,
        state="whole" if response.state == "whole" else "broken",
        text=reply.text,
        native=native,
        model=reply.model,
        records=[(record.id, record.name, pack_rendered(record.arguments)) for record in reply.calls],
        calls=[
            _call(function, response.texts.get(place), rendering) for place, function in enumerate(response.functions)
        ],
        ids=response._ids,
    )


def _call(function: Function, text: str | None, rendering: Rendering) -> DumpedCall:
    try:
        # It is to run with the very same; of one that is answered they are only told once more.
        arguments = (pack if is_open(function) else pack_rendered)(function.arguments)
    except TypeError as exc:
        raise ToolexecError(f"the arguments of {listed([function])} cannot be dumped: {exc}") from None
    return DumpedCall(
        id=function.id,
        name=function.name,
        arguments=arguments,
        model=function.model,
        known=function._definition.source is not None,
        called=function._called,
        cancelled=function._cancelled,
        claimed=function._claimed,
        admitted=function._admitted,
        answer=None if function._return is None else _return(function._return, function, text, rendering),
    )


def _return(ret: Return, function: Function, text: str | None, rendering: Rendering) -> DumpedReturn:
    value = pack_rendered(ret.value)
    if text is None and ret.ok and parts_of(ret.value) is None:
        text = render(ret, json=function._definition.json)
        if text == render(replace(ret, value=unpack(value)), json=AS_WRITTEN):
            text = None
    if text is None and not ret.ok and ret.status not in _RENDERED_ANEW:
        text = rendering.text(ret, function._definition.json)  # hidden or told, it stays so, whoever restores it
    return DumpedReturn(
        value=value,
        status=ret.status,
        exception=None if ret.exception is None else (_class_of(ret.exception), describe(ret.exception)),
        reason=ret.reason,
        abandoned=ret.abandoned,
        strategy=ret.strategy,
        queued_s=ret.queued_s,
        duration_s=ret.duration_s,
        attempts=ret.attempts,
        output=ret.output,
        text=text,
    )


def _class_of(exc: BaseException) -> str:
    # Not isinstance: that may ask the exception for its __class__, which is the tool's code.
    if issubclass(type(exc), ToolError):  # one of the tool's own as well: its text stays what the model reads
        return "toolexec.ToolError"
    if issubclass(type(exc), ForeignError):
        return cast("ForeignError", exc).type_name
    return next((name for name, own in OWN.items() if own is type(exc)), class_name(exc))
