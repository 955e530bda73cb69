"""Theme C: event loops, threads and context."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

import toolexec as tx
from cases.case_tools import (
    ALL,
    AWAITABLES,
    CONCURRENT,
    IN_PROCESS,
    ISOLATED,
    PATIENCE_S,
    VARIABLE,
    Held,
    consume_and_hold,
    received,
)
from toolexec.testing import Rendezvous

every = pytest.mark.parametrize("strategy", ALL)
in_process = pytest.mark.parametrize("strategy", IN_PROCESS)
entries = pytest.mark.parametrize("entry", ["asyncio", "trio"])


def run_in(entry: str, main: Callable[[], Any]) -> Any:
    return asyncio.run(main()) if entry == "asyncio" else trio.run(main)


async def nap(entry: str, seconds: float) -> None:
    if entry == "asyncio":
        await asyncio.sleep(seconds)
    else:
        await trio.sleep(seconds)


@entries
@in_process
def test_C1_a_sync_tool_never_blocks_the_loop(strategy: str, entry: str) -> None:
    """Each body ends only when the loop, going on beside it, lets it: blocked, it would never."""
    began, gate = threading.Event(), threading.Event()

    @tx.tool
    def block() -> bool:
        began.set()
        return gate.wait(PATIENCE_S)

    async def main() -> list[Any]:
        group = received(*[("block", {})] * 2, tools=[block]).group(strategy)
        beats = 0
        returns: list[Any] = []

        async def wait() -> None:
            returns.extend(await group)

        async def beat() -> None:
            nonlocal beats
            while beats < 5 or not began.is_set():
                await nap(entry, 0.005)
                beats += 1
            gate.set()

        if entry == "asyncio":
            await asyncio.gather(wait(), beat())
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                nursery.start_soon(beat)
        return [ret.value for ret in returns]

    assert [True, True] == run_in(entry, main)


@every
@pytest.mark.parametrize("tool", [fn.name for fn in AWAITABLES])
def test_C2_what_is_awaitable_is_awaited_and_its_body_runs_once(strategy: str, tool: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    arguments = {"path": str(path)} if tool == "partial" else {"path": str(path), "n": 4}
    ret = received((tool, arguments)).wait(strategy, timeout=PATIENCE_S)[0]
    gc.collect()  # a coroutine that was dropped would warn now

    assert ("ok", 8) == (ret.status, ret.value)
    assert "ran\n" == path.read_text()


@entries
@in_process
@pytest.mark.parametrize("tool", [fn.name for fn in AWAITABLES])
def test_C2_in_a_running_loop_as_well(strategy: str, tool: str, entry: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    arguments = {"path": str(path)} if tool == "partial" else {"path": str(path), "n": 4}

    async def main() -> Any:
        return await received((tool, arguments)).run(strategy)

    assert 8 == run_in(entry, main)[0].value
    gc.collect()
    assert "ran\n" == path.read_text()


@in_process
@pytest.mark.parametrize("tool", ["swap_variable", "aswap_variable"])
def test_C3_a_tool_sees_the_submitters_variables_and_keeps_its_own(strategy: str, tool: str) -> None:
    token = VARIABLE.set("submitter's")
    try:
        ctx = received(*((tool, {"value": f"tool {number}"}) for number in range(3)))
        group = ctx.group(strategy)
        VARIABLE.set("too late")
        returns = group.wait(PATIENCE_S)
        assert "too late" == VARIABLE.get()
    finally:
        VARIABLE.reset(token)

    assert ["submitter's"] * 3 == [ret.value for ret in returns]


@entries
@in_process
@pytest.mark.parametrize("tool", ["swap_variable", "aswap_variable"])
def test_C3_in_a_running_loop_as_well(strategy: str, tool: str, entry: str) -> None:
    async def main() -> tuple[list[Any], str]:
        VARIABLE.set("submitter's")
        returns = await received(*((tool, {"value": f"tool {number}"}) for number in range(3))).run(strategy)
        return [ret.value for ret in returns], VARIABLE.get()

    assert (["submitter's"] * 3, "submitter's") == run_in(entry, main)
    assert "default" == VARIABLE.get()


@pytest.mark.parametrize("strategy", ISOLATED)
def test_C3_nothing_is_carried_into_an_isolated_worker_unasked(strategy: str) -> None:
    token = VARIABLE.set("submitter's")
    try:
        ret = received(("swap_variable", {"value": "tool's"})).wait(strategy, timeout=PATIENCE_S)[0]
        assert "submitter's" == VARIABLE.get()
    finally:
        VARIABLE.reset(token)
    assert "default" == ret.value


@entries
@every
def test_C5_a_blocking_wait_inside_a_loop_is_one_clear_error(strategy: str, entry: str) -> None:
    async def main() -> list[Any]:
        ctx = received(("aecho", {"value": 1}), ("echo", {"value": 2}))
        with pytest.raises(tx.WrongLoop, match=f"running {entry} loop.*await"):
            ctx.wait(strategy)
        assert 2 == len(ctx.pending_functions)
        group = ctx.group(strategy)
        if group.alive:
            with pytest.raises(tx.WrongLoop, match=f"running {entry} loop.*await group"):
                group.wait()
        with pytest.raises(tx.WrongLoop, match=r"await toolexec\.arun"):
            tx.run(ctx.functions["echo"], {"value": 3}, strategy)
        return [ret.value for ret in await group]

    assert [1, 2] == run_in(entry, main)


@every
def test_C7_the_whole_engine_inside_trio(strategy: str) -> None:
    async def main() -> tuple[Any, ...]:
        ctx = received(("aecho", {"value": 1}), ("echo", {"value": 2}), ("fail", {}), ("gone", {}))
        returns = await ctx.run(strategy)
        one = await tx.arun(ctx.functions["aecho"], {"value": 5}, strategy)
        ctx.receive([{"name": "aecho", "arguments": {"value": 6}}])
        finished = [ret.value async for ret in ctx.group(strategy)]
        async with received(("aecho", {"value": 7}), ("echo", {"value": 8})).group(strategy) as group:
            pass
        return [ret.status for ret in returns], one.value, finished, [ret and ret.value for ret in group.returns]

    assert (["ok", "ok", "raised", "unknown_tool"], 5, [6], [7, 8]) == trio.run(main)


@every
@pytest.mark.parametrize("tool", ["parts", "aparts"])
def test_C9_a_generator_tool_gives_the_list_of_its_parts_and_reports_each(
    strategy: str, tool: str, tmp_path: Path
) -> None:
    path, reports = tmp_path / "log", list[tx.Progress]()
    arguments = {"path": str(path)}
    call = received().functions[tool].bind(arguments)
    ret = call.task(strategy, on_progress=reports.append).wait(PATIENCE_S)

    assert ("ok", [1, 2]) == (ret.status, ret.value)
    assert [(1, 1), (2, 2)] == [(report.done, report.data) for report in reports]
    assert "finally\n" == path.read_text()


@every
def test_C9_a_generator_that_raises_half_way_has_raised_and_cleaned_up(strategy: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    ret = received(("broken_parts", {"path": str(path)})).wait(strategy, timeout=PATIENCE_S)[0]

    assert ("raised", "after one part") == (ret.status, ret.value["message"])
    assert "finally\n" == path.read_text()


@entries
@in_process
def test_C9_the_body_of_a_sync_generator_never_runs_on_the_loop(strategy: str, entry: str) -> None:
    @tx.tool
    def where() -> Any:
        yield threading.get_ident()

    async def main() -> tuple[int, Any]:
        return threading.get_ident(), (await received(("where", {}), tools=[where]).run(strategy))[0].value

    here, (there,) = run_in(entry, main)
    assert here != there


class Tally(tx.Tool):
    name = "case-tally"

    def __init__(self) -> None:
        self.count = 0

    def call(self) -> int:
        before = self.count
        time.sleep(0)
        self.count = before + 1
        return self.count


@pytest.mark.parametrize("strategy", CONCURRENT)
def test_C11_parallel_calls_of_a_class_share_no_instance(strategy: str) -> None:
    calls = 200 if strategy in IN_PROCESS else 10
    returns = received(*[("case-tally", {})] * calls, tools=[Tally]).wait(strategy, timeout=PATIENCE_S)

    assert [1] * calls == [ret.unwrap() for ret in returns]


@pytest.mark.parametrize("option", [{"max_in_flight": 1}, {"resource": "case-db"}])
@pytest.mark.parametrize("strategy", ["thread", "asyncio", "trio"])
def test_C11_a_tool_marked_not_parallel_never_overlaps_itself_while_others_do(
    strategy: str, option: dict[str, Any]
) -> None:
    inside, most, met = 0, 0, threading.Barrier(3)

    @tx.tool(**option)
    def alone(meet: bool = False) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if meet:
            met.wait(PATIENCE_S)
        time.sleep(0.001)
        inside -= 1

    @tx.tool
    def together() -> None:
        met.wait(PATIENCE_S)

    calls: list[tuple[str, Any]] = [("alone", {"meet": True}), *[("alone", {})] * 10, *[("together", {})] * 2]
    first, second = (received(*calls, tools=[alone, together]) for _ in range(2))
    groups = [first.group(strategy)]
    met_all = groups[0].wait(PATIENCE_S)
    groups.append(second.group(strategy))  # the same limit, in another Group

    assert {"ok"} == {ret.status for ret in (*met_all, *groups[1].wait(PATIENCE_S))}
    assert 1 == most


def most_at_once(spans: list[tuple[float, float]]) -> int:
    steps = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    inside = most = 0
    for _, step in steps:
        inside += step
        most = max(most, inside)
    return most


@pytest.mark.parametrize("strategy", CONCURRENT)
def test_C12_a_window_bounds_what_is_in_flight(strategy: str, tmp_path: Path) -> None:
    """The first four meet: that they overlap is no matter of how fast others start."""
    calls = 60 if strategy in IN_PROCESS else 24
    with Rendezvous(tmp_path / "meeting", 4) as meeting:
        first = [("span", {"meeting": meeting.path})] * 4
        ctx = received(*first, *[("span", {})] * (calls - 4))
        returns = ctx.wait(strategy, window=4, timeout=PATIENCE_S)
    spans = [ret.unwrap() for ret in returns]

    assert 4 == most_at_once(spans)
    assert [f"c{number}" for number in range(1, calls + 1)] == [ret.id for ret in returns]


@every
@pytest.mark.parametrize("window", [0, -1])
def test_C12_a_window_of_nothing_is_refused_at_once(strategy: str, window: int) -> None:
    ctx = received(("echo", {}))
    with pytest.raises(ValueError, match="1 or more"):
        ctx.group(strategy, window=window)
    with pytest.raises(ValueError, match="1 or more"):
        tx.strategy(strategy, window=window)
    assert ctx.pending_functions


@every
def test_C13_the_callers_record_is_not_changed_by_a_tool(strategy: str) -> None:
    arguments = {"options": {"k": 1, "deep": {"x": [1]}}}
    call = {"id": "c", "name": "consume", "arguments": arguments}
    ctx = received(call)
    ret = ctx.wait(strategy, timeout=PATIENCE_S)[0]

    assert ["k", "deep"] == ret.value
    assert {"id": "c", "name": "consume", "arguments": {"options": {"k": 1, "deep": {"x": [1]}}}} == call
    sent = ctx.turn()[0]["tool_calls"][0]["function"]["arguments"]
    assert '{"options": {"k": 1, "deep": {"x": [1]}}}' == sent


@every
def test_C13_an_injected_object_that_holds_a_lock_is_never_copied(strategy: str) -> None:
    held = Held()
    ctx = tx.Context([consume_and_hold], deps={Held: held})
    call = {"id": "c", "name": "consume_and_hold", "arguments": {"options": {"k": {"x": 1}}}}
    ctx.receive([call])
    (ret,) = ctx.wait(strategy, timeout=PATIENCE_S)

    assert {"id": "c", "name": "consume_and_hold", "arguments": {"options": {"k": {"x": 1}}}} == call
    assert '{"options": {"k": {"x": 1}}}' == ctx.turn()[0]["tool_calls"][0]["function"]["arguments"]
    if strategy in IN_PROCESS:
        assert id(held) == ret.value
        assert {"k": {}} == held.taken
    else:
        assert "unsendable" == ret.status
        message = ret.value["message"]
        assert "the dependency 'held', of type cases.case_tools.Held, of tool 'consume_and_hold'" in message
        assert "toolexec.factory(make), which makes it in the worker" in message
