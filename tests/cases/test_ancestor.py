"""What the Ruby ancestor's users could rely on (``anc-``)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from cases.case_steps import interrupt_at, steer
from cases.case_tools import ALL, IN_PROCESS, ISOLATED, PATIENCE_S, received
from cases.stopping_tools import Labelled, place
from toolexec._discovery import installed, why_not
from toolexec.testing import Gate, Journal

every = pytest.mark.parametrize("strategy", ALL)
isolated = pytest.mark.parametrize("strategy", ISOLATED)


class Log(tx.Tracer):
    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def on_tool_start(self, function: tx.Function) -> None:
        self.lines.append(("start", function.id, os.getpid()))

    def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append(("finish", function.id, os.getpid(), ret.value))

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append((ret.status, function.id, os.getpid(), ret.value["type"]))


def test_anc_S1_an_unknown_strategy_is_an_error_that_names_those_there_are() -> None:
    call = received(("echo", {"value": 1})).pending_functions[0]

    with pytest.raises(tx.UnknownStrategy) as caught:
        call.task("ractor")
    assert {"sequential", "thread", "asyncio", "trio", "fork", "interpreter"} <= set(caught.value.installed)
    assert all(name in str(caught.value) for name in caught.value.installed)
    assert call.pending


@every
def test_anc_S2_every_strategy_gives_a_task(strategy: str) -> None:
    task = received(("echo", {"value": 1})).pending_functions[0].task(strategy)

    ret = task.wait(PATIENCE_S)
    assert (1, strategy, False) == (ret.value, ret.strategy, task.alive)
    assert ret is task.value() is task.wait()


@every
def test_anc_S2_a_task_of_a_group_waits_for_itself_alone(strategy: str, tmp_path: Any) -> None:
    path = str(tmp_path / "gate")
    group = received(("echo", {"value": 1}), ("after", {"path": path, "value": 2})).group(strategy)

    assert 1 == group.tasks[0].wait(PATIENCE_S).value
    assert group.tasks[1].alive
    (tmp_path / "gate").touch()
    assert 2 == group.tasks[1].wait(PATIENCE_S).value


@every
def test_anc_S2_a_task_can_be_interrupted_by_either_name(strategy: str, gate: Gate, journal: Journal) -> None:
    calls = [("labelled", {"label": "x", "journal": journal.path, "gate": gate.path})] * 2
    ctx = received(*calls, tools=[Labelled])

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        for task, stop in zip(group.tasks, ("interrupt", "cancel"), strict=True):
            assert task.alive
            assert getattr(task, stop)("enough") is None

    returns = steer(lambda: ctx.group(strategy), act)

    assert [("cancelled", "enough")] * 2 == [(ret.status, ret.reason) for ret in returns]


def test_anc_S3_sequential_has_the_shape_of_a_task_too() -> None:
    task = received(("echo", {"value": 1})).pending_functions[0].task("sequential")

    assert isinstance(task, tx.Task)
    assert task.alive
    assert 1 == task.value().value
    assert not task.alive


@pytest.mark.parametrize("strategy", [name for name in ALL if name != "sequential"])
def test_anc_S4_alive_while_it_runs_and_not_after_the_wait(strategy: str, tmp_path: Any) -> None:
    path = tmp_path / "gate"
    group = received(("after", {"path": str(path), "value": 1}), ("echo", {"value": 2})).group(strategy)
    held, quick = group.tasks

    quick.wait(PATIENCE_S)
    assert (True, False, True) == (held.alive, quick.alive, group.alive)  # anc-S11: as long as one of its calls
    path.touch()
    held.wait(PATIENCE_S)
    assert (False, False) == (held.alive, group.alive)


def carried() -> dict[str, Any]:
    """Tools that only exist in here: a closure, a lambda, a bound method, a local class, a partial."""
    import functools

    factor = 3

    def closure(a: int) -> int:
        return factor * a

    class Local:
        def __init__(self) -> None:
            self.offset = 1

        def call(self, a: int) -> int:
            return self.offset + a

        def method(self, a: int) -> int:
            return self.offset - a

    return {
        "closure": closure,
        "lambda": lambda a: 4 * a,
        "method": Local().method,
        "class": Local,
        "instance": Local(),
        "partial": functools.partial(closure, 5),
    }


@every
def test_anc_S6_whatever_can_be_carried_runs(strategy: str) -> None:
    tools = []
    for name, source in carried().items():
        fn = tx.Function(name)
        fn.define(source)
        tools.append(fn)
    calls = [(fn.name, {} if fn.name == "partial" else {"a": 2}) for fn in tools]
    returns = received(*calls, tools=tools).wait(strategy, timeout=PATIENCE_S)

    assert [6, 8, -1, 3, 3, 15] == [ret.unwrap() for ret in returns]


def locked() -> Callable[[], str]:
    lock = threading.Lock()

    def captures() -> str:
        return type(lock).__name__

    return captures


@isolated
def test_anc_S6_what_cannot_be_pickled_is_unsendable_in_its_place(strategy: str) -> None:
    fn = tx.Function("locked")
    fn.define(locked())
    from cases.case_tools import echo

    returns = received(
        ("echo", {"value": 1}),
        ("locked", {}),
        ("echo", {"value": threading.Lock()}),
        ("echo", {"value": 4}),
        tools=[echo, fn],
    ).wait(strategy, timeout=PATIENCE_S)

    assert ["ok", "unsendable", "unsendable", "ok"] == [ret.status for ret in returns]
    for ret in returns[1:3]:
        assert isinstance(ret.exception, tx.UnsendableError)
    assert "locked" in returns[1].value["message"]
    assert "lock" in returns[1].value["message"].replace("locked", "")  # the captured name, besides the tool's


@pytest.mark.parametrize("strategy", IN_PROCESS)
def test_anc_S6_in_this_process_there_is_nothing_to_refuse(strategy: str) -> None:
    fn = tx.Function("locked")
    fn.define(locked())

    assert "lock" == received(("locked", {}), tools=[fn]).wait(strategy)[0].unwrap()


@pytest.mark.parametrize("name", [name for name in installed() if why_not(name) is not None] or ["none"])
def test_anc_S6_a_strategy_that_cannot_run_here_raises_before_anything_starts(name: str) -> None:
    if name == "none":
        pytest.skip("all installed strategies can run here")
    ctx = received(("echo", {"value": 1}))

    with pytest.raises(tx.StrategyUnavailable) as caught:
        ctx.wait(name)
    assert name == caught.value.name
    assert set(ALL) <= set(caught.value.alternatives)
    assert ctx.pending_functions


@isolated
def test_anc_S7_S8_isolated_calls_are_traced_here_with_what_they_returned(strategy: str) -> None:
    log = Log()
    ctx = received(("echo", {"value": [1]}), ("fail", {}), tracer=log)
    returns = ctx.wait(strategy, timeout=PATIENCE_S)
    here = os.getpid()

    assert ["ok", "raised"] == [ret.status for ret in returns]
    assert [("start", "c1", here), ("finish", "c1", here, [1])] == [line for line in log.lines if line[1] == "c1"]
    assert [("start", "c2", here), ("raised", "c2", here, "ValueError")] == [
        line for line in log.lines if line[1] == "c2"
    ]


@every
def test_anc_S7_an_error_comes_back_with_type_text_and_trace(strategy: str) -> None:
    ret = received(("fail", {"text": "there"})).wait(strategy, timeout=PATIENCE_S)[0]

    assert ("raised", "ValueError", "there") == (ret.status, ret.value["type"], ret.value["message"])
    assert isinstance(ret.exception, ValueError)
    assert any("in fail" in line for line in ret.value["backtrace"])


@isolated
def test_anc_S7_an_isolated_body_does_not_run_here(strategy: str) -> None:
    fn = tx.Function("where")
    fn.define(lambda: (os.getpid(), id(sys.modules)))
    there = received(("where", {}), tools=[fn]).wait(strategy, timeout=PATIENCE_S)[0].unwrap()

    assert (os.getpid(), id(sys.modules)) != tuple(there)
    assert ("fork" == strategy) == (os.getpid() != there[0])


@isolated
def test_anc_S7_S12_an_interrupt_reaches_the_body_and_the_runner_where_they_are(
    strategy: str, gate: Gate, journal: Journal
) -> None:
    """The instance here, of which a copy runs there, is not told as well."""
    here = Labelled()
    ctx = received(("labelled", {"label": "x", "journal": journal.path, "gate": gate.path}), tools=[here])
    (ret,) = steer(lambda: ctx.group(strategy), interrupt_at(gate))

    assert "cancelled" == ret.status
    assert list(gate.reached) == journal.lines()
    assert place() not in gate.reached[0]
    assert (0, "nobody's") == (here.hooks, here.label)


@pytest.mark.parametrize("strategy", IN_PROCESS)
def test_anc_S12_in_this_process_it_is_the_very_instance(strategy: str, gate: Gate, journal: Journal) -> None:
    here = Labelled()
    ctx = received(("labelled", {"label": "x", "journal": journal.path, "gate": gate.path}), tools=[here])
    (ret,) = steer(lambda: ctx.group(strategy), interrupt_at(gate))

    assert ("cancelled", 1, "x") == (ret.status, here.hooks, here.label)


@pytest.mark.parametrize("strategy", [name for name in ALL if name != "sequential"])
def test_anc_S11_a_groups_interrupt_reaches_all_that_run(strategy: str, gate: Gate, journal: Journal) -> None:
    calls = [("labelled", {"label": str(n), "journal": journal.path, "gate": gate.path}) for n in range(3)]
    group = received(*calls, tools=[Labelled]).group(strategy, window=3)
    gate.wait_until_reached(3)
    assert group.alive
    group.interrupt("enough")
    returns = group.wait(PATIENCE_S)

    assert ["cancelled"] * 3 == [ret.status for ret in returns]
    assert not group.alive
    assert sorted(gate.reached) == sorted(journal.lines()), "each hook on its own instance, where that runs"


@every
def test_anc_S10_calls_together_are_answered_in_their_order(strategy: str) -> None:
    fns = received(*(("late", {"value": n, "seconds": 0.02 / n}) for n in range(1, 5))).pending_functions
    left = fns - [fns[1]]

    group = left.group(strategy)
    assert [1, 3, 4] == [ret.value for ret in group.wait(PATIENCE_S)]
    assert [1, 3, 4] == [ret.value for ret in left.wait(strategy)]
    assert [2] == [ret.value for ret in fns.except_(*left).call()]
