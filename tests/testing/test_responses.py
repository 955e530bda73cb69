"""Responses and streams that are made up: the provider's own types take them, and both say the same."""

from __future__ import annotations

import json
from typing import Any

import anthropic.types
import google.genai.types
import ollama
import openai.types.chat
import openai.types.responses
import pydantic
import pytest

import toolexec as tx
from toolexec.testing import ScriptedCall, response, stream

PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock", "mcp")
MODELS = tuple(name for name in PROVIDERS if name != "mcp")
every = pytest.mark.parametrize("provider", PROVIDERS)
every_model = pytest.mark.parametrize("provider", MODELS)

CALLS: list[ScriptedCall] = [("add", {"a": 2, "b": [3, "é"]}), ("look", {})]
TEXT = "Let me see, then."

SDK_TYPES: dict[str, Any] = {
    "openai": openai.types.chat.ChatCompletion,
    "openai-responses": openai.types.responses.Response,
    "anthropic": anthropic.types.Message,
    "google": google.genai.types.GenerateContentResponse,
    "ollama": ollama.ChatResponse,
}
SDK_EVENTS: dict[str, Any] = {
    "openai": openai.types.chat.ChatCompletionChunk,
    "openai-responses": openai.types.responses.ResponseStreamEvent,
    "anthropic": anthropic.types.RawMessageStreamEvent,
    "google": google.genai.types.GenerateContentResponse,
    "ollama": ollama.ChatResponse,
}


def received(answer: Any) -> list[tuple[str, Any, str | None]]:
    """Name, arguments and id of its calls, as a Context reads them."""
    functions = tx.Context().receive(answer)
    return [(call.name, parsed(call.arguments), call.id) for call in functions]


def streamed(events: Any) -> list[tuple[str, Any, str | None]]:
    ctx = tx.Context()
    reading = ctx.stream(events, start=False)
    for _ in reading:
        pass
    return [(call.name, parsed(call.arguments), call.id) for call in reading.functions]


def parsed(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


IDS: dict[str, list[str | None]] = {
    "openai": ["call_1", "call_2"],
    "openai-responses": ["call_1", "call_2"],
    "anthropic": ["toolu_1", "toolu_2"],
    "bedrock": ["tooluse_1", "tooluse_2"],
    "google": [None, None],
    "ollama": [None, None],
    "mcp": ["0", "1"],
}


@every
def test_its_calls_are_received_with_ids_where_the_api_gives_them(provider: str) -> None:
    expected = [(name, arguments, own) for (name, arguments, *_), own in zip(CALLS, IDS[provider], strict=True)]

    assert expected == received(response(provider, CALLS, TEXT, thought="hm"))
    assert expected == received(response(provider, CALLS))


@every_model
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_streamed_it_says_the_same(provider: str, size: int) -> None:
    whole, events = (made(provider, CALLS, TEXT, thought="hm") for made in (response, stream))
    assert received(whole) == streamed(events)
    assert received(whole) == streamed(stream(provider, CALLS, TEXT, size=size))
    contexts = [tx.Context(), tx.Context()]
    contexts[0].receive(whole)
    for _ in contexts[1].stream(events, start=False):
        pass
    for ctx in contexts:
        for call in ctx.pending_functions:
            call.cancel("not run")
    turns = [ctx.turn() for ctx in contexts]
    assert turns[0][-1] == turns[1][-1], "the last result"
    assert all(TEXT in json.dumps(turn, ensure_ascii=False) for turn in turns)


@every
def test_an_id_of_ones_own(provider: str) -> None:
    calls: list[ScriptedCall] = [("add", {}, "mine"), ("add", {}, "mine")]

    assert ["mine", "mine"] == [own for _, _, own in received(response(provider, calls))]
    if provider != "mcp":
        assert ["mine", "mine"] == [own for _, _, own in streamed(stream(provider, calls))]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock"])
def test_a_call_that_came_without_an_id(provider: str) -> None:
    calls: list[ScriptedCall] = [("add", {}, None)]

    assert [None] == [own for _, _, own in received(response(provider, calls))]


@every_model
def test_a_text_asks_for_nothing(provider: str) -> None:
    for ctx, made in ((tx.Context(), response(provider, (), TEXT)), (tx.Context(), response(provider, text=TEXT))):
        assert not ctx.receive(made)
        assert TEXT in json.dumps(ctx.history())
    assert [] == streamed(stream(provider, (), TEXT))


@pytest.mark.parametrize("provider", SDK_TYPES)
@pytest.mark.parametrize("calls", [CALLS, []])
def test_the_sdks_types_take_it(provider: str, calls: list[ScriptedCall]) -> None:
    whole = pydantic.TypeAdapter(SDK_TYPES[provider])
    parsed_whole = whole.validate_python(response(provider, calls, TEXT, thought="hm"))
    assert len(calls) == len(tx.Context().receive(parsed_whole))

    event = pydantic.TypeAdapter(SDK_EVENTS[provider])
    events = [one for one in stream(provider, calls, TEXT, thought="hm") if one.get("type") != "ping"]  # the SDK's own
    parsed_events = [event.validate_python(one) for one in events]
    assert len(calls) == len(streamed(parsed_events))


@every_model
def test_events_are_of_the_size_that_was_asked_for(provider: str) -> None:
    few, many = (len(stream(provider, CALLS, TEXT, size=size)) for size in (1000, 1))

    assert many >= few + len(TEXT) - 1


@every
def test_each_is_a_new_one(provider: str) -> None:
    first = response(provider, CALLS, TEXT)
    text = json.dumps(first)
    first.clear()

    assert text == json.dumps(response(provider, CALLS, TEXT)), "and plain data"


def test_mcp_has_no_streams() -> None:
    assert response("mcp", CALLS) == stream("mcp", CALLS)


@pytest.mark.parametrize("made", [response, stream])
@pytest.mark.parametrize("call", ["add", ("add",), ("add", "{}"), (1, {}), ("add", {}, 1), ("add", {}, "id", 1)])
def test_what_is_no_call(made: Any, call: Any) -> None:
    with pytest.raises(TypeError, match=r'a call is \("name", \{arguments\}\) or .*, and not '):
        made("openai", [call])


@pytest.mark.parametrize("made", [response, stream])
def test_a_provider_that_is_not_known(made: Any) -> None:
    with pytest.raises(tx.FormatError, match="format of 'opnai'; they can of: openai, openai-responses, "):
        made("opnai")
