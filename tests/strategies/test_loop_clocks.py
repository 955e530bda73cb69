"""Limits of time for calls in the caller's own loop go by that loop's clock, and leave nothing in it."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.lowlevel
import trio.testing

import toolexec as tx
from both_loops import Loop, each_loop, received

# Seconds of a clock that is moved; no test could afford them really.
LONG_S = 3600.0


def in_mock_trio(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run in trio with a clock that jumps whenever every task waits; it must not take real time."""
    start = time.monotonic()
    result = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert time.monotonic() - start < 10
    return result


# trio, by a MockClock


@pytest.mark.parametrize("strategy", ["trio", "sequential"])
def test_a_tools_limit(strategy: str) -> None:
    @tx.tool(timeout=LONG_S)
    async def sleeps(seconds: float) -> str:
        await trio.sleep(seconds)
        return "done"

    async def main() -> tuple[Any, float]:
        ctx = tx.Context([sleeps])
        ctx.receive([{"name": "sleeps", "arguments": {"seconds": seconds}} for seconds in (LONG_S - 1, LONG_S + 1)])
        returns = await ctx.run(strategy)
        return returns, trio.current_time()

    (inside, outside), _ = in_mock_trio(main)
    assert ("ok", "done") == (inside.status, inside.value)
    assert "timeout" == outside.status
    assert LONG_S - 1 == pytest.approx(inside.duration_s)
    assert f"tool's time limit of {LONG_S:g} s" in outside.value["message"]


def test_the_limit_of_a_group_holds_for_what_waits_as_well() -> None:
    """Each body takes 40 % of it, one after another: two are through, the third is cut, the fourth never begins."""

    @tx.tool
    async def sleeps() -> str:
        await trio.sleep(LONG_S * 0.4)
        return "done"

    async def main() -> tuple[Any, float]:
        group = received(sleeps, count=4).group("trio", window=1, timeout=LONG_S)
        return await group, trio.current_time()

    start = time.monotonic()
    returns, _ = in_mock_trio(main)
    assert ["ok", "ok", "timeout", "timeout"] == [ret.status for ret in returns]
    assert [1, 1, 1, 0] == [ret.attempts for ret in returns]
    assert time.monotonic() - start < 10


def test_an_idle_limit_starts_anew_with_each_report() -> None:
    @tx.tool(idle_timeout=LONG_S)
    async def reports(times: int) -> str:
        for number in range(times):
            await trio.sleep(LONG_S * 0.9)
            tx.progress(number)
        await trio.sleep(LONG_S * 1.1)
        return "never"

    async def main() -> tuple[tx.Return, float]:
        start = trio.current_time()
        ret = await tx.arun(reports, {"times": 5}, "trio")
        return ret, trio.current_time() - start

    ret, took = in_mock_trio(main)
    assert "timeout" == ret.status
    assert LONG_S * 5.5 == pytest.approx(took)


@pytest.mark.parametrize("structured", [True, False])
def test_grace_too(structured: bool) -> None:
    async def main() -> tuple[tx.Return, float]:
        relent = trio.Event()

        @tx.tool
        async def stubborn() -> None:
            while not relent.is_set():
                with contextlib.suppress(trio.Cancelled), trio.CancelScope(shield=True):
                    await relent.wait()

        group = received(stubborn).group(tx.strategy("trio", grace=LONG_S))
        async with group if structured else contextlib.nullcontext():
            await trio.sleep(1)
            start = trio.current_time()
            group.interrupt()
            ret = (await group)[0]
            took = trio.current_time() - start
            relent.set()
        return ret, took

    ret, took = in_mock_trio(main)
    assert ("cancelled", True) == (ret.status, ret.abandoned)
    assert LONG_S == pytest.approx(took)


def test_the_clock_does_not_jump_while_the_engine_decides() -> None:
    """Whose turn it is in a window is decided on another thread; meanwhile every task of the run waits."""

    @tx.tool
    async def sleeps() -> None:
        await trio.sleep(1)

    async def main() -> float:
        with trio.fail_after(LONG_S):
            start = trio.current_time()
            await received(sleeps, count=50).group("trio", window=1)
            return trio.current_time() - start

    assert 50 == pytest.approx(in_mock_trio(main))


def test_remaining_counts_by_the_runs_clock() -> None:
    @tx.tool(timeout=LONG_S)
    async def looks() -> list[float | None]:
        call = tx.current_call()
        assert call is not None
        before = call.remaining
        await trio.sleep(LONG_S / 2)
        return [before, call.remaining]

    assert [LONG_S, LONG_S / 2] == pytest.approx(in_mock_trio(lambda: tx.arun(looks, None, "trio")).value)


