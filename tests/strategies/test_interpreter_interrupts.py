"""How an interrupt reaches a tool in an interpreter: its hook first, in there, then Interrupt, then left behind."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import stopped_tools as tools
import toolexec as tx
from toolexec.testing import Gate, Journal
from toolexec_strategies._remote._wire import AskWords
from toolexec_strategies.interpreter import InterpreterStrategy
from toolexec_strategies.interpreter._flight import Flight

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters are public from 3.14")

# On 3.14 most of them cost an interpreter, of which one takes 50 ms to be made.
ROUNDS = 500 if sys.version_info >= (3, 15) else 100


@pytest.fixture
def pool() -> Iterator[InterpreterStrategy]:
    with InterpreterStrategy(grace=5.0) as strategy:
        yield strategy


def start(tool: Any, pool: tx.Strategy, **arguments: Any) -> tx.Task:
    return tx.Context([tool], strategy=pool).submit({"id": "c", "name": tool.name, "arguments": arguments})


def interrupted(task: tx.Task, gate: Gate, reason: str = "enough") -> tx.Return:
    gate.wait_until_reached()
    task.interrupt(reason)
    return task.wait(20)


def let_end(pool: InterpreterStrategy, gate: Gate) -> None:
    """Open the gate for those who still stand there, and wait until their interpreters have been closed."""
    gate.open()
    for inside in list(pool.pool.live):
        assert not inside.ending or inside.gone.wait(20)


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


def test_a_hook_that_lasts_too_long_costs_half_the_grace_and_its_interpreter(
    gate: Gate, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with InterpreterStrategy(grace=1.0, window=1) as pool, Gate(tmp_path / "hook gate") as hook_gate:
        assert 1 == tx.run(tools.count_calls, {}, pool).unwrap()["calls"]
        first = set(pool.pool.live)
        ret = interrupted(start(tools.HookedLong, pool, gate=gate.path, hook_gate=hook_gate.path), gate)

        assert ("cancelled", False) == (ret.status, ret.abandoned)
        assert 1 == tx.run(tools.count_calls, {}, pool).unwrap()["calls"]
        assert first < pool.pool.live  # it is closed when the hook has returned, not under it
        let_end(pool, hook_gate)
    assert "the hook of tool 'hooked-long' did not return" in caplog.text + capfd.readouterr().err


def test_B13_the_hook_runs_where_the_resource_is_before_the_call_is_left_behind(
    gate: Gate, journal: Journal, tmp_path: Path
) -> None:
    held = tmp_path / "held"
    with InterpreterStrategy(grace=0.5) as pool:
        ret = interrupted(start(tools.TempFile, pool, path=str(held), gate=gate.path, journal=journal.path), gate)

        assert "cancelled" == ret.status
        assert [f"body {os.getpid()}", f"hook {os.getpid()}"] == journal.lines()
        assert not held.exists()
        let_end(pool, gate)


def test_a_tool_that_answers_the_interrupt_has_answered(pool: InterpreterStrategy, gate: Gate) -> None:
    ret = interrupted(start(tools.catches, pool, gate=gate.path), gate, "lunch")

    assert ("ok", "caught: lunch") == (ret.status, ret.value)


def test_A12_a_handler_for_errors_does_not_swallow_it(pool: InterpreterStrategy, gate: Gate) -> None:
    assert "cancelled" == interrupted(start(tools.wrapped, pool, gate=gate.path), gate).status


@pytest.mark.parametrize("how", ["look", "wait"])
def test_into_a_tool_that_polls_nothing_is_raised(pool: InterpreterStrategy, gate: Gate, how: str) -> None:
    ret = interrupted(start(tools.polls, pool, gate=gate.path, how=how), gate)

    assert ("ok", "stopped by itself") == (ret.status, ret.value)


@pytest.mark.parametrize("tool", [tools.awaits, tools.awaits_trio], ids=["asyncio", "trio"])
def test_an_async_body_is_cancelled_natively(
    pool: InterpreterStrategy, gate: Gate, journal: Journal, tool: Any
) -> None:
    ret = interrupted(start(tool, pool, gate=gate.path, journal=journal.path), gate)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert ["cleaned up"] == journal.lines()


def test_an_async_body_may_await_the_word(pool: InterpreterStrategy, gate: Gate) -> None:
    assert "heard" == interrupted(start(tools.awaits_the_word, pool, gate=gate.path), gate).value


def test_a_limit_of_time_is_an_interrupt_that_names_it(pool: InterpreterStrategy, gate: Gate, journal: Journal) -> None:
    arguments = {"gate": gate.path, "journal": journal.path}
    ret = tx.run(tools.Hooked, arguments, pool, timeout=0.3)

    assert ("timeout", False) == (ret.status, ret.abandoned)
    assert 1 == len([line for line in journal.lines() if line.startswith("hook")])


def test_B4_a_body_that_never_gives_in_is_left_behind_and_takes_no_slot(gate: Gate) -> None:
    with InterpreterStrategy(grace=0.3, window=1) as pool:
        ctx = tx.Context([tools.holds_out, tools.count_calls], strategy=pool)
        ctx.receive(
            [
                {"id": "a", "name": "holds_out", "arguments": {"gate": gate.path}},
                {"id": "b", "name": "count_calls", "arguments": {}},
            ]
        )
        group = ctx.group()
        gate.wait_until_reached()
        group.tasks[0].interrupt()
        first, second = group.wait(20)
        let_end(pool, gate)

        assert ("cancelled", True) == (first.status, first.abandoned)
        assert "ok" == second.status
        assert first is group.tasks[0].wait(0)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param(tools.Hooked, {"leave": "checkpoint"}, id="waits"),
        pytest.param(tools.awaits_the_word, {}, id="awaits"),
        pytest.param(tools.polls, {"how": "look"}, id="looks"),
        pytest.param(tools.blocks, {"kind": "socket"}, id="has a callback"),
    ],
)
def test_without_a_grace_a_body_is_told_and_its_interpreter_ends_with_it(
    gate: Gate, journal: Journal, tool: Any, arguments: dict[str, Any]
) -> None:
    if tool is tools.Hooked:
        arguments = {**arguments, "journal": journal.path}
    with InterpreterStrategy(grace=0) as pool:
        task = start(tool, pool, gate=gate.path, **arguments)
        gate.wait_until_reached()
        (inside,) = pool.pool.live
        task.interrupt("enough")
        ret = task.wait(20)

        assert ("cancelled", "enough", True) == (ret.status, ret.reason, ret.abandoned)
        assert inside.gone.wait(10)
    assert not [line for line in journal.lines() if line.startswith("hook")]


def test_without_a_grace_nothing_is_raised(gate: Gate, journal: Journal) -> None:
    """As in a thread: what is left behind ends when it ends."""
    with InterpreterStrategy(grace=0) as pool:
        task = start(tools.goes_on, pool, gate=gate.path, journal=journal.path)
        gate.wait_until_reached()
        task.interrupt()
        assert task.wait(20).abandoned
        gate.wait_until_reached(2)
        let_end(pool, gate)
    assert ["went on"] == journal.lines()


def test_the_tool_knows_its_limits(pool: InterpreterStrategy) -> None:
    limited = tx.run(tools.times, {}, pool, timeout=9).unwrap()

    assert 8 < limited["remaining"] <= 9
    assert tx.run(tools.times, {}, pool).unwrap()["remaining"] is None


def test_an_interrupt_around_the_end_hits_no_later_call(pool: InterpreterStrategy) -> None:
    random = Random(5)
    for _ in range(ROUNDS):
        task = tools.times.bind({}).task(pool)
        until = time.perf_counter() + random.random() * 0.001
        while time.perf_counter() < until:
            pass
        task.interrupt()
        assert task.wait(20).status in ("ok", "cancelled")
        after = tx.run(tools.times, {}, pool)
        assert ("ok", False) == (after.status, after.unwrap()["interrupted"])


def test_an_ask_of_another_call_is_not_heard(pool: InterpreterStrategy, gate: Gate) -> None:
    task = start(tools.catches, pool, gate=gate.path)
    gate.wait_until_reached()
    inside = flight_of(task).inside
    assert inside is not None
    for number in (inside.calls - 1, inside.calls + 1):
        inside.ask(AskWords("stale", timeout=False, grace=1.0, number=number))
    task.interrupt("fresh")

    assert "caught: fresh" == task.wait(10).value


def test_whoever_stops_a_call_too_late_hits_no_later_one(pool: InterpreterStrategy, gate: Gate) -> None:
    """Of two threads, one ends a call while the other has begun to ask, or to give up, what was its flight."""
    early = start(tools.polls, pool, gate=gate.path, how="look")
    gate.wait_until_reached()
    flight = flight_of(early)
    early.interrupt()
    early.wait(20)
    inside = flight.inside
    assert inside is not None
    later = start(tools.catches, pool, gate=gate.path)
    gate.wait_until_reached(2)
    assert flight_of(later).inside is inside

    flight.ask()
    flight.leave()
    later.interrupt("its own")

    assert "caught: its own" == later.wait(20).value
    assert not inside.left


def flight_of(task: tx.Task) -> Flight:
    job: Any = task._job
    flight: Flight = job.slot
    return flight


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


def test_a_change_of_the_environment_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLEXEC_LEFT", "")
    with InterpreterStrategy(calls_per_interpreter=1) as pool:
        for name in ("first", "second"):
            tx.run(set_variable, {"name": "TOOLEXEC_LEFT", "value": name}, pool).unwrap()

    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert 1 == len(warnings)
    assert "'set_variable' changed os.environ" in warnings[0]


@tx.tool
def set_variable(name: str, value: str) -> None:
    os.environ[name] = value


def test_calls_per_interpreter_takes_a_number_of_calls() -> None:
    with pytest.raises(ValueError, match="calls_per_interpreter is 0"):
        InterpreterStrategy(calls_per_interpreter=0)
