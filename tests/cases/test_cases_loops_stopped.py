"""Theme C: event loops whose callers are cancelled, and generators that are stopped halfway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import toolexec as tx
from cases import stopping_tools
from cases.case_steps import ENTRIES, eventually, interrupt_at, let_time_pass, steer, stoppable
from cases.case_tools import ALL, PATIENCE_S, VARIABLE, echo, received, swap_variable
from toolexec.testing import Gate, Journal, ManualClock

every = pytest.mark.parametrize("strategy", ALL)


def asked(*calls: Any, **options: Any) -> tx.Context:
    return received(*calls, tools=[*stopping_tools.TOOLS, echo, swap_variable], **options)


# C3: context variables are lost


@pytest.mark.parametrize("strategy", [name for name in ALL if name in ("fork", "interpreter")])
def test_C3_what_is_named_is_carried_into_an_isolated_worker(strategy: str) -> None:
    """As it is when the call is submitted; siblings and the caller see nothing of what a tool sets."""
    with tx.strategy(strategy, carry=[VARIABLE], window=1) as carries:
        token = VARIABLE.set("first")
        try:
            calls = [("swap_variable", {"value": f"tool {number}"}) for number in range(2)]
            first = asked(*calls).group(carries)
            VARIABLE.set("second")
            second = asked(*calls).group(carries)
            VARIABLE.set("third")
            returns = [*first.wait(PATIENCE_S), *second.wait(PATIENCE_S)]
            assert "third" == VARIABLE.get()
        finally:
            VARIABLE.reset(token)
        unset = asked(*calls).wait(carries, timeout=PATIENCE_S)

    assert ["first", "first", "second", "second"] == [ret.unwrap() for ret in returns]
    assert ["default", "default"] == [ret.unwrap() for ret in unset]


# C7: trio without asyncio

Scoped = Callable[[Callable[[], Awaitable[object]], Callable[[], Awaitable[object]]], Awaitable[bool]]


async def _by_scope(waiting: Callable[[], Awaitable[object]], moment: Callable[[], Awaitable[object]]) -> bool:
    with trio.CancelScope() as scope:

        async def cancel() -> None:
            await moment()
            scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(cancel)
            await waiting()
    return scope.cancelled_caught


async def _by_deadline(waiting: Callable[[], Awaitable[object]], moment: Callable[[], Awaitable[object]]) -> bool:
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:

            async def expire() -> None:
                await moment()
                scope.deadline = trio.current_time()

            nursery.start_soon(expire)
            await waiting()
    return scope.cancelled_caught


async def _by_sibling(waiting: Callable[[], Awaitable[object]], moment: Callable[[], Awaitable[object]]) -> bool:
    async def fail() -> None:
        await moment()
        raise LookupError("a sibling")

    async def wait() -> None:
        await waiting()

    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(wait)
    return [LookupError] == [type(exc) for exc in caught.value.exceptions]


SCOPES: dict[str, Scoped] = {"scope": _by_scope, "deadline": _by_deadline, "sibling": _by_sibling}


@pytest.mark.parametrize("block", [False, True], ids=["await", "async with"])
@pytest.mark.parametrize("scope", SCOPES)
@stoppable
def test_C7_cancelled_reaches_the_scope_and_the_returns_stay_readable(
    strategy: str, body: str, scope: str, block: bool, gate: Gate, journal: Journal
) -> None:
    groups: list[tx.Group] = []

    async def waiting() -> None:
        ctx = asked((body, {"journal": journal.path, "gate": gate.path}))
        groups.append(ctx.group(strategy))
        if block:
            async with groups[0]:
                pass
        else:
            await groups[0]

    assert trio.run(SCOPES[scope], waiting, gate.until_reached)

    (ret,) = groups[0].returns
    assert ret is not None
    assert ("cancelled", False) == (ret.status, ret.abandoned)
    assert 1 == journal.lines().count("-body")
    hook = f"hook {gate.reached[0]}"
    if strategy == "sequential":  # where the hook runs beside the body, and the body may be the first to end
        eventually(lambda: hook in journal.lines())
    assert [hook] == [line for line in journal.lines() if line.startswith("hook")]


# C9: generator tools

HALVES = [
    pytest.param(strategy, tool, id=f"{strategy}-{tool}")
    for strategy in ALL
    for tool in ("parts_until_asked", "aparts_until_asked", "parts_and_stand", "aparts_and_stand")
    if strategy != "sequential" or tool.endswith("until_asked")  # where nothing is raised
]
halves = pytest.mark.parametrize(("strategy", "tool"), HALVES)


@pytest.mark.parametrize("entry", ENTRIES)
@halves
def test_C9_stopped_halfway_a_generator_cleans_up(
    strategy: str, tool: str, entry: str, gate: Gate, journal: Journal
) -> None:
    """Before its Return; what it has yielded so far was reported, and is no value."""
    reports: list[tx.Progress] = []
    ctx = asked()
    call = ctx.functions[tool].bind({"journal": journal.path, "gate": gate.path})
    ret = steer(lambda: ctx.submit(call, strategy=strategy, on_progress=reports.append), interrupt_at(gate), entry)

    assert ("cancelled", False) == (ret.status, ret.abandoned)
    assert {"cancelled": True, "reason": "enough"} == ret.value
    assert 1 == reports[0].data
    assert ["+body", "-body"] == journal.lines()


@halves
def test_C9_nor_does_a_limit_of_time_cut_its_clean_up(strategy: str, tool: str, gate: Gate, journal: Journal) -> None:
    clock = ManualClock()
    ctx = asked((tool, {"journal": journal.path, "gate": gate.path}), clock=clock)
    (ret,) = steer(lambda: ctx.group(strategy, timeout=5), let_time_pass(gate, clock, 5))

    assert ("timeout", False) == (ret.status, ret.abandoned)
    assert ["+body", "-body"] == journal.lines()
