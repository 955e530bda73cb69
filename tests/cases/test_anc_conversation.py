"""What the Ruby ancestor's users could rely on in a conversation: its queue (Q) and its context (C)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolexec as tx
from cases.case_steps import steer
from cases.case_tools import ALL, PATIENCE_S, TOOLS, echo, received
from cases.stopping_tools import Labelled
from provider_formats import Call
from provider_streams import STREAMS, events
from toolexec.testing import Gate, Journal

every = pytest.mark.parametrize("strategy", ALL)
# Slowest first, so that answers in the order of their ends would show.
MIXED = ["interpreter", "fork", "trio", "asyncio", "thread", "sequential"]
THERE = [name for name in MIXED if name in ALL]


class Log(tx.Tracer):
    def __init__(self) -> None:
        self.lines: list[tuple[str, Any]] = []

    def on_tool_start(self, function: tx.Function) -> None:
        self.lines.append(("start", function.id))

    def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append(("finish", ret.value))

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append(("error", ret.value["type"]))


def sent(function: tx.Function) -> Any:
    """What a call was asked with, which some formats have as text."""
    return json.loads(function.arguments) if isinstance(function.arguments, str) else function.arguments


def mixed(log: Log | None = None) -> tx.Context:
    """One call begun under each strategy, then one answered by hand and one cancelled."""
    ctx = received(*(("echo", {"value": n}) for n in range(len(THERE) + 2)), tracer=log)
    *begun, by_hand, cancelled = ctx.pending_functions
    for function, strategy in zip(begun, THERE, strict=True):
        function.task(strategy)
    ctx.record([by_hand.return_("by hand")])
    cancelled.cancel("not wanted")
    return ctx


def test_anc_Q1_calls_of_any_strategy_and_ready_returns_are_waited_for_together() -> None:
    ctx = mixed()

    assert not ctx.pending_functions
    returns = ctx.wait(timeout=PATIENCE_S)
    assert [*range(len(THERE)), "by hand"] == [ret.value for ret in returns[:-1]]
    assert ("cancelled", "not wanted") == (returns[-1].status, returns[-1].reason)
    assert returns == ctx.returns


def test_anc_Q1_a_context_that_has_received_nothing_has_nothing_to_wait_for() -> None:
    assert ((), 0) == (tx.Context(TOOLS).wait(), len(tx.Context(TOOLS).pending_functions))


@every
def test_anc_Q2_each_call_is_waited_for_by_its_own_kind_whatever_is_asked_for(strategy: str) -> None:
    log = Log()
    returns = mixed(log).wait(strategy, timeout=PATIENCE_S)

    assert [*THERE, None, None] == [ret.strategy for ret in returns]
    assert [f"c{n}" for n in range(1, len(returns) + 1)] == [ret.id for ret in returns]
    assert len(THERE) == len([line for line in log.lines if line[0] == "start"]), "nothing ran twice"


@pytest.mark.parametrize("provider", STREAMS)
def test_anc_Q5_a_streamed_call_is_told_of_once_its_arguments_are_whole(provider: str) -> None:
    log = Log()
    ctx = tx.Context([echo], tracer=log, strategy="thread")
    asked = [Call("echo", {"value": "a, b and c"}, "c1"), Call("ehco", {}, "c2")]
    stream = ctx.stream(events(provider, *asked))
    seen = [list(map(sent, stream.functions)) for _ in stream]

    whole = [call.arguments for call in asked]
    assert all(told == whole[: len(told)] for told in seen)
    assert [log, log] == [fn.tracer for fn in stream.functions]
    assert [None if provider == "bedrock" else "m"] * 2 == [fn.model for fn in stream.functions]
    returns = ctx.wait(timeout=PATIENCE_S)
    assert ["a, b and c", "unknown_tool"] == [ret.value if ret.ok else ret.status for ret in returns]
    assert {"start", "finish", "error"} == {line[0] for line in log.lines}


def test_anc_Q6_names_are_those_of_the_contexts_own_tools_and_nothing_of_the_registry() -> None:
    class Elsewhere(tx.Tool):
        name = "elsewhere"

        def call(self) -> str:
            raise AssertionError

    assert Elsewhere is tx.Tool.find_by_name("elsewhere")
    try:
        here, there = received(("echo", {"value": 1}), ("elsewhere", {}), tools=[echo]).wait()
    finally:
        tx.Tool.unregister(Elsewhere)

    assert (1, "unknown_tool") == (here.value, there.status)


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
def test_anc_Q7_an_interrupt_reaches_every_call_and_leaves_ready_returns_alone(
    how: str, gate: Gate, journal: Journal
) -> None:
    concurrent = [name for name in THERE if name != "sequential"]
    arguments = {"journal": journal.path, "gate": gate.path}
    labels: list[tuple[str, Any]] = [("labelled", {"label": name, **arguments}) for name in concurrent]
    ctx = received(*labels, ("echo", {"value": 1}), tools=[Labelled, echo])
    *stopped, ready = ctx.pending_functions
    for function, strategy in zip(stopped, concurrent, strict=True):
        function.task(strategy)
    ready.task("thread").wait(PATIENCE_S)
    gate.wait_until_reached(len(concurrent))
    getattr(ctx, how)("enough")
    getattr(ctx, how)("again")
    returns = ctx.wait(timeout=PATIENCE_S)

    assert [("cancelled", "enough")] * len(concurrent) == [(ret.status, ret.reason) for ret in returns[:-1]]
    assert (1, "ok") == (returns[-1].value, returns[-1].status)
    assert sorted(gate.reached) == sorted(journal.lines()), "each hook once, where its call ran"


def test_anc_C1_pending_is_what_is_neither_begun_cancelled_nor_answered(gate: Gate, journal: Journal) -> None:
    begun: dict[str, Any] = {"label": "x", "journal": journal.path, "gate": gate.path}
    ctx = received(("labelled", begun), *[("echo", {"value": n}) for n in range(4)], tools=[Labelled, echo])
    running, called, cancelled, answered, left = ctx.pending_functions
    running.task("thread")
    gate.wait_until_reached()
    called.call()
    cancelled.cancel()
    ctx.record([answered.return_("by hand")])

    assert [left] == list(ctx.pending_functions)
    ctx.receive([{"id": "next", "name": "echo"}])
    assert ["c5", "next"] == [function.id for function in ctx.pending_functions], "of earlier responses too"
    ctx.interrupt()


def test_anc_C2_there_are_calls_to_see_to_as_long_as_one_is_pending() -> None:
    ctx = tx.Context(TOOLS)
    assert not ctx.pending_functions
    functions = ctx.receive([{"id": "a", "name": "echo"}, {"id": "b", "name": "echo"}])
    assert functions
    functions[0].cancel()
    assert ctx.pending_functions
    ctx.wait()
    assert not ctx.pending_functions
    assert not ctx.receive([])


@every
def test_anc_C3_what_is_pending_runs_as_one_group_under_every_strategy(strategy: str) -> None:
    log = Log()
    ctx = received(("echo", {"value": 1}), ("fail", {}), ("echo", {"value": 2}), tracer=log)
    returns = ctx.wait(strategy)

    assert [1, "ValueError", 2] == [ret.value["type"] if ret.error else ret.value for ret in returns]
    assert [strategy] * 3 == [ret.strategy for ret in returns]
    assert returns == ctx.wait(strategy)
    started, ended = [line for line in log.lines if line[0] == "start"], [("error", "ValueError"), ("finish", 1)]
    assert ["c1", "c2", "c3"] == sorted(call_id for _, call_id in started)
    assert sorted([*ended, ("finish", 2)], key=str) == sorted(
        (line for line in log.lines if line[0] != "start"), key=str
    )


@every
def test_anc_C3_what_has_begun_is_waited_for_and_the_rest_begun(strategy: str) -> None:
    ctx = received(("echo", {"value": 1}), ("echo", {"value": 2}))
    ctx.pending_functions[0].task("thread")

    assert [(1, "thread"), (2, strategy)] == [(ret.value, ret.strategy) for ret in ctx.wait(strategy)]


@every
def test_anc_C4_waiting_tells_the_tracer_and_leaves_out_what_it_is_to(strategy: str) -> None:
    log = Log()
    ctx = received(*(("echo", {"value": n}) for n in range(4)), tracer=log)
    functions = ctx.pending_functions
    returns = functions.except_(functions[1], functions[2]).wait(strategy)

    assert [0, 3] == [ret.value for ret in returns]
    assert [("finish", 0), ("finish", 3)] == sorted(line for line in log.lines if line[0] == "finish")
    assert [functions[1], functions[2]] == list(ctx.pending_functions)
    assert [0, 1, 2, 3] == [ret.value for ret in ctx.wait(strategy)]
    assert 4 == len([line for line in log.lines if line[0] == "finish"])


def test_anc_C4_functions_are_left_out_by_identity_and_again_and_again() -> None:
    ctx = tx.Context(TOOLS)
    functions = ctx.receive([{"id": "same", "name": "echo", "arguments": {"value": n}} for n in range(3)])
    first, second, third = functions

    assert first == second == third, "by id they are equal"
    assert [second] == [function for function in functions.except_(first).except_(third) if function is second]
    assert [1] == [ret.value for ret in (functions - [first] - [third]).wait()]
    assert 3 == len(functions.except_())
    assert not functions.except_(*functions)
    assert [0, 1, 2] == [ret.value for ret in ctx.wait()]


def test_anc_C4_what_is_left_out_is_not_reached_by_an_interrupt_of_the_others(gate: Gate, journal: Journal) -> None:
    begun: dict[str, Any] = {"label": "x", "journal": journal.path, "gate": gate.path}
    ctx = received(("labelled", begun), ("echo", {"value": 1}), tools=[Labelled, echo])
    functions = ctx.pending_functions

    def act(group: tx.Group) -> None:
        gate.wait_until_reached()
        group.interrupt("enough")

    assert ["cancelled"] == [ret.status for ret in steer(lambda: (functions - [functions[1]]).group("thread"), act)]
    assert ["cancelled", "ok"] == [ret.status for ret in ctx.wait()]


@every
def test_anc_C5_what_a_stream_has_begun_is_kept_until_it_was_waited_for(strategy: str) -> None:
    ctx = tx.Context([echo], strategy=strategy)
    for turn in range(2):
        for _ in ctx.stream(
            events("openai", Call("echo", {"value": turn}, "c1"), Call("echo", {"value": -turn}, "c2"))
        ):
            pass
        group = ctx.group()
        assert [turn, -turn] == [ret.value for ret in group.wait(PATIENCE_S)]
        assert not ctx.group().tasks, "it is not in a Group twice, and not in a later turn"
        assert group.returns == ctx.wait()
        assert 3 * (turn + 1) == len(ctx.history())


@every
def test_anc_C12_calls_and_what_they_came_from_survive_serialise_and_restore(strategy: str) -> None:
    ctx = received(("echo", {"value": 1}), ("fail", {}), ("echo", {"value": 2}), ("ehco", {}))
    ctx.pending_functions[:2].wait()
    log = Log()
    again = tx.Context.restore(ctx.dump(), TOOLS, tracer=log)

    def state(of: tx.Context) -> list[Any]:
        functions = of.calls
        return [(fn.id, fn.name, fn.arguments, fn.model, fn.called, fn.pending) for fn in functions]

    assert state(ctx) == state(again)
    assert ctx.returns == again.returns
    assert [1, "raised", 2, "unknown_tool"] == [
        ret.value if ret.ok else ret.status for ret in again.wait(strategy, timeout=PATIENCE_S)
    ]
    assert {"c3", "c4"} == {line[1] for line in log.lines if line[0] == "start"}, "nothing runs twice"
    assert [2] == [line[1] for line in log.lines if line[0] == "finish"]
    ctx.wait("sequential")
    assert ctx.history() == again.history()
    assert [strategy] == [ret.strategy for ret in again.returns if ret.id == "c3"]