def test_waiting_without_owning_has_a_limit_by_that_clock() -> None:
    async def main() -> float:
        @tx.tool
        async def forever() -> None:
            await trio.sleep_forever()

        group = received(forever).group("trio")
        with pytest.raises(tx.WaitTimeout):
            await group.settled(timeout=LONG_S)
        assert group.alive
        group.interrupt()
        await group
        return trio.current_time()

    in_mock_trio(main)


# asyncio, on a loop whose time passes faster


class FastLoop(asyncio.SelectorEventLoop):
    """An hour of its time is over in 0.36 seconds."""

    _PACE = 10_000

    def time(self) -> float:
        return super().time() * self._PACE

    def __init__(self) -> None:
        super().__init__(_Hurried(self._PACE))


class _Hurried(selectors.DefaultSelector):
    def __init__(self, pace: int) -> None:
        super().__init__()
        self._pace = pace

    def select(self, timeout: float | None = None) -> Any:
        return super().select(None if timeout is None else timeout / self._pace)


def in_fast_asyncio(main: Callable[[], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await main()

    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("strategy", ["asyncio", "sequential"])
@pytest.mark.parametrize("whose", ["tool", "group"])
def test_on_asyncio_limits_go_by_the_loops_time(strategy: str, whose: str) -> None:
    @tx.tool(timeout=LONG_S if whose == "tool" else None)
    async def sleeps() -> None:
        await asyncio.sleep(LONG_S * 2)

    async def main() -> tuple[tx.Return, float]:
        start = asyncio.get_running_loop().time()
        group = received(sleeps).group(strategy, timeout=LONG_S if whose == "group" else None)
        ret = (await group)[0]
        return ret, asyncio.get_running_loop().time() - start

    ret, took = in_fast_asyncio(main)
    assert "timeout" == ret.status
    assert f"{whose}'s time limit" in ret.value["message"]
    assert LONG_S <= took


def test_on_asyncio_a_sync_tool_is_held_to_the_loops_time_too() -> None:
    """Its timer is set from its own thread."""

    @tx.tool(timeout=LONG_S)
    def spins() -> None:
        while True:
            time.sleep(0.001)

    async def main() -> tx.Return:
        return (await received(spins).group("asyncio"))[0]

    assert "timeout" == in_fast_asyncio(main).status


def test_another_loops_clock_is_not_the_callers() -> None:
    @tx.tool
    async def looks() -> float | None:
        call = tx.current_call()
        assert call is not None
        return call.remaining

    async def main() -> tx.Return:
        loop = asyncio.get_running_loop()
        mine = tx.strategy("asyncio", loop=loop)
        return await asyncio.to_thread(tx.run, looks, None, mine, timeout=5)

    assert 4 < in_fast_asyncio(main).unwrap() <= 5


# What is left


def living(kind: str) -> list[str]:
    """The tasks and timers of the running loop that are not the caller's."""
    if kind == "asyncio":
        loop: Any = asyncio.get_running_loop()
        timers = [repr(handle) for handle in loop._scheduled if not handle.cancelled()]
        return timers + [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    statistics = trio.lowlevel.current_statistics()
    root = trio.lowlevel.current_root_task()
    assert root is not None
    tasks = [task.name for nursery in root.child_nurseries for task in nursery.child_tasks]
    return [*tasks, f"next deadline in {statistics.seconds_to_next_deadline}"]


@each_loop
def test_a_thousand_limits_that_are_not_reached_leave_nothing(kind: str) -> None:
    loop = Loop(kind)

    @tx.tool(timeout=LONG_S, idle_timeout=LONG_S)
    async def quick() -> None:
        await loop.turn()

    async def main() -> tuple[list[str], list[str], int]:
        before = living(kind)
        group = received(quick, count=1000).group(kind, timeout=LONG_S)
        await loop.turn()
        meanwhile = len(living(kind)) - len(before)
        await group
        for _ in range(5):
            await loop.turn()
        return before, living(kind), meanwhile

    before, after, meanwhile = loop.run(main)
    assert before == after
    assert meanwhile <= 1000 + 5  # the calls' own tasks, and no timer for each


@each_loop
def test_a_limit_outlives_the_loop_it_was_counted_by(kind: str) -> None:
    """A call on a thread, in one Group with one on the loop: the loop ends, and the thread's time is still limited."""
    loop = Loop(kind)
    ended = threading.Event()

    @tx.tool(strategy=kind)
    async def on_the_loop() -> None:
        await loop.forever()

    @tx.tool(strategy="thread", timeout=0.4)
    def on_a_thread() -> None:
        ended.wait(10)
        while True:
            time.sleep(0.001)

    async def main() -> tx.Group:
        group = received(on_the_loop, on_a_thread).group()
        await loop.sleep(0.01)
        return group

    group: tx.Group = loop.run(main)
    ended.set()
    returns = group.wait(10)

    assert ["cancelled", "timeout"] == [ret.status for ret in returns]
