"""Google's own client, sync and async, reads the stream."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

import toolexec as tx
from provider_formats import Call
from provider_streams import body, events
from providers.sdk_tools import add
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
from providers.strict_google import check_request

OVERLOADED = b'data: {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}\n\n'
# Which transport it uses is told by its version; what that raises comes out.
TRANSPORTS = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
CUT = tuple(transport.RemoteProtocolError for transport in TRANSPORTS)
BROKEN = {
    "the connection breaks": Broken(CUT, half, breaks=True),
    "it ends too early": Broken(tx.FormatError),
    "it ends within an event": Broken((errors.UnknownApiResponseError, json.JSONDecodeError), half),
    "the provider fails": Broken((errors.APIError, tx.FormatError), lambda rest: OVERLOADED),
    "the reader leaves": Broken(Left, left=True),
}


@contextlib.contextmanager
def opened(url: str, *, awaits: bool) -> Iterator[SDK]:
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))

    def ask(contents: list[Any], tools: list[dict[str, Any]]) -> Any:
        models = client.aio.models if awaits else client.models
        off = types.AutomaticFunctionCallingConfig(disable=True)
        config = types.GenerateContentConfig(
            tools=[types.Tool.model_validate(tool) for tool in tools], automatic_function_calling=off
        )
        return models.generate_content_stream(model="m", contents=contents, config=config)

    asked = {"role": "user", "parts": [{"text": "go on"}]}
    sdk = SDK("google", ask, lambda event: body("google", [event]), "text/event-stream", asked, "contents")
    with contextlib.ExitStack() as stack:
        stack.callback(client.close)
        if awaits:
            sdk.runner = stack.enter_context(asyncio.Runner())
            stack.callback(lambda: sdk.runner and sdk.runner.run(client.aio.aclose()))
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
    """Its types refuse fields they do not know."""
    for event in events("google", Call("add", {"x": 1}, "c1"), Call("add", {})):
        types.GenerateContentResponse.model_validate(event)


def test_signatures_are_sent_back_where_they_stood(served: Served) -> None:
    with served(lambda sdk: sdk.answer(Call("add", {"x": 1})), lambda sdk: sdk.answer()) as (sdk, server):
        ctx = tx.Context([add])
        sdk.turn(ctx)
        sdk.turn(ctx)

    assert [] == server.faults
    said = types.Content.model_validate(server.bodies[1]["contents"][1]).parts or []
    assert [None, None, b"sig"] == [part.thought_signature for part in said]
    assert [True, None, None] == [part.thought for part in said]
