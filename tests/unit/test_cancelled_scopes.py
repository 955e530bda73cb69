"""A scope of trio's or anyio's that is cancelled raises at every await: what waits for grace in it is not cut short."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel  # at first use it would be a tool, within its grace, that waits for it
import pytest

import toolexec as tx
from toolexec.testing import Gate, Journal, assert_no_leftovers

LOOPS = ("asyncio", "trio")
STRATEGIES = ("thread", "own loop", "fork")


def _works_until_interrupted(gate: str, journal: str) -> None:
    try:
        Gate(gate).pass_through()
    finally:
        Journal(journal).write("cleaned up")


async def _works_in_the_loop(gate: str, journal: str) -> None:
    try:
        await Gate(gate).apass_through()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()  # a clean-up that takes a while
        Journal(journal).write("cleaned up")


@pytest.fixture(params=STRATEGIES)
def tool(request: pytest.FixtureRequest) -> Any:
    name = "works"
    if request.param == "own loop":
        return tx.tool(name=name)(_works_in_the_loop)
    return tx.tool(name=name, strategy=request.param)(_works_until_interrupted)


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda main: anyio.run(main, backend=request.param)


def test_a_group_is_left_when_its_calls_have_cleaned_up(tool: Any, run: Callable[..., Any], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")

    async def main() -> tuple[tx.Return | None, ...]:
        ctx = tx.Context([tool])
        ctx.receive([{"name": "works", "arguments": {"gate": gate.path, "journal": journal.path}}])
        with anyio.CancelScope() as scope:
            async with ctx.group() as group:
                await gate.until_reached()
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        return group.returns

    with Gate(tmp_path / "gate") as gate:
        (ret,) = run(main)

    assert ret is not None
    assert (ret.status, ret.abandoned) == ("cancelled", False)
    assert journal.lines() == ["cleaned up"]


def test_a_strategy_is_closed_when_its_calls_have_cleaned_up(run: Callable[..., Any], tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    works = tx.tool(name="works")(_works_until_interrupted)

    async def main() -> tx.Task:
        with anyio.CancelScope() as scope:
            async with tx.strategy("fork") as strategy:
                arguments = {"gate": gate.path, "journal": journal.path}
                task = tx.Context([works], strategy=strategy).submit({"name": "works", "arguments": arguments})
                await gate.until_reached()
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        return task

    with Gate(tmp_path / "gate") as gate, assert_no_leftovers():
        task = run(main)

    ret = task.wait(0)
    assert (ret.status, ret.reason, ret.abandoned) == ("cancelled", "its strategy was closed", False)
    assert journal.lines() == ["cleaned up"]
