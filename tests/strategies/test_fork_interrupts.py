"""How an interrupt reaches a forked tool: its hook first, in its own process, then Interrupt, then force."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import stopped_tools as tools
import toolexec as tx
from toolexec.lowlevel import MONOTONIC, CallState
from toolexec.testing import Gate, Journal
from toolexec_strategies._remote._asked import Asked
from toolexec_strategies._remote._wire import AskWords
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture
def fork() -> Iterator[ForkStrategy]:
    with ForkStrategy(grace=5.0) as strategy:
        yield strategy


def start(tool: Any, fork: tx.Strategy, **arguments: Any) -> tx.Task:
    return tx.Context([tool], strategy=fork).submit(
        {"id": "c", "name": getattr(tool, "name", ""), "arguments": arguments}
    )


def interrupted(task: tx.Task, gate: Gate, reason: str = "enough") -> tx.Return:
    gate.wait_until_reached()
    task.interrupt(reason)
    return task.wait(20)


@pytest.mark.parametrize("kind", ["sqlite", "socket", "subprocess"])
def test_a_callback_stops_what_the_tool_blocks_in(fork: ForkStrategy, gate: Gate, kind: str) -> None:
    began = time.monotonic()
    ret = interrupted(start(tools.blocks, fork, kind=kind, gate=gate.path), gate)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert time.monotonic() - began < 3.5  # long before force


def test_a_call_that_nobody_else_has_to_be_told_of_is_ended_without_a_thread(fork: ForkStrategy, gate: Gate) -> None:
    """In a forked child a thread is dear: it writes to memory that is shared until then."""
    ret = interrupted(start(tools.counts_threads, fork, gate=gate.path), gate)

    assert ("ok", "") == (ret.status, ret.value)


def test_a_hook_stops_what_the_tool_blocks_in(fork: ForkStrategy, gate: Gate) -> None:
    began = time.monotonic()
    ret = interrupted(start(tools.Query, fork, gate=gate.path), gate)

    assert ret.status in ("cancelled", "raised")  # the query's own error may be faster than the Interrupt
    assert time.monotonic() - began < 3.5


@pytest.mark.parametrize("leave", ["raise", "checkpoint"])
def test_the_hook_runs_once_in_the_child_before_the_interrupt(
    fork: ForkStrategy, gate: Gate, journal: Journal, leave: str
) -> None:
    ret = interrupted(start(tools.Hooked, fork, gate=gate.path, journal=journal.path, leave=leave), gate)

    assert "cancelled" == ret.status
    body, *rest = journal.lines()
    here = body.removeprefix("body ")
    assert not here.startswith(f"{os.getpid()}/")
    assert sorted([f"hook {here}", "left"]) == sorted(rest)
    if leave == "raise":
        assert [f"hook {here}", "left"] == rest


@pytest.mark.parametrize("how", ["raise", "async", "hang"])
def test_a_bad_hook_harms_nothing(gate: Gate, journal: Journal, how: str) -> None:
    with ForkStrategy(grace=0.8) as fork:
        ret = interrupted(start(tools.HookedBadly, fork, gate=gate.path, journal=journal.path, how=how), gate)

    assert ("cancelled", False) == (ret.status, ret.abandoned)
    assert ["hook", "async part"][: 1 + (how == "async")] == journal.lines()


def test_without_grace_there_is_no_hook(gate: Gate, journal: Journal) -> None:
    with ForkStrategy(grace=0) as fork:
        ret = interrupted(start(tools.Hooked, fork, gate=gate.path, journal=journal.path), gate)

    assert "cancelled" == ret.status
    assert 1 == len(journal.lines())


def test_B13_the_hook_runs_where_the_resource_is_before_any_kill(
    fork: ForkStrategy, gate: Gate, journal: Journal, tmp_path: Path
) -> None:
    path = tmp_path / "held"
    ret = interrupted(start(tools.TempFile, fork, path=str(path), gate=gate.path, journal=journal.path), gate)

    assert "cancelled" == ret.status
    assert not path.exists()
    body, hook = journal.lines()
    assert body.split()[1] == hook.split()[1]


def test_a_tool_that_ignores_all_is_killed_at_the_end_of_the_grace(gate: Gate) -> None:
    with ForkStrategy(grace=0.6) as fork:
        task = start(tools.swallows, fork, gate=gate.path)
        gate.wait_until_reached()
        began = time.monotonic()
        task.interrupt()
        ret = task.wait(20)
        took = time.monotonic() - began

    assert ("cancelled", False) == (ret.status, ret.abandoned)
    assert 0.4 < took < 2.0


def test_a_tool_that_answers_the_interrupt_has_answered(fork: ForkStrategy, gate: Gate) -> None:
    ret = interrupted(start(tools.catches, fork, gate=gate.path), gate, "lunch")

    assert ("ok", "caught: lunch") == (ret.status, ret.value)


def test_A12_a_handler_for_errors_does_not_swallow_it(fork: ForkStrategy, gate: Gate) -> None:
    assert "cancelled" == interrupted(start(tools.wrapped, fork, gate=gate.path), gate).status


def test_the_child_knows_its_limits(fork: ForkStrategy) -> None:
    alone = tx.run(tools.times, {}, fork).unwrap()
    limited = tx.run(tools.times, {}, fork, timeout=9).unwrap()
    ctx = tx.Context([tools.times], strategy=fork)
    ctx.receive([{"id": "c1", "name": "times"}])
    (grouped,) = ctx.group(timeout=7).wait()

    assert (None, None, "times", False) == (alone["remaining"], alone["left"], alone["name"], alone["interrupted"])
    assert 8 < limited["remaining"] <= 9
    assert abs(limited["left"] - limited["remaining"]) < 0.1
    assert 5 < grouped.value["remaining"] <= 7
    assert "c1" == grouped.value["id"]


@pytest.mark.parametrize("strategy", ["thread", "fork"])
def test_calls_inside_are_settled_before_the_child_ends(
    fork: ForkStrategy, gate: Gate, journal: Journal, strategy: str
) -> None:
    task = start(tools.runs_inner, fork, gate=gate.path, journal=journal.path, strategy=strategy)
    ret = interrupted(task, gate)

    assert "cancelled" == ret.status
    notes = journal.lines()
    assert 1 == len([note for note in notes if note.startswith("hook ")])
    assert "inner ['cancelled']" in notes


def test_calls_left_inside_are_settled_when_the_tool_returns(
    fork: ForkStrategy, gate: Gate, journal: Journal, tmp_path: Path
) -> None:
    with Gate(gate.path + "-outer") as outer:
        arguments = {"gate": gate.path, "journal": journal.path, "strategy": "thread", "wait": False}
        task = start(tools.runs_inner, fork, **arguments)
        gate.wait_until_reached()
        outer.open()

        assert ("ok", "left it running") == (task.wait(20).status, task.wait().value)
    assert 1 == len([note for note in journal.lines() if note.startswith("hook ")])


def test_of_two_who_hear_of_an_ask_only_one_reads_its_words() -> None:
    """The other would take them out of the wire, and the first would wait for them for ever."""
    said: queue.SimpleQueue[AskWords | None] = queue.SimpleQueue()
    call = CallState(None, "asked", MONOTONIC)
    asked = Asked(call, "asyncio")
    asked.listen(said.get)
    said.put(AskWords("because", timeout=False, grace=2.0))

    asked.hear(partial(pytest.fail, "read twice"), said.get)

    assert asked.wait()
    assert "because" == call.reason
