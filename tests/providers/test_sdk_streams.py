"""Responses that stream in through the clients of OpenAI and Anthropic, from a server that checks what it is sent."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

import toolexec as tx
from provider_formats import Call, results
from provider_streams import body, events
from providers.json_server import Streamed
from providers.sdk_streams import ASKED, WAYS, Talk, Way, held
from providers.sdk_tools import SIX, STATUSES, TOOLS, context

EVENTS: dict[str, TypeAdapter[Any]] = {
    "openai": TypeAdapter(ChatCompletionChunk),
    "openai-responses": TypeAdapter(ResponseStreamEvent),
    "anthropic": TypeAdapter(RawMessageStreamEvent),
}
EVERY_END = [Call(name, json.loads(arguments), f"c{n}") for n, (name, arguments) in enumerate(SIX)]
TWO = [Call("add", {"x": 1}, "c8"), Call("add", {"x": 2}, "c9")]

every_way = pytest.mark.parametrize("way", WAYS, ids=str)


def told(way: Way, request: dict[str, Any], calls: int) -> list[str]:
    """What the last results in a request say."""
    messages = request[way.conversation]
    last = messages[-1:] if way.provider == "anthropic" else messages[-calls:]
    return [result.text for result in results(way.provider, last)]


@pytest.mark.parametrize("provider", EVENTS)
def test_the_sdk_knows_the_events_that_are_streamed_here(provider: str) -> None:
    made = events(provider, *EVERY_END)

    for event in made:
        if event != {"type": "ping"}:  # which the SDK leaves out
            EVENTS[provider].validate_python(event)


@every_way
def test_a_whole_loop_with_every_way_to_end(way: Way) -> None:
    def deny(functions: tx.Functions) -> None:
        for function in functions:
            if function.name == "give":
                function.cancel("not wanted")

    answers = [events(way.provider, *EVERY_END), events(way.provider, *TWO), events(way.provider, text="Done.")]
    with way.server(*answers) as server, context(provider=way.provider) as ctx:
        talk = Talk(way, ctx, start=lambda function: function.name != "give", whole=deny)
        statuses = talk.run(server.url)

    assert [] == server.faults
    assert [STATUSES, ["ok", "ok"], []] == statuses
    first, second = told(way, server.bodies[1], 6), told(way, server.bodies[2], 2)
    for words, text in zip(("3", "broken", "x", "not found", "not wanted", "time"), first, strict=True):
        assert words in text
    assert ["2", "3"] == second


@every_way
def test_a_call_runs_before_the_server_has_said_the_end(way: Way) -> None:
    running, seen = threading.Event(), list[bool]()

    @tx.tool(strategy="thread")
    def go() -> str:
        """Run."""
        running.set()
        return "gone"

    made = events(way.provider, Call("go", {}, "c1"), Call("go", {}, "c2"))
    answer = held(way.provider, made, lambda: seen.append(running.wait(20)))
    ctx = tx.Context([go], provider=way.provider)
    with way.server(answer, events(way.provider)) as server:
        statuses = Talk(way, ctx).run(server.url)

    assert ([True], [["ok", "ok"], []]) == (seen, statuses)
    assert ([], ["gone", "gone"]) == (server.faults, told(way, server.bodies[1], 2))


@dataclass
class Stay:
    """A tool that runs until it is interrupted, and knows."""

    running: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def tool(self) -> tx.Function:
        @tx.tool(strategy="thread")
        def stay() -> None:
            """Stay."""
            try:
                self.running.set()
                call = tx.current_call()
                assert call is not None
                call.wait_interrupted(20)
                tx.checkpoint()
            except tx.Interrupt:
                self.stopped.set()
                raise

        return stay


class LeftError(Exception):
    """The reader's own."""


def cut_off(way: Way, talk: Talk, stay: Stay, url: str) -> type[BaseException]:
    """The connection breaks."""
    with pytest.raises(Exception, match=r".") as caught:  # whatever the SDK says
        talk.run(url)
    return caught.type


def leave(way: Way, talk: Talk, stay: Stay, url: str) -> type[BaseException]:
    """The reader fails."""

    def fail(event: Any) -> None:
        if stay.running.is_set():
            raise LeftError

    talk.each = fail
    with pytest.raises(LeftError) as caught:
        talk.run(url)
    talk.each = lambda event: None
    return caught.type


def cancel(way: Way, talk: Talk, stay: Stay, url: str) -> type[BaseException]:
    """The reader is cancelled while it waits for what the server does not say."""

    async def main() -> None:
        reader = asyncio.create_task(talk.arun(url))
        assert await asyncio.to_thread(stay.running.wait, 20)
        reader.cancel()
        await reader

    with pytest.raises(asyncio.CancelledError) as caught:
        asyncio.run(main())
    return caught.type


