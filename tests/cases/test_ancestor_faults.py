"""The faults that the Ruby ancestor still has, and this does not (but its loop guard and its budget)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import remote_tools
import toolexec as tx
from cases.case_steps import ENTRIES, interrupt_at, run_in, steer
from cases.case_tools import ALL, IN_PROCESS, PATIENCE_S, aecho, echo, fail, received
from cases.stopping_tools import Labelled, nap
from toolexec.testing import Gate, Journal

every = pytest.mark.parametrize("strategy", ALL)
entries = pytest.mark.parametrize("entry", ENTRIES)
needs_fork = pytest.mark.skipif("fork" not in ALL, reason="needs os.fork")


def waited(entry: str, start: Any) -> Any:
    """Start something in the entry's way, and wait for it."""

    async def main() -> Any:
        return await start()

    return start().wait(PATIENCE_S) if entry == "plain" else run_in(entry, main)


# The hook of a tool given as a class was sent to the class, so to nobody.


@pytest.mark.parametrize("strategy", [name for name in ALL if name != "sequential"])
def test_anc_fault_class_hook_is_the_running_instances(strategy: str, gate: Gate, journal: Journal) -> None:
    calls = [("labelled", {"label": label, "journal": journal.path, "gate": gate.path}) for label in ("a", "b")]
    ctx = received(*calls, tools=[Labelled])

    def act(group: tx.Group) -> None:
        gate.wait_until_reached(2)
        group.tasks[1].interrupt("enough")
        group.tasks[1].wait(PATIENCE_S)
        assert [line for line in gate.reached if line.startswith("b ")] == journal.lines()
        group.interrupt("enough")

    steer(lambda: ctx.group(strategy, window=2), act)
    assert sorted(gate.reached) == sorted(journal.lines())


# Under :call neither a group's nor a single task's reached it as it should.


def test_anc_fault_class_hook_is_called_under_sequential_too(gate: Gate, journal: Journal) -> None:
    ctx = received(("labelled", {"label": "a", "journal": journal.path, "gate": gate.path}), tools=[Labelled])
    steer(lambda: ctx.group("sequential"), interrupt_at(gate))

    assert list(gate.reached) == journal.lines()


# One child that crashed, and the whole group hung; so did what ended by no ordinary error.


@needs_fork
@entries
def test_anc_fault_crash_loses_its_own_call_and_hangs_nobody(entry: str) -> None:
    ctx = received(
        ("echo", {"value": 1}),
        ("exit_hard", {"code": 0}),
        ("kill_self", {"number": 9}),
        ("read_null", {}),
        ("echo", {"value": 2}),
        tools=[echo, remote_tools.exit_hard, remote_tools.kill_self, remote_tools.read_null],
    )
    returns = waited(entry, lambda: ctx.group("fork"))

    assert ["ok", "lost", "lost", "lost", "ok"] == [ret.status for ret in returns]
    assert (1, 2) == (returns[0].value, returns[4].value)


@tx.tool
def ends_oddly(how: str) -> None:
    """What Ruby's ordinary rescue lets through."""
    raise {
        "exit": SystemExit(3),
        "base": BaseException("bare"),
        "ctrl-c": GeneratorExit(),
        "no": NotImplementedError(),
    }[how]


@entries
@every
def test_anc_fault_crash_by_no_ordinary_error_is_that_calls_answer(strategy: str, entry: str) -> None:
    odd = ["exit", "base", "ctrl-c", "no"]
    calls = [("ends_oddly", {"how": how}) for how in odd]
    ctx = received(*calls, ("echo", {"value": 1}), tools=[ends_oddly, echo])
    returns = waited(entry, lambda: ctx.group(strategy))

    assert ["raised"] * len(odd) + ["ok"] == [ret.status for ret in returns]


# A fiber's result could never be collected: neither a quick one's nor an unfinished one's.


@entries
@every
def test_anc_fault_fiber_wait_gets_quick_results_and_slow_ones(strategy: str, entry: str, tmp_path: Path) -> None:
    @tx.tool
    async def slow(path: str, value: int) -> int:
        while not Journal(path).lines():
            await nap(0.001)
        return value

    @tx.tool
    async def opens(path: str) -> str:
        Journal(path).write("opened")
        return "opened"

    path = str(tmp_path / "opened")
    calls: list[Any] = [("opens", {"path": path}), ("slow", {"path": path, "value": 2}), ("aecho", {"value": 3})]
    ctx = received(*calls, tools=[slow, opens, aecho])
    returns = waited(entry, lambda: ctx.group(strategy))
    one = waited(entry, lambda: ctx.functions["aecho"].bind({"value": 4}).task(strategy))

    assert ["opened", 2, 3, 4] == [*[ret.unwrap() for ret in returns], one.unwrap()]


