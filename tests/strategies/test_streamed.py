"""Calls that start while the response that asks for them still streams in."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop
from provider_formats import Call
from provider_streams import STREAMS, events
from streamed_calls import LONG_S, Feed, flowing, requests, stand
from toolexec.testing import Gate


@pytest.mark.parametrize("strategy", ["thread", "fork", "asyncio", "trio"])
def test_two_calls_run_before_their_stream_has_ended(gate: Gate, strategy: str) -> None:
    ctx = tx.Context([stand], strategy=strategy)
    made = requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    for event in ctx.stream(made):
        if event is made[-1]:  # the last event is here, and nobody has been told yet that it is the last
            gate.wait_until_reached(2)  # both stand in their bodies, at once
            gate.open()

    group = ctx.group()
    assert ["a", "b"] == [ret.value for ret in group.wait()]
    assert not ctx.group().tasks
    assert 2 == len(ctx.messages())


@pytest.mark.parametrize("provider", STREAMS)
def test_a_call_starts_before_its_stream_has_ended_with_every_provider(provider: str, gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    arguments = {"path": gate.path, "name": "a"}
    made = events(provider, Call("stand", arguments, "c1"), Call("stand", {**arguments, "name": "b"}, "c2"))
    end = len(made) - (2 if provider in ("openai", "anthropic", "bedrock") else 1)
    feed = Feed()
    feed.put(*made[:end])
    stream = ctx.stream(feed)
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()

    # OpenAI's last call is whole once the choice is, and no sooner.
    gate.wait_until_reached(1 if provider == "openai" else 2)
    with pytest.raises(tx.ToolexecError, match="still goes on"):
        ctx.turn()
    feed.put(*made[end:], None)
    gate.wait_until_reached(2)
    gate.open()
    reader.join(LONG_S)
    assert ["a", "b"] == [ret.value for ret in ctx.wait()]


@each_loop
def test_async_calls_overlap_their_stream_and_each_other(kind: str) -> None:
    loop = Loop(kind)
    begun: list[int] = []

    async def main() -> tuple[tx.Return, ...]:
        both = asyncio.Event() if kind == "asyncio" else trio.Event()

        @tx.tool
        async def meet(n: int) -> int:
            begun.append(n)
            if len(begun) == 2:
                both.set()
            await both.wait()
            return n

        ctx = tx.Context([meet])
        made = requests(("meet", {"n": 1}), ("meet", {"n": 2}))
        stream = ctx.stream(flowing(made, loop.turn))
        async for event in stream:
            if event is made[-1]:
                await both.wait()  # no stream would come to its end here, did the calls not run
        returns: tuple[tx.Return, ...] = await ctx.group()
        return returns

    assert [1, 2] == [ret.value for ret in loop.run(main)]


def test_calls_are_in_call_order_whatever_settles_first(gate: Gate) -> None:
    @tx.tool
    def quick(n: int) -> int:
        return n

    @tx.tool(start_early=False)
    def late(n: int) -> int:
        return n

    ctx = tx.Context([stand, quick, late], strategy="thread")
    made = requests(("late", {"n": 0}), ("stand", {"path": gate.path, "name": "a"}), ("quick", {"n": 1}), ("nope", {}))
    stream = ctx.stream(made)
    for _ in stream:
        pass
    assert [True, False, False, False] == [fn.pending for fn in stream.functions]
    with ctx.group() as group:
        gate.wait_until_reached(1)
        gate.open()

    assert [0, "a", 1, "unknown_tool"] == [ret.value if ret.ok else ret.status for ret in group.wait()]
    assert ctx.returns == group.returns


def test_start_may_be_false_or_a_choice() -> None:
    @tx.tool
    def note(n: int) -> int:
        return n

    made = requests(("note", {"n": 0}), ("note", {"n": 1}))
    ctx = tx.Context([note], strategy="thread")
    stream = ctx.stream(made, start=False)
    for _ in stream:
        pass
    assert [True, True] == [fn.pending for fn in stream.functions]
    assert list(stream.functions) == list(ctx.pending_functions)
    assert [0, 1] == [ret.value for ret in ctx.wait()]

    stream = ctx.stream(made, start=lambda fn: fn.arguments == {"n": 1})
    for _ in stream:
        pass
    assert [True, False] == [fn.pending for fn in stream.functions]
    assert [0, 1] == [ret.value for ret in ctx.wait()]


def test_what_is_no_choice_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="start is 'no': it takes True, False, or a function"):
        tx.Context([stand]).stream([], start="no")  # type: ignore[arg-type]  # what is tested


# What is no stream


class Manager:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"stream": []}, "give its 'stream'"),
        ({"choices": []}, "receive"),
        (Manager(), "enter it first"),
        (3, "receive"),
    ],
)
def test_what_is_no_stream_is_refused_at_once(source: Any, said: str) -> None:
    with pytest.raises(tx.FormatError, match=said):
        tx.Context([stand]).stream(source)


def test_a_coroutine_has_to_be_awaited_first() -> None:
    made = coroutine()
    with pytest.raises(tx.FormatError, match="await it first"):
        tx.Context([stand]).stream(made)
    made.close()


def test_sync_and_async_are_told_apart() -> None:
    ctx = tx.Context([stand])
    with pytest.raises(TypeError, match="use 'async for'"):
        iter(ctx.stream(flowing([])))
    with pytest.raises(TypeError, match="use 'for'"):
        aiter(ctx.stream([]))
    assert () == ctx.wait()


def test_a_provider_without_streams_says_so() -> None:
    class Own(tx.OpenAI):
        name = "own"

        def assembler(self) -> Any:
            return tx.Provider.assembler(self)

    with pytest.raises(tx.FormatError, match="streams of own cannot be read"):
        tx.Context([stand]).stream([], provider=Own())
    with pytest.raises(tx.FormatError, match="no provider named"):
        tx.Context([stand]).stream([], provider="opanai")


def test_start_early_is_an_option_of_every_form() -> None:
    @tx.tool(start_early=False)
    def one() -> None: ...

    class Two(tx.Tool):
        name = "two"
        start_early = False

        def call(self) -> None: ...

    three = tx.Function("three", start_early=False)
    assert not any(made._definition.start_early for made in (one, tx.Context([Two]).functions["two"], three))
    with pytest.raises(tx.DeclarationError, match="start_early is 1; it takes True or False"):
        tx.Function("four", start_early=1)


def test_models_are_named_with_the_calls() -> None:
    ctx = tx.Context([stand], strategy="sequential")
    stream = ctx.stream(events("anthropic", Call("nope", {}, "c1")))
    for _ in stream:
        pass
    assert ["m"] == [fn.model for fn in stream.functions]
    assert (
        "m"
        == ctx.receive(
            json.dumps(
                {
                    "model": "m",
                    "choices": [
                        {
                            "message": {
                                "role": "assistant",
                                "tool_calls": [{"id": "c1", "function": {"name": "nope", "arguments": "{}"}}],
                            }
                        }
                    ],
                }
            )
        )[0].model
    )