@pytest.mark.parametrize(
    ("way", "breaking"),
    [(way, how) for way in WAYS for how in (cut_off, leave, cancel) if way.is_async or how is not cancel],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_a_stream_that_breaks_stops_its_calls_and_leaves_nothing_to_send(
    way: Way, breaking: Callable[..., Any]
) -> None:
    stay, over = Stay(), threading.Event()
    ctx = tx.Context([stay.tool()], provider=way.provider)

    def broken() -> Iterator[bytes]:
        made = events(way.provider, Call("stay", {}, "c1"), Call("stay", {}, "c2"))
        begin, end = held(way.provider, made, lambda: None)
        yield begin
        assert stay.running.wait(20)
        if breaking is cancel:
            over.wait(20)
        if breaking is leave:
            yield end

    with way.server(Streamed(broken(), breaks=breaking is not leave), events(way.provider)) as server:
        talk = Talk(way, ctx)
        try:
            kind = breaking(way, talk, stay, server.url)
            returns = ctx.wait()
            turn = ctx.turn()
            after = talk.run(server.url)
        finally:
            over.set()

    if breaking is cut_off:
        assert kind is tx.FormatError or kind.__module__.partition(".")[0] in ("openai", "anthropic", "httpx", "httpx2")
    assert returns
    assert {"cancelled"} == {ret.status for ret in returns}
    assert stay.stopped.is_set()
    assert ([], [[]]) == (turn, after)
    assert ([], [[ASKED]] * 2) == (server.faults, [sent[way.conversation] for sent in server.bodies])


def run_unless_refused(talk: Talk, url: str) -> list[list[str]] | None:
    """The statuses; None where the SDK's helper read it as well and refused it, so that nothing is to be sent."""
    try:
        return talk.run(url)
    except (RuntimeError, ValueError) as exc:
        if not talk.way.helper or isinstance(exc, tx.ToolexecError):
            raise
        assert ([], [ASKED]) == (talk.ctx.turn(), talk.conversation)
        return None


@pytest.mark.parametrize("ids", [["a", "a", "a"], ["a", "", "a"], ["", "", ""], [None, None, None]], ids=str)
@every_way
def test_ids_that_cannot_stand_are_replaced(way: Way, ids: list[Any]) -> None:
    made = events(way.provider, *(Call("add", {"x": n}, call_id) for n, call_id in enumerate(ids)))
    ctx = tx.Context(TOOLS, provider=way.provider)
    with way.server(made, events(way.provider)) as server:
        statuses = run_unless_refused(Talk(way, ctx), server.url)

    assert [] == server.faults
    if statuses is None:
        assert "openai-responses" == way.provider
    else:
        assert [["ok"] * 3, []] == statuses
        assert ["1", "2", "3"] == told(way, server.bodies[1], 3)


@pytest.mark.parametrize("strict", [False, True])
@every_way
def test_arguments_that_are_cut_off_are_told(way: Way, strict: bool) -> None:
    whole = body(way.provider, events(way.provider, *TWO[:1], Call("add", {"x": 77}, "c9"), size=1000))
    cut = whole.replace(rb"{\"x\": 77}", rb"{\"x\": 7")
    assert cut != whole
    ctx = tx.Context(TOOLS, provider=way.provider)
    with way.server(iter([cut]), events(way.provider)) as server:
        statuses = run_unless_refused(Talk(way, ctx, strict=strict), server.url)

    assert [] == server.faults
    if statuses is None:
        assert strict
        assert "anthropic" != way.provider
    else:
        assert [["ok", "bad_arguments"], []] == statuses
        assert "JSON" in told(way, server.bodies[1], 2)[1]


@pytest.mark.parametrize("way", WAYS[:: len(WAYS) // 3], ids=str)
def test_a_call_that_crashes_is_lost_alone(way: Way) -> None:
    @tx.tool(strategy="fork")
    def crash() -> None:
        """End without a word."""
        os._exit(9)

    made = events(way.provider, Call("crash", {}, "c1"), *TWO)
    ctx = tx.Context([*TOOLS, crash], provider=way.provider)
    with way.server(made, events(way.provider)) as server:
        statuses = Talk(way, ctx).run(server.url)

    assert ([], [["lost", "ok", "ok"], []]) == (server.faults, statuses)


@pytest.mark.parametrize("way", WAYS[::2], ids=str)
def test_a_failure_that_the_server_reports_is_the_sdks_or_a_format_error(way: Way) -> None:
    stay = Stay()
    ctx = tx.Context([stay.tool()], provider=way.provider)
    kind = {"type": "error"} if way.provider != "openai" else {}
    failure: dict[str, Any] = {**kind, "error": {"type": "overloaded_error", "message": "overloaded", "code": 529}}
    if way.provider == "openai-responses":
        failure = {**kind, "code": "server_error", "message": "overloaded", "param": None, "sequence_number": 99}

    def answer() -> Iterator[bytes]:
        yield next(held(way.provider, events(way.provider, *[Call("stay", {}, "c1")] * 2), lambda: None))
        assert stay.running.wait(20)
        yield (b"event: error\n" if kind else b"") + b"data: " + json.dumps(failure).encode() + b"\n\n"

    with (
        way.server(answer()) as server,
        pytest.raises((openai.APIError, anthropic.APIError, tx.FormatError), match="overloaded"),
    ):
        Talk(way, ctx).run(server.url)

    assert stay.stopped.is_set()
    assert ({"cancelled"}, []) == ({ret.status for ret in ctx.wait()}, ctx.turn())
