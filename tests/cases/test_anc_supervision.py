"""What the Ruby ancestor's users could rely on in its agent (A) and guard (C), and the faults that these still have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from cases.case_steps import steer
from cases.case_tools import ALL, CONCURRENT, PATIENCE_S, echo, note
from cases.stopping_tools import Labelled
from provider_formats import Call
from provider_streams import events
from toolexec.testing import Gate, Journal, RecordingTracer

every = pytest.mark.parametrize("strategy", ALL)


def notes(journal: Journal, *lines: str) -> list[dict[str, Any]]:
    """Calls of ``note`` that leave these lines."""
    return [
        {"id": f"c{number}", "name": "note", "arguments": {"path": journal.path, "line": line}}
        for number, line in enumerate(lines, 1)
    ]


def rounds(ctx: tx.Context, count: int, *calls: dict[str, Any]) -> list[list[str]]:
    """How the calls end, if a model asks for them again and again in one turn."""
    return [[ret.status for ret in ctx.receive(list(calls)).wait(timeout=PATIENCE_S)] for _ in range(count)]


# The agent's budget


@every
def test_anc_A2_so_many_calls_run_and_the_next_is_told_that_these_are_too_many(strategy: str, journal: Journal) -> None:
    ctx = tx.Context([note], strategy=strategy, budget=25)
    ran = ctx.receive(notes(journal, *map(str, range(25)))).wait(timeout=PATIENCE_S)
    (over,) = ctx.receive(notes(journal, "over")).wait(timeout=PATIENCE_S)

    assert ({"ok"}, "budget") == ({ret.status for ret in ran}, over.status)
    assert 25 == len(journal.lines())
    told = json.loads(ctx.messages("openai")[0]["content"])
    assert "you are making too many tool calls" == told["reason"]
    assert "temporary error that resets on the next turn" in told["advice"]


@pytest.mark.parametrize("off", [None, tx.Budget()])
def test_anc_A2_none_is_no_bound(off: Any, journal: Journal) -> None:
    ctx = tx.Context([note], strategy="sequential", budget=off)
    assert [["ok"]] * 60 == rounds(ctx, 60, *notes(journal, "again"))


# Its confirmations


@pytest.mark.parametrize("kind", ["sync", "async"])
@every
def test_anc_A4_named_calls_are_put_before_somebody_and_answers_stay_in_call_order(
    strategy: str, kind: str, journal: Journal
) -> None:
    asked: list[str] = []
    tracer = RecordingTracer()

    def says(function: tx.Function) -> Any:
        line = function.arguments["line"]
        asked.append(line)
        if line == "cancel":
            return function.cancel("not wanted")
        return True if line == "run" else function.return_("by hand")

    async def asays(function: tx.Function) -> Any:
        return says(function)

    ctx = tx.Context(
        [note, echo],
        strategy=strategy,
        confirm=["note"],
        on_confirm=says if kind == "sync" else asays,
        tracer=tracer,
    )
    asking = notes(journal, "run", "result", "cancel")
    asking.insert(1, {"id": "free", "name": "echo", "arguments": {"value": "free"}})
    returns = ctx.receive(asking).wait(timeout=PATIENCE_S)

    assert ["run", "free", "by hand", None] == [ret.value if ret.ok else None for ret in returns]
    assert ("cancelled", "not wanted") == (returns[3].status, returns[3].reason)
    assert ["cancel", "result", "run"] == sorted(asked)
    assert ["run"] == journal.lines(), "what was confirmed ran once"
    for ret in returns:
        assert ["start", "finish" if ret.ok else "error"] == tracer.of(ret.id)


def test_anc_A4_without_anybody_to_ask_they_are_denied(journal: Journal) -> None:
    ctx = tx.Context([note, echo], strategy="thread", confirm="note")
    returns = ctx.receive([*notes(journal, "one"), {"id": "c2", "name": "echo"}]).wait(timeout=PATIENCE_S)

    assert ["denied", "ok"] == [ret.status for ret in returns]
    assert [] == journal.lines()


# The guard


class Stops:
    def __init__(self, warning: str | None = "enough of this") -> None:
        self.warning = warning

    def call(self, context: tx.Context) -> str | None:
        return self.warning


STARTS: dict[str, Callable[[tx.Context, Any], Any]] = {
    "wait": lambda ctx, fns: ctx.wait(timeout=PATIENCE_S),
    "group": lambda ctx, fns: fns.group().wait(PATIENCE_S),
    "task": lambda ctx, fns: [fn.task().wait(PATIENCE_S) for fn in fns],
    "submit": lambda ctx, fns: [ctx.submit(fn).wait(PATIENCE_S) for fn in fns],
}


@pytest.mark.parametrize("how", STARTS)
@every
def test_anc_C6_a_warning_answers_every_call_whoever_starts_it(strategy: str, how: str, journal: Journal) -> None:
    ctx = tx.Context([note], strategy=strategy, guard=Stops())
    returns = STARTS[how](ctx, ctx.receive(notes(journal, "a", "b")))

    assert [("budget", "enough of this")] * 2 == [(ret.status, ret.reason) for ret in returns]
    assert [{"cancelled": True, "reason": "enough of this"}] * 2 == [ret.value for ret in returns]
    assert [] == journal.lines()
    assert not ctx.pending_functions


@pytest.mark.parametrize("strategy", CONCURRENT)
def test_anc_C6_what_runs_already_is_waited_for_regardless(strategy: str, gate: Gate, journal: Journal) -> None:
    guard = Stops(None)
    ctx = tx.Context([Labelled, note], strategy=strategy, guard=guard)
    arguments = {"label": "a", "journal": journal.path, "gate": gate.path}
    ctx.receive([{"id": "c0", "name": "labelled", "arguments": arguments}, *notes(journal, "b")])
    running, waiting = ctx.pending_functions
    task = running.task()
    gate.wait_until_reached()
    guard.warning = "enough of this"
    group = ctx.group()

    assert [waiting] == [task.function for task in group.tasks]
    assert ["budget"] == [ret.status for ret in group.wait(PATIENCE_S)]
    assert task.alive
    task.interrupt()
    assert ["cancelled", "budget"] == [ret.status for ret in ctx.wait(timeout=PATIENCE_S)]


@pytest.mark.parametrize(
    ("guard", "fires_at"),
    [
        (True, 3),
        ({"threshold": 4}, 4),
        (tx.LoopGuard(threshold=2), 2),
        (Stops(), 1),
        (False, None),
        (None, None),
    ],
    ids=["True", "options", "a LoopGuard", "an object", "False", "None"],
)
@every
def test_anc_C7_a_guard_is_true_options_an_object_or_off(
    strategy: str, guard: Any, fires_at: int | None, journal: Journal
) -> None:
    ctx = tx.Context([note], strategy=strategy, guard=guard)
    went = rounds(ctx, 5, *notes(journal, "a"))

    assert (went.index(["budget"]) + 1 if ["budget"] in went else None) == fires_at
    assert (5 if fires_at is None else fires_at - 1) == len(journal.lines())


# Its interrupt


@pytest.mark.parametrize("strategy", CONCURRENT)
def test_anc_C8_an_interrupt_reaches_what_runs_and_what_is_pending_and_nothing_else(
    strategy: str, gate: Gate, journal: Journal
) -> None:
    ctx = tx.Context([Labelled, note], strategy=strategy)
    arguments = {"label": "a", "journal": journal.path, "gate": gate.path}
    ctx.receive([*notes(journal, "done"), {"id": "c2", "name": "labelled", "arguments": arguments}])
    settled, running = ctx.pending_functions
    before = settled.task().wait(PATIENCE_S)
    ctx.receive(notes(journal, "pending"))

    def act(task: tx.Task) -> None:
        gate.wait_until_reached()
        ctx.interrupt("enough")

    assert "cancelled" == steer(running.task, act).status
    returns = ctx.wait(timeout=PATIENCE_S)
    assert [("cancelled", "enough")] == [(ret.status, ret.reason) for ret in returns]
    assert ctx.returns[0] is before
    assert ["ok", "cancelled", "cancelled"] == [ret.status for ret in ctx.returns]
    assert "pending" not in journal.lines()
    assert {"role": "tool", "tool_call_id": "c1"}.items() <= ctx.messages("openai")[0].items()


# Its loop guard compared the wrapped arguments' identities.


@every
@pytest.mark.parametrize("arguments", ["a dict", "JSON text", "none"])
def test_anc_fault_loop_guard_fires_at_the_third_equal_call(strategy: str, arguments: str, journal: Journal) -> None:
    given = {"path": journal.path, "line": "x"}
    name = "echo" if arguments == "none" else "note"

    def sent() -> Any:
        return {"a dict": dict(given), "JSON text": json.dumps(given), "none": None}[arguments]

    ctx = tx.Context([note, echo], strategy=strategy, guard=True)
    went = [
        ctx.receive([{"id": f"c{number}", "name": name, "arguments": sent()}]).wait(timeout=PATIENCE_S)[0].status
        for number in range(10)
    ]
    assert ["ok"] * 2 + ["budget"] * 8 == went


# Calls of a stream, and those that were confirmed, went round the guard.


@every
def test_anc_fault_guard_bypassed_by_no_stream_and_no_approval(strategy: str, journal: Journal) -> None:
    asked: list[tx.Function] = []

    def approve(function: tx.Function) -> bool:
        asked.append(function)
        return True

    ctx = tx.Context([note], strategy=strategy, guard=Stops(), confirm=["note"], on_confirm=approve)
    for _ in ctx.stream(
        events("ollama", *(Call("note", call["arguments"], call["id"]) for call in notes(journal, "a")))
    ):
        pass
    ctx.wait(timeout=PATIENCE_S)
    ctx.receive(notes(journal, "b")).wait(timeout=PATIENCE_S)

    assert ["budget", "budget"] == [ret.status for ret in ctx.returns]
    assert ([], []) == (asked, journal.lines())


# A guard's answers left their calls pending, and the next wait might run them.


@every
def test_anc_fault_guard_pending_calls_have_their_answer_and_do_not_run_later(strategy: str, journal: Journal) -> None:
    guard = Stops()
    ctx = tx.Context([note], strategy=strategy, guard=guard)
    returns = ctx.receive(notes(journal, "a", "b")).wait(timeout=PATIENCE_S)
    guard.warning = None

    assert not ctx.pending_functions
    assert returns == ctx.wait(timeout=PATIENCE_S) == ctx.returns
    assert [] == journal.lines()


# The budget began anew after each warning: 120 requests were 116 runs.


@every
def test_anc_fault_budget_stays_spent_until_the_next_turn(strategy: str, journal: Journal) -> None:
    ctx = tx.Context([note], strategy=strategy, budget=4)
    went = rounds(ctx, 20, *notes(journal, "again"))

    assert [["ok"]] * 4 + [["budget"]] * 16 == went
    assert 4 == len(journal.lines())
    ctx.next_turn()
    assert [["ok"]] == rounds(ctx, 1, *notes(journal, "again"))


# In mixed batches what had been confirmed ran once more.


@every
def test_anc_fault_confirmed_twice_nothing_runs_and_each_call_has_one_answer(strategy: str, journal: Journal) -> None:
    ctx = tx.Context(
        [note, echo],
        strategy=strategy,
        confirm=lambda function: function.name == "note" and function.arguments["line"] != "free",
        on_confirm=lambda function: True,
    )
    returns = ctx.receive(notes(journal, "asked", "free", "asked as well")).wait(timeout=PATIENCE_S)

    assert ["asked", "free", "asked as well"] == [ret.value for ret in returns]
    assert returns == ctx.wait(timeout=PATIENCE_S)
    assert ["asked", "asked as well", "free"] == sorted(journal.lines())
    assert ["c1", "c2", "c3"] == [message["tool_call_id"] for message in ctx.messages("openai")]
