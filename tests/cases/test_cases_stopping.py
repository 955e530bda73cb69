"""Themes A and B: every call that is stopped has stopped, and has its one Return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from cases import stopping_tools
from cases.case_steps import ENTRIES, LOOPS, cancel_when, interrupt_at, run_in, steer, stoppable
from cases.case_tools import ALL, PATIENCE_S, echo, received
from toolexec.testing import Gate, Journal, ManualClock

every = pytest.mark.parametrize("strategy", ALL)
TOOLS = [*stopping_tools.TOOLS, echo]


def asked(*calls: Any, **options: Any) -> tx.Context:
    return received(*calls, tools=TOOLS, **options)


def assert_cancelled(ret: tx.Return, reason: str = "enough") -> None:
    assert ("cancelled", reason, False) == (ret.status, ret.reason, ret.abandoned)
    assert {"cancelled": True, "reason": reason} == ret.value


# A1: a cancelled call leaves no result, and the history becomes invalid


def assert_answered_in_full(ctx: tx.Context) -> None:
    """One result for each call, in call order: what a provider asks for."""
    assistant, *results = ctx.turn()
    ids = [call["id"] for call in assistant["tool_calls"]]

    assert ["c1", "c2"] == ids == [result["tool_call_id"] for result in results]
    assert ["tool", "tool"] == [result["role"] for result in results]
    assert "1" == results[0]["content"]
    assert '"cancelled"' in results[1]["content"]
    assert ctx.messages() == results


@pytest.mark.parametrize("entry", ENTRIES)
@stoppable
def test_A1_a_cancelled_call_has_its_result_beside_the_others(
    strategy: str, body: str, entry: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked(("echo", {"value": 1}), (body, {"journal": journal.path, "gate": gate.path}))

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        group.tasks[0].wait(PATIENCE_S)
        group.interrupt("enough")

    first, second = steer(lambda: ctx.group(strategy), act, entry)

    assert ("ok", 1) == (first.status, first.value)
    assert_cancelled(second)
    assert_answered_in_full(ctx)


@pytest.mark.parametrize("entry", LOOPS)
@stoppable
def test_A1_a_caller_who_is_cancelled_can_render_all_the_same(
    strategy: str, body: str, entry: str, gate: Gate, journal: Journal
) -> None:
    """Cancellation is no ordinary exception; what turns errors into results must not be passed over by it."""
    ctx = asked(("echo", {"value": 1}), (body, {"journal": journal.path, "gate": gate.path}))

    async def main() -> None:
        group = ctx.group(strategy)

        async def moment() -> None:
            await gate.until_reached()
            await group.tasks[0]

        await cancel_when(entry, lambda: group, moment)

    run_in(entry, main)

    assert ["ok", "cancelled"] == [ret.status for ret in ctx.returns]
    assert_answered_in_full(ctx)


# A12: what the engine raises is swallowed by a wrapper


@stoppable
def test_A12_an_interrupt_is_no_error_that_a_wrapper_catches(strategy: str, body: str, gate: Gate) -> None:
    ctx = asked((f"soft-{body}", {"gate": gate.path}))
    (ret,) = steer(lambda: ctx.group(strategy), interrupt_at(gate))

    assert_cancelled(ret)


@stoppable
def test_A12_nor_is_a_limit_of_time(strategy: str, body: str, gate: Gate) -> None:
    ctx = asked((f"soft-{body}", {"gate": gate.path}))
    (ret,) = ctx.group(strategy, timeout=0.1).wait(PATIENCE_S)

    assert "timeout" == ret.status


# B1: the run is cancelled, and the tool keeps working


@pytest.mark.parametrize("entry", ENTRIES)
@stoppable
def test_B1_what_is_stopped_does_nothing_any_more(
    strategy: str, body: str, entry: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked((body, {"journal": journal.path, "gate": gate.path}))
    (ret,) = steer(lambda: ctx.group(strategy), interrupt_at(gate), entry)
    left = journal.lines()

    assert_cancelled(ret)
    assert 1 == ret.attempts
    assert ("+body", 1) == (left[0], left.count("-body"))
    rest = left[left.index("-body") + 1 :]
    assert {"step"} >= set(left[1:-1]) - {line for line in left if line.startswith("hook")} - {"-body"}
    assert "step" not in rest, "it went on after its end"
    hooks = [line for line in left if line.startswith("hook")]
    assert [f"hook {gate.reached[0]}"] == hooks, "its hook runs once, where the body ran"
    assert "ok" == asked(("echo", {})).wait(strategy)[0].status
    assert left == journal.lines(), "something went on after the Return"


@stoppable
def test_B1_asked_in_every_way_at_once_its_hook_runs_once(
    strategy: str, body: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked((body, {"journal": journal.path, "gate": gate.path}))

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        for _ in range(3):
            group.tasks[0].interrupt("enough")
            group.interrupt("again")
            ctx.interrupt("and again")
            group.tasks[0].function.interrupt("and again")

    (ret,) = steer(lambda: ctx.group(strategy), act)
    group_again = ctx.group(strategy)  # nothing is pending any more

    assert_cancelled(ret)
    assert 0 == len(group_again)
    assert 1 == sum(line.startswith("hook") for line in journal.lines())


# B7: queued calls run after the cancel


LIMITED = ["counts", "counts_alone", "acounts_with_a_resource"]


def _by_task(ctx: tx.Context, group: tx.Group) -> None:
    for task in group.tasks:
        task.interrupt("enough")


INTERRUPTS: dict[str, Callable[[tx.Context, tx.Group], object]] = {
    "group": lambda ctx, group: group.interrupt("enough"),
    "context": lambda ctx, group: ctx.interrupt("enough"),
    "tasks": _by_task,
}


@pytest.mark.parametrize("how", INTERRUPTS)
@pytest.mark.parametrize("tool", LIMITED)
@every
def test_B7_what_waits_for_its_turn_never_starts(
    strategy: str, tool: str, how: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked(*[(tool, {"journal": journal.path, "gate": gate.path})] * 5)
    window = 1 if tool == "counts" else None

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        INTERRUPTS[how](ctx, group)

    returns = steer(lambda: ctx.group(strategy, window=window), act)

    for ret in returns:
        assert_cancelled(ret)
    assert [1, 0, 0, 0, 0] == [ret.attempts for ret in returns]
    assert ["c1", "c2", "c3", "c4", "c5"] == [ret.id for ret in returns]
    assert ["ran"] == journal.lines()


@pytest.mark.parametrize("entry", LOOPS)
@pytest.mark.parametrize("tool", LIMITED)
@every
def test_B7_nor_does_it_when_the_one_who_waits_is_cancelled(
    strategy: str, tool: str, entry: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked(*[(tool, {"journal": journal.path, "gate": gate.path})] * 5)
    window = 1 if tool == "counts" else None

    async def main() -> None:
        await cancel_when(entry, lambda: ctx.run(strategy, window=window), gate.until_reached)

    run_in(entry, main)

    assert ["cancelled"] * 5 == [ret.status for ret in ctx.returns]
    assert [1, 0, 0, 0, 0] == [ret.attempts for ret in ctx.returns]
    assert ["ran"] == journal.lines()


@every
def test_B7_what_comes_later_in_an_interrupted_turn_never_starts(strategy: str, journal: Journal, gate: Gate) -> None:
    ctx = asked()
    ctx.interrupt("enough")
    ctx.receive([{"id": "c1", "name": "counts", "arguments": {"journal": journal.path, "gate": gate.path}}] * 2)
    returns = ctx.wait(strategy, timeout=PATIENCE_S)

    for ret in returns:
        assert_cancelled(ret)
    assert [] == journal.lines()
    ctx.next_turn()
    ctx.receive([{"id": "c2", "name": "echo", "arguments": {"value": 2}}])
    assert [2] == [ret.value for ret in ctx.wait(strategy, timeout=PATIENCE_S)]


# B17: the slot is not given back


ENDS = {"interrupted": "cancelled", "out of time": "timeout", "killed": "lost"}


@pytest.mark.parametrize("window", [None, 1])
@pytest.mark.parametrize(
    ("strategy", "how"),
    # Only a process of its own can die alone.
    [pytest.param(name, how, id=f"{name}-{how}") for name in ALL for how in ENDS if how != "killed" or name == "fork"],
)
def test_B17_a_place_is_given_back_however_its_call_ended(
    strategy: str, window: int | None, how: str, gate: Gate
) -> None:
    """There is one place, at the tools' resource and perhaps in the window: the second call has it next."""
    clock = ManualClock()
    arguments = {"gate": gate.path, "then": "die" if how == "killed" else ""}
    ctx = asked(("alone_for_a_while", arguments), ("alone", {}), ("alone", {}), clock=clock)

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        if how == "interrupted":
            group.tasks[0].interrupt("enough")
        elif how == "out of time":
            clock.wait_for_timers()  # a worker's report that the body has begun may come after the body
            clock.advance(1.0)  # the tool's own limit

    ended, *others = steer(lambda: ctx.group(strategy, window=window), act)

    assert ENDS[how] == ended.status
    assert ["ran", "ran"] == [ret.value for ret in others]
