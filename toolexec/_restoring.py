"""Restoring: a conversation from the text that it was dumped as."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from toolexec._arguments import excerpt, kind_of
from toolexec._calls import CallRecord
from toolexec._dumped import FORMAT, OWN, VERSION, Dumped, DumpedCall, DumpedResponse, DumpedReturn, DumpedTurn
from toolexec._dumping import is_open, listed
from toolexec._errors import ForeignError, FormatError, ToolexecError
from toolexec._formats import named
from toolexec._json import is_array, is_object
from toolexec._packing import unpack
from toolexec._provider import Provider, Reply
from toolexec._received import Received
from toolexec._return import Return

if TYPE_CHECKING:
    from toolexec._function import Function

Bind: TypeAlias = Callable[[CallRecord, "Provider | None"], "Function"]

_EXPECTED = f"what Context.dump() gave, version {VERSION}, is expected"


def load(
    text: str | bytes | bytearray, bind: Bind, own: Provider | None
) -> tuple[list[Received], list[Function], DumpedTurn]:
    """What was dumped: responses, calls of none that were put off, and what holds for the turn.

    Args:
        text: The dump.
        bind: Makes a call of a tool.
        own: The Context's provider, which need not be installed.

    Raises:
        FormatError: It is no dump, one of another version, or of a provider that is not there.
        ToolexecError: The tool of an open call is not there.
    """
    dumped = _read(text)
    try:
        responses = [_response(response, bind, own) for response in dumped.responses]
        submitted = [_call(call, bind, None) for call in dumped.submitted]
    except ToolexecError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError) as exc:
        raise FormatError(f"{_EXPECTED}; this one is damaged: {type(exc).__name__}: {exc}") from None
    lacking = [
        function
        for calls, functions in [
            *((response.calls, made.functions) for response, made in zip(dumped.responses, responses, strict=True)),
            (dumped.submitted, submitted),
        ]
        for call, function in zip(calls, functions, strict=True)
        if call.known and function._definition.source is None and is_open(function)
    ]
    if lacking:
        raise ToolexecError(
            f"calls are still to be answered whose tools are not among tools=: {listed(lacking)}; restore with these"
        )
    return responses, submitted, dumped.turn


def _read(text: object) -> Dumped:
    if not isinstance(text, str | bytes | bytearray):
        raise FormatError(f"{_EXPECTED}, as text; this is a {type(text).__name__}")
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise FormatError(f"{_EXPECTED}; this is no JSON ({exc}): {excerpt(repr(text))}") from None
    if not is_object(found) or found.get("format") != FORMAT:
        raise FormatError(f"{_EXPECTED}; this is {kind_of(found)}: {excerpt(repr(text))}")
    if found.get("version") != VERSION:
        version = excerpt(repr(found.get("version")))
        raise FormatError(f"{_EXPECTED}; this is version {version}, of another release of toolexec")
    adapter, mistake = _checked()
    try:
        dumped: Dumped = adapter.validate_python(found)
    except mistake as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        raise FormatError(
            f"{_EXPECTED}; this one is damaged at {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None
    return dumped


@functools.cache
def _checked() -> tuple[Any, Any]:
    from pydantic import TypeAdapter, ValidationError  # on first use: importing toolexec stays light

    return TypeAdapter(Dumped), ValidationError


def _response(dumped: DumpedResponse, bind: Bind, own: Provider | None) -> Received:
    provider = None if dumped.provider is None else _provider(dumped.provider, own)
    records = [CallRecord(id_, name, unpack(arguments)) for id_, name, arguments in dumped.records]
    if dumped.state == "whole" and len(dumped.calls) != len(records):
        raise ValueError(f"a response has {len(records)} calls, and {len(dumped.calls)} are told of")
    if any(len(ids) != len(records) for ids in dumped.ids.values()):
        raise ValueError(f"a response has {len(records)} calls, and another number of ids")
    reply = Reply(records, dumped.text, unpack(dumped.native), dumped.model)
    response = Received(reply, provider, [_call(call, bind, provider) for call in dumped.calls], dumped.state)
    response.turn = dumped.turn
    response._ids.update(dumped.ids)
    for place, call in enumerate(dumped.calls):
        if call.answer is not None and call.answer.text is not None:
            response.texts[place] = call.answer.text
    return response


def _provider(name: str, own: Provider | None) -> Provider:
    if own is not None and own.name == name:
        return own
    try:
        return named(name)
    except FormatError as exc:
        raise FormatError(f"there is a response of {name!r} in the dump: {exc} Or give it as provider=.") from None


def _call(dumped: DumpedCall, bind: Bind, provider: Provider | None) -> Function:
    function = bind(CallRecord(dumped.id, dumped.name, unpack(dumped.arguments)), provider)
    function.model = dumped.model
    function._called, function._cancelled, function._claimed = dumped.called, dumped.cancelled, dumped.claimed
    function._admitted = dumped.admitted
    if dumped.answer is not None:
        function._return = _return(dumped, dumped.answer)
    return function


def _return(call: DumpedCall, dumped: DumpedReturn) -> Return:
    value = unpack(dumped.value)
    return Return(
        id=call.id,
        name=call.name,
        value=value,
        status=dumped.status,
        exception=None if dumped.exception is None else _exception(*dumped.exception, value),
        reason=dumped.reason,
        abandoned=dumped.abandoned,
        strategy=dumped.strategy,
        queued_s=dumped.queued_s,
        duration_s=dumped.duration_s,
        attempts=dumped.attempts,
        output=dumped.output,
    )


def _exception(name: str, text: str, value: object) -> BaseException:
    if name in OWN:
        return OWN[name](text)
    lines = value.get("backtrace") if is_object(value) else None
    return ForeignError(name, text, "\n".join(map(str, lines)) if is_array(lines) else "")
