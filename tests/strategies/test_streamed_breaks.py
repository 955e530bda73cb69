"""What becomes of the calls of a response that breaks off, or that nobody reads to its end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop
from streamed_calls import Broken, Feed, requests, stand
from toolexec.testing import Gate


def test_a_choice_that_raises_breaks_the_stream() -> None:
    def choose(function: tx.Function) -> bool:
        raise RuntimeError("cannot choose")

    ctx = tx.Context([stand], strategy="thread")
    with pytest.raises(RuntimeError, match="cannot choose"):
        list(ctx.stream(requests(("stand", {"path": ""})), start=choose))
    assert ["cancelled"] == [ret.status for ret in ctx.wait()]


@pytest.mark.parametrize("strategy", ["thread", "fork"])
def test_a_stream_that_breaks_interrupts_what_it_started(gate: Gate, strategy: str) -> None:
    @tx.tool(start_early=False)
    def late() -> None:
        pass

    @tx.tool
    def quick() -> int:
        return 1

    ctx = tx.Context([stand, late, quick], strategy=strategy)
    feed = Feed()
    made = requests(("quick", {}), ("stand", {"path": gate.path}), ("late", {}))
    feed.put(*made[:-1])
    stream = ctx.stream(feed)
    items = iter(stream)
    for _ in made[:-1]:
        next(items)
    first = stream.functions[0]._task
    assert first is not None
    first.wait()
    gate.wait_until_reached(1)
    feed.put(Broken())
    with pytest.raises(Broken):
        next(items)

    returns = ctx.wait()
    assert ["ok", "cancelled", "cancelled"] == [ret.status for ret in returns]
    assert [False, True, True] == [fn.cancelled for fn in stream.functions]
    assert [None, "the response broke off: Broken", "the response broke off: Broken"] == [r.reason for r in returns]
    assert [] == ctx.turn() == ctx.messages() == ctx.history()
    assert returns == ctx.returns
    with pytest.raises(StopIteration):
        next(items)
    # The conversation goes on.
    ctx.next_turn()
    ctx.receive([{"id": "n", "name": "quick", "arguments": {}}])
    assert [1] == [ret.value for ret in ctx.wait()]
    assert 2 == len(ctx.turn("openai")) == len(ctx.history("openai"))


@each_loop
def test_cancelling_the_reader_stops_the_calls(kind: str) -> None:
    loop = Loop(kind)
    log: list[str] = []
    feed = requests(("forever", {}))[:-1]

    async def main() -> None:
        begun = asyncio.Event() if kind == "asyncio" else trio.Event()

        @tx.tool
        async def forever() -> None:
            begun.set()
            try:
                await loop.sleep(1000)
            except BaseException as exc:
                log.append(type(exc).__name__)
                raise

        async def never_ends() -> AsyncGenerator[Any]:
            for event in feed:
                yield event
            await loop.forever()

        ctx = tx.Context([forever])
        source = never_ends()

        async def read() -> None:
            async with ctx.stream(source) as stream:
                async for _ in stream:
                    pass

        await loop.cancelled_once(begun, read)
        await source.aclose()
        assert ["cancelled"] == [ret.status for ret in ctx.returns]  # the block waited for it
        assert [] == ctx.turn()

    loop.run(main)
    assert [loop.cancelled.__name__] == log


def test_leaving_the_block_early_stops_the_calls_and_waits_for_them(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    with ctx.stream(requests(("stand", {"path": gate.path}))) as stream:
        for _ in stream:
            if stream.functions:
                gate.wait_until_reached(1)
                break

    assert [("cancelled", "the response was left before its end")] == [(r.status, r.reason) for r in ctx.returns]
    assert [] == ctx.turn()


def test_a_stream_that_nobody_holds_any_more_is_broken(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread", history=False)
    made = requests(("stand", {"path": gate.path}))
    for event in ctx.stream(made):
        if event is made[-2]:
            gate.wait_until_reached(1)
            break
    gc.collect()

    assert ["cancelled"] == [ret.status for ret in ctx.wait()]
    assert [] == ctx.turn()
    ctx.receive([])
    assert 1 == len(ctx._responses)


def test_a_block_that_would_stop_a_running_loop_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(tx.WrongLoop, match="'async with'"):
            tx.Context([stand]).stream([]).__enter__()

    asyncio.run(main())


def test_an_exception_in_the_block_stops_what_is_not_in_a_group_yet(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")

    def leave() -> None:
        with ctx.stream(requests(("stand", {"path": gate.path}))) as stream:
            for _ in stream:
                pass
            gate.wait_until_reached(1)
            raise Broken

    with pytest.raises(Broken):
        leave()
    assert ["cancelled"] == [ret.status for ret in ctx.returns]
    assert 2 == len(ctx.turn())  # the response was whole, and its calls are answered


def test_a_block_left_after_its_end_leaves_the_calls_running(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    with ctx.stream(requests(("stand", {"path": gate.path, "name": "a"}))) as stream:
        for _ in stream:
            pass
    gate.open()
    assert ["a"] == [ret.value for ret in ctx.wait()]