# Cancelled calls of :call were executed all the same, and had two answers each.


@every
def test_anc_fault_cancelled_calls_do_not_run_and_have_one_answer(strategy: str, journal: Journal) -> None:
    @tx.tool
    def writes(path: str) -> str:
        Journal(path).write("ran")
        return "ran"

    ctx = received(*[("writes", {"path": journal.path})] * 3, tools=[writes])
    ctx.interrupt("enough")
    returns = ctx.wait(strategy, timeout=PATIENCE_S)

    assert [] == journal.lines()
    assert ["cancelled"] * 3 == [ret.status for ret in returns]
    assert returns == ctx.wait(strategy) == ctx.returns
    assert ["c1", "c2", "c3"] == [message["tool_call_id"] for message in ctx.messages()]


# The hook of a bound instance ran twice under :call, and under :fork once more in the parent.


@every
def test_anc_fault_double_hook_runs_once_however_often_it_is_asked(strategy: str, gate: Gate, journal: Journal) -> None:
    shared = Labelled()
    ctx = received(("labelled", {"label": "a", "journal": journal.path, "gate": gate.path}), tools=[shared])

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        (task,) = group.tasks
        for stop in (task.interrupt, group.cancel, ctx.interrupt, task.function.interrupt, task.cancel):
            stop()

    steer(lambda: ctx.group(strategy), act)
    ctx.interrupt()  # late
    assert list(gate.reached) == journal.lines()
    assert shared.hooks == (1 if strategy in IN_PROCESS else 0)


# A list of strategies was taken, and failed as soon as it mattered.


def test_anc_fault_strategy_lists_are_refused_at_once() -> None:
    with pytest.raises(tx.UnknownStrategy, match=r"a strategy is a name, .* and not \['thread', 'fork'\]"):
        tx.Context([echo], strategy=["thread", "fork"])
    ctx = received(("echo", {"value": 1}))
    with pytest.raises(tx.UnknownStrategy):
        ctx.group(["thread", "fork"])
    assert ctx.pending_functions


def test_anc_fault_strategy_lists_are_not_needed_where_each_tool_has_its_own() -> None:
    """Tasks of several strategies in one Group, in call order."""
    tools = []
    for name in ALL:
        fn = tx.Function(f"on-{name}", strategy=name)
        fn.define(lambda: 1)
        tools.append(fn)
    returns = received(*((fn.name, {}) for fn in tools), tools=tools).wait(timeout=PATIENCE_S)

    assert [(name, 1) for name in ALL] == [(ret.strategy, ret.value) for ret in returns]


# Results of more than 200 KB were lost in a fork.


@pytest.mark.parametrize("size", [200_000, 220_000, 5_000_000])
@every
def test_anc_fault_200_kb_is_no_limit(strategy: str, size: int) -> None:
    returns = received(("echo", {"value": "x" * size}), ("fail", {"text": "y" * size}), tools=[echo, fail]).wait(
        strategy, timeout=PATIENCE_S
    )

    assert "x" * size == returns[0].value
    assert "y" * size == returns[1].value["message"]


# Ten descriptors for each call that nobody had waited for yet, and children that stayed zombies.

CROWD = """
    import os, resource, sys
    from pathlib import Path
    import toolexec as tx

    @tx.tool
    def add(a: int) -> int:
        return a + 1

    def held():
        return len(os.listdir("/proc/self/fd"))

    def zombies():
        found = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                found += fields[0] == "Z" and os.getpgid(0) == int(fields[2])
        return found

    if __name__ == "__main__":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        fork = tx.strategy("fork", window=4)
        ctx = tx.Context([add], strategy=fork)
        ctx.receive([{"name": "add", "arguments": {"a": n}} for n in range(4)])
        ctx.wait()
        before = held()
        ctx.receive([{"name": "add", "arguments": {"a": n}} for n in range(60)])
        group = ctx.group()
        tasks = [add.bind({"a": n}).task(fork) for n in range(20)]
        assert [n + 1 for n in range(60)] == [ret.value for ret in group.wait()]
        assert [n + 1 for n in range(20)] == [task.wait().value for task in tasks]
        forgotten = [add.bind({"a": n}).task(fork) for n in range(20)]
        del forgotten
        fork.close()
        print(held() <= before, zombies())
"""


@needs_fork
def test_anc_fault_descriptors_and_zombies_do_not_add_up(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(CROWD))
    done = subprocess.run(
        [sys.executable, "-P", str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=40,
        start_new_session=True,
        check=False,
    )

    assert (0, "True 0\n", "") == (done.returncode, done.stdout, done.stderr)
