"""Ollama's own client, sync and async, reads the stream."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import ollama
import pytest

import toolexec as tx
from provider_formats import Call
from provider_streams import body, events
from providers.stream_checks import (
    SDK,
    Broken,
    Left,
    Served,
    check_a_broken_answer,
    check_a_call_runs_while_the_server_still_sends,
    check_a_whole_loop,
    half,
)
from providers.strict_ollama import check_request

BROKEN = {
    "the connection breaks": Broken(httpx.RemoteProtocolError, half, breaks=True),
    "it ends too early": Broken(tx.FormatError),
    "it ends within an event": Broken(json.JSONDecodeError, half),
    "the provider fails": Broken(ollama.ResponseError, lambda rest: b'{"error": "overloaded"}\n'),
    "the reader leaves": Broken(Left, left=True),
}


def frame(event: dict[str, Any]) -> bytes:
    """A line; some of its calls have an id, as newer servers send them, and it is always the same."""
    message = event["message"]
    calls = [
        {**call, "id": "a"} if call["function"]["name"] == "add" else call for call in message.get("tool_calls", [])
    ]
    return body("ollama", [{**event, "message": {**message, "tool_calls": calls}} if calls else event])


@contextlib.contextmanager
def opened(url: str, *, awaits: bool) -> Iterator[SDK]:
    client: Any = (ollama.AsyncClient if awaits else ollama.Client)(host=url)

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> Any:
        return client.chat(model="m", messages=messages, tools=tools, stream=True)

    asked = {"role": "user", "content": "go on"}
    sdk = SDK("ollama", ask, frame, "application/x-ndjson", asked, "messages")
    with contextlib.ExitStack() as stack:
        if awaits:
            runner = sdk.runner = stack.enter_context(asyncio.Runner())
            stack.callback(lambda: runner.run(client.close()))
        else:
            stack.callback(client.close)
        yield sdk


@pytest.fixture(params=[False, True], ids=["for", "async for"])
def served(request: pytest.FixtureRequest) -> Served:
    return Served(lambda url: opened(url, awaits=request.param), check_request)


@pytest.mark.parametrize("check", [check_a_whole_loop, check_a_call_runs_while_the_server_still_sends])
def test_a_conversation(served: Served, check: Callable[[Served], None]) -> None:
    check(served)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer(served: Served, broken: Broken) -> None:
    check_a_broken_answer(served, broken)


def test_the_events_are_the_sdks() -> None:
    """Nothing of them is lost in its types, which pass over fields they do not know."""
    for event in events("ollama", Call("add", {"x": 1}), Call("add", {})):
        parsed = ollama.ChatResponse.model_validate(event)
        assert event == parsed.model_dump(exclude_none=True)
