"""What the page on stopping a tool says is so: its examples run, and each row of its table is what happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rungs
import toolexec as tx
from documents import examples_in, run_example, table_after
from toolexec.testing import Gate, Journal

PAGE = (Path(__file__).parents[2] / "docs" / "stopping-a-tool.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)
ROWS = {row["strategy"].strip("`"): row for row in table_after(PAGE, "<!-- table: rungs -->")}

GRACE_S = 0.8


@pytest.mark.parametrize("number", range(4))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 4 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


def test_every_strategy_has_a_row() -> None:
    assert {"sequential", "thread", "asyncio", "trio", "fork", "interpreter"} == set(ROWS)


@pytest.fixture(params=sorted(ROWS))
def strategy(request: pytest.FixtureRequest) -> Iterator[tx.Strategy]:
    try:
        made = tx.strategy(request.param, grace=GRACE_S)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    with made:
        yield made


def interrupted(tool: Any, strategy: tx.Strategy, tmp_path: Path) -> tuple[tx.Return, list[str], float]:
    """Interrupt a call from this thread; its Return, what it wrote, and how long it took."""
    journal = Journal(tmp_path / "journal")
    with Gate(tmp_path / "gate") as gate:
        fn = tx.Context([tool], strategy=strategy).receive(
            [{"name": tool.name, "arguments": {"gate": gate.path, "journal": journal.path}}]
        )[0]
        task = fn.task(strategy)
        waiter = threading.Thread(target=task.wait, daemon=True)  # sequential runs it where somebody waits
        waiter.start()
        gate.wait_until_reached()
        began = time.monotonic()
        task.interrupt()
        ret = task.wait(30)
        took = time.monotonic() - began
        waiter.join()
    return ret, journal.lines(), took


def test_what_is_raised_and_where_the_hook_runs(strategy: tx.Strategy, tmp_path: Path) -> None:
    row = ROWS[strategy.name]
    tool = rungs.Notes if strategy.name not in ("asyncio", "trio") else rungs.ANotes
    ret, lines, _ = interrupted(tool, strategy, tmp_path)

    body = dict(part.split("=") for part in lines[0].split()[1:])
    (hook_line,) = [line for line in lines if line.startswith("hook")]
    hook = dict(part.split("=") for part in hook_line.split()[1:])
    left = next(line for line in lines if line.startswith("left"))
    raised = left.split()[1]
    assert row["asked"] == ("nothing is raised" if raised == "nothing" else f"`{raised}` is raised")

    before = lines.index(hook_line) < lines.index(left)
    places = {
        "on the thread that interrupts": hook["thread"] == str(threading.get_ident()) != body["thread"],
        "on its thread, after the body": hook["thread"] == body["thread"] and not before,
        "in its loop, after the body": hook["loop"] == body["loop"] != "None" and not before,
        "in its process, before": hook["pid"] == body["pid"] != str(os.getpid()) and before,
        "in its interpreter, before": hook["interpreter"] == body["interpreter"] != "0" and before,
    }
    assert places[row["the hook"]], (lines, places)
    assert ret.status == ("ok" if strategy.name == "sequential" else "cancelled")


def test_what_ends_a_tool_that_ignores_it(strategy: tx.Strategy, tmp_path: Path) -> None:
    row = ROWS[strategy.name]
    tool = rungs.ignores if strategy.name not in ("asyncio", "trio") else rungs.aignores
    ret, lines, took = interrupted(tool, strategy, tmp_path)

    ended = {
        "it runs on": (ret.status, ret.abandoned) == ("ok", False),
        "left behind": (ret.status, ret.abandoned) == ("cancelled", True) and took > 0.9 * GRACE_S,
        "SIGKILL": (ret.status, ret.abandoned) == ("cancelled", False) and took > 0.9 * GRACE_S,
    }
    assert ended[row["at the end of grace"]], (ret, took)
    assert row["at 75 % of grace"] == ("SIGTERM" if "SIGTERM" in lines else "nothing")
