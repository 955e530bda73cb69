"""How an interrupt reaches a tool in an interpreter: its hook first, in there, then Interrupt, then left behind."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stopped_tools as tools
import toolexec as tx
from toolexec.testing import Gate, Journal
from toolexec_strategies.interpreter import InterpreterStrategy

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters are public from 3.14")


@pytest.fixture
def pool() -> Iterator[InterpreterStrategy]:
    with InterpreterStrategy(grace=5.0) as strategy:
        yield strategy


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as made:
        yield made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


def start(tool: Any, pool: tx.Strategy, **arguments: Any) -> tx.Task:
    return tx.Context([tool], strategy=pool).submit({"id": "c", "name": tool.name, "arguments": arguments})


def interrupted(task: tx.Task, gate: Gate, reason: str = "enough") -> tx.Return:
    gate.wait_until_reached()
    task.interrupt(reason)
    return task.wait(20)


@pytest.mark.parametrize("kind", ["sqlite", "socket", "subprocess"])
def test_a_callback_stops_what_the_tool_blocks_in(pool: InterpreterStrategy, gate: Gate, kind: str) -> None:
    began = time.monotonic()
    ret = interrupted(start(tools.blocks, pool, kind=kind, gate=gate.path), gate)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert time.monotonic() - began < 4.5


def test_a_hook_stops_what_the_tool_blocks_in(pool: InterpreterStrategy, gate: Gate) -> None:
    ret = interrupted(start(tools.Query, pool, gate=gate.path), gate)

    assert ret.status in ("cancelled", "raised")  # the query's own error may be faster than the Interrupt
    assert not ret.abandoned


@pytest.mark.parametrize("leave", ["raise", "checkpoint"])
def test_the_hook_runs_once_inside_before_the_interrupt(
    pool: InterpreterStrategy, gate: Gate, journal: Journal, leave: str
) -> None:
    ret = interrupted(start(tools.Hooked, pool, gate=gate.path, journal=journal.path, leave=leave), gate)

    assert "cancelled" == ret.status
    body, *rest = journal.lines()
    here = body.removeprefix("body ")
    assert here.startswith(f"{os.getpid()}/")
    assert not here.endswith("/0")
    assert sorted([f"hook {here}", "left"]) == sorted(rest)
    if leave == "raise":
        assert [f"hook {here}", "left"] == rest


@pytest.mark.parametrize("how", ["raise", "async"])
def test_a_bad_hook_harms_nothing(pool: InterpreterStrategy, gate: Gate, journal: Journal, how: str) -> None:
    ret = interrupted(start(tools.HookedBadly, pool, gate=gate.path, journal=journal.path, how=how), gate)

    assert ("cancelled", False) == (ret.status, ret.abandoned)
    assert ["hook", "async part"][: 1 + (how == "async")] == journal.lines()


def test_a_tool_that_answers_the_interrupt_has_answered(pool: InterpreterStrategy, gate: Gate) -> None:
    ret = interrupted(start(tools.catches, pool, gate=gate.path), gate, "lunch")

    assert ("ok", "caught: lunch") == (ret.status, ret.value)


def test_A12_a_handler_for_errors_does_not_swallow_it(pool: InterpreterStrategy, gate: Gate) -> None:
    assert "cancelled" == interrupted(start(tools.wrapped, pool, gate=gate.path), gate).status


def test_the_tool_knows_its_limits(pool: InterpreterStrategy) -> None:
    limited = tx.run(tools.times, {}, pool, timeout=9).unwrap()

    assert 8 < limited["remaining"] <= 9
    assert tx.run(tools.times, {}, pool).unwrap()["remaining"] is None


def test_an_interrupt_around_the_end_hits_no_later_call(pool: InterpreterStrategy) -> None:
    for number in range(60):
        task = tools.times.bind({}).task(pool)
        deadline = time.perf_counter() + (number % 20) * 0.00005
        while time.perf_counter() < deadline:
            pass
        task.interrupt()
        assert task.wait(10).status in ("ok", "cancelled")
        after = tx.run(tools.times, {}, pool)
        assert ("ok", False) == (after.status, after.value["interrupted"])


def test_an_ask_of_an_earlier_call_is_not_heard(pool: InterpreterStrategy, gate: Gate) -> None:
    task = start(tools.catches, pool, gate=gate.path)
    gate.wait_until_reached()
    job: Any = task._job
    inside = job.slot.inside
    for number in (inside.calls - 1, inside.calls + 1):
        inside.ask(tools_words("stale", number))
    task.interrupt("fresh")

    assert "caught: fresh" == task.wait(10).value


def tools_words(reason: str, number: int) -> Any:
    from toolexec_strategies._remote._wire import AskWords

    return AskWords(reason, timeout=False, grace=1.0, number=number)


def test_an_interpreter_serves_as_many_calls_as_it_may() -> None:
    with InterpreterStrategy(window=1, calls_per_interpreter=2) as pool:
        seen = [tx.run(tools.count_calls, {}, pool).unwrap()["calls"] for _ in range(5)]

    assert [1, 2, 1, 2, 1] == seen


def test_an_interpreter_that_was_raised_in_serves_no_other_call_on_3_14(gate: Gate) -> None:
    with InterpreterStrategy(window=1) as pool:
        assert 1 == tx.run(tools.count_calls, {}, pool).unwrap()["calls"]
        assert "ok" == interrupted(start(tools.catches, pool, gate=gate.path), gate).status

        kept = sys.version_info >= (3, 15)
        assert 1 + kept == tx.run(tools.count_calls, {}, pool).unwrap()["calls"]


def test_a_change_of_the_folder_is_logged_once(
    pool: InterpreterStrategy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        tx.run(tools.count_calls, {"do": "move"}, pool).unwrap()
        monkeypatch.chdir(tmp_path)

    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert 1 == len(warnings)
    assert "count_calls" in warnings[0]


def test_calls_per_interpreter_takes_a_number_of_calls() -> None:
    with pytest.raises(ValueError, match="calls_per_interpreter is 0"):
        InterpreterStrategy(calls_per_interpreter=0)
