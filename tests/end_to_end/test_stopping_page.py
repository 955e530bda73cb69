"""What the page on stopping a tool says is so: its examples run, and each row of its table is what happens."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rungs
import toolexec as tx
from documents import examples_in, run_example, table_after
from toolexec.testing import Gate, Journal

PAGE = (Path(__file__).parents[2] / "docs" / "stopping-a-tool.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)
ROWS = {row["strategy"].strip("`"): row for row in table_after(PAGE, "<!-- table: rungs -->")}

# Half of it is far more than any step here takes, also on a machine that has other things to do.
GRACE_S = 1.2


@pytest.mark.parametrize("number", range(4))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 4 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


def test_every_strategy_has_a_row() -> None:
    assert {"sequential", "thread", "asyncio", "trio", "fork", "interpreter"} == set(ROWS)


HOOK_FIRST = sorted(name for name, row in ROWS.items() if "if the hook hangs" in row["at half the grace"])


@pytest.fixture(params=sorted(ROWS))
def strategy(request: pytest.FixtureRequest) -> Iterator[tx.Strategy]:
    try:
        made = tx.strategy(request.param, grace=GRACE_S)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    with made:
        yield made


class Story(NamedTuple):
    """What became of an interrupted call.

    Attributes:
        ret: Its Return.
        took: Seconds from the interrupt to that.
        lines: What its tool wrote: what, where and how long after the interrupt.
    """

    ret: tx.Return
    took: float
    lines: dict[str, dict[str, str]]

    def after(self, what: str) -> float:
        """How long after the interrupt something was written; for ever, if it was not."""
        return float(self.lines[what]["after"]) if what in self.lines else float("inf")


def interrupted(tool: Any, strategy: tx.Strategy, tmp_path: Path) -> Story:
    """Interrupt a call from this thread."""
    journal = Journal(tmp_path / "journal")
    with Gate(tmp_path / "gate") as gate:
        arguments = {"gate": gate.path, "journal": journal.path}
        task = tx.Context([tool], strategy=strategy).submit({"name": tool.name, "arguments": arguments})
        waiter = threading.Thread(target=task.wait, daemon=True)  # sequential runs it where somebody waits
        waiter.start()
        gate.wait_until_reached()
        began = time.monotonic()
        task.interrupt()
        ret = task.wait(30)
        took = time.monotonic() - began
        waiter.join()
    lines: dict[str, dict[str, str]] = {}
    for what, *facts in map(str.split, journal.lines()):
        assert what not in lines, "each of them happens once"
        lines[what] = dict(fact.split("=") for fact in facts)
        lines[what]["after"] = str(float(lines[what]["at"]) - began)
    return Story(ret, took, lines)


def is_async(strategy: tx.Strategy) -> bool:
    """Whether its row is about async tools."""
    return strategy.name in ("asyncio", "trio")


def test_what_is_raised_and_who_is_told_where(strategy: tx.Strategy, tmp_path: Path) -> None:
    row = ROWS[strategy.name]
    story = interrupted(rungs.ANotes if is_async(strategy) else rungs.Notes, strategy, tmp_path)

    body, callback, hook = (story.lines[what] for what in ("body", "callback", "hook"))
    left = next(what for what in story.lines if what.startswith("left:"))
    raised = left.removeprefix("left:")
    assert row["asked"] == ("nothing is raised" if raised == "nothing" else f"`{raised}` is raised")

    assert row["a callback"] == "on a thread beside it"
    assert [body[fact] for fact in ("pid", "interpreter")] == [callback[fact] for fact in ("pid", "interpreter")]
    assert callback["thread"] not in (body["thread"], str(threading.get_ident()))

    before = story.after("hook") < story.after(left)
    places = {
        "on the thread that interrupts": hook["thread"] == str(threading.get_ident()) != body["thread"],
        "on its thread, after the body": hook["thread"] == body["thread"] and not before,
        "in its loop, after the body": hook["loop"] == body["loop"] != "None" and not before,
        "in its process, before": hook["pid"] == body["pid"] != str(os.getpid()) and before,
        "in its interpreter, before": hook["interpreter"] == body["interpreter"] != "0" and before,
    }
    assert places[row["the hook"]], story
    assert story.ret.status == ("ok" if strategy.name == "sequential" else "cancelled")


def test_what_ends_a_tool_that_ignores_it(strategy: tx.Strategy, tmp_path: Path) -> None:
    row = ROWS[strategy.name]
    aignores = rungs.AIgnores()
    story = interrupted(aignores if is_async(strategy) else rungs.Ignores, strategy, tmp_path)
    ret = story.ret

    if row["at half the grace"] == "the hook, beside it":
        assert 0.45 * GRACE_S < story.after("hook") < 0.95 * GRACE_S
    else:
        assert story.after("hook") < 0.45 * GRACE_S, "it ran at once"
    assert row["at 75 %"] == ("SIGTERM" if "SIGTERM" in story.lines else "nothing")
    ended = {
        "it runs on": (ret.status, ret.abandoned) == ("ok", False),
        "left behind": (ret.status, ret.abandoned) == ("cancelled", True) and story.took > 0.9 * GRACE_S,
        "SIGKILL": (ret.status, ret.abandoned) == ("cancelled", False) and story.took > 0.9 * GRACE_S,
    }
    assert ended[row["at the end of the grace"]], story
    assert row["left over"] == left_over(story.lines["body"], aignores if is_async(strategy) else None)


def left_over(body: dict[str, str], tool: rungs.AIgnores | None) -> str:
    """What is still there of a call that has its Return."""
    if body["pid"] != str(os.getpid()):
        return "its process" if Path(f"/proc/{body['pid']}").exists() else "nothing"
    if body["interpreter"] != "0":
        return "its interpreter" if int(body["interpreter"]) in rungs.running_interpreters() else "nothing"
    if tool is not None:
        until = time.monotonic() + 0.3 * rungs.LONG_S  # one that was dropped ends with the next turn of its loop
        while tool.running() and time.monotonic() < until:
            time.sleep(0.001)
        return "its task" if tool.running() else "nothing"
    return "its thread" if int(body["thread"]) in sys._current_frames() else "nothing"


@pytest.mark.parametrize("strategy", HOOK_FIRST, indirect=True)
def test_where_hooks_come_first_one_that_hangs_is_not_waited_for_any_longer(
    strategy: tx.Strategy, tmp_path: Path
) -> None:
    story = interrupted(rungs.Hangs, strategy, tmp_path)

    assert "`Interrupt`, if the hook hangs" == ROWS[strategy.name]["at half the grace"]
    assert 0.45 * GRACE_S < story.after("caught") < 0.95 * GRACE_S
