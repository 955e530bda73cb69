"""Closing a strategy: what runs is stopped, what starts at that moment too, and nothing is left."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import toolexec as tx

STRATEGIES = ["sequential", "thread", "asyncio", "trio"]
every = pytest.mark.parametrize("strategy", STRATEGIES)


@tx.tool
def spin() -> None:
    for _ in range(3000):
        time.sleep(0.005)


@tx.tool
def quick() -> int:
    return 1


@tx.tool
async def aquick() -> int:
    return 1


def context(*tools: Any) -> tx.Context:
    ctx = tx.Context(tools)
    ctx.receive([{"id": name, "name": name} for name in ctx.functions])
    return ctx


@every
def test_closing_stops_what_runs_and_what_waits(strategy: str) -> None:
    mine = tx.strategy(strategy, window=1)
    group = context(spin, aquick).group(mine)
    mine.close()

    reason = "its strategy was closed"
    assert [("cancelled", reason)] * 2 == [(ret.status, ret.reason) for ret in group.wait(timeout=5)]
    assert not mine._owners()
    assert mine.closed


@every
def test_a_call_claimed_while_the_strategy_is_closed_is_stopped_and_nothing_is_left(strategy: str) -> None:
    """1. the Group chooses the strategy, 2. somebody closes it, 3. the Group asks it for a place."""
    mine = tx.strategy(strategy)
    before = set(threading.enumerate())
    place = mine.bind

    def bind() -> Any:
        mine.close()
        return place()

    mine.bind = bind  # type: ignore[method-assign]  # the moment between 1 and 3 cannot be hit otherwise
    group = context(quick, aquick).group(mine)

    assert ["cancelled", "cancelled"] == [ret.status for ret in group.wait(timeout=5)]
    assert not mine._owners()
    for thread in set(threading.enumerate()) - before:
        if thread.name in ("toolexec-asyncio", "toolexec-trio"):
            thread.join(5)
            assert not thread.is_alive()


@every
def test_closing_twice_and_from_several_threads_at_once(strategy: str) -> None:
    mine = tx.strategy(strategy)
    group = context(quick, aquick).group(mine)
    if strategy != "sequential":
        group.wait(timeout=5)
    closers = [threading.Thread(target=mine.close) for _ in range(4)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(10)

    mine.close()
    assert not any(closer.is_alive() for closer in closers)
    assert not group.alive


@every
def test_aclose_stops_the_calls_without_blocking_the_loop(strategy: str) -> None:
    async def main() -> tuple[list[str], int]:
        mine = tx.strategy(strategy)
        group = context(spin, aquick).group(mine)
        closing = asyncio.ensure_future(mine.aclose())
        beats = 0
        while not closing.done():
            await asyncio.sleep(0)
            beats += 1
        return [ret.status for ret in await group], beats

    statuses, beats = asyncio.run(main())
    assert "cancelled" == statuses[0]
    assert beats > 1


def test_a_ctrl_c_in_a_constructor_leaves_nothing_on_the_loop() -> None:
    class Pressed(tx.Tool):
        name = "closing-pressed"

        def __init__(self) -> None:
            raise KeyboardInterrupt

        def call(self) -> None: ...

    async def main() -> int:
        ctx = context(Pressed)
        with pytest.raises(KeyboardInterrupt):
            ctx.group("asyncio")
        assert ctx.pending_functions
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert 1 == asyncio.run(main())


def test_the_shared_strategies_are_made_anew_after_they_were_closed() -> None:
    from toolexec import _discovery, _lifecycle

    first = _discovery.shared("thread")
    _lifecycle.close_shared()

    assert first.closed
    assert 1 == tx.run(quick, None, "thread").unwrap()
    assert first is not _discovery.shared("thread")
