"""Deferred calls: where they are listed, who may settle them, and what they outlive."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import RecordingTracer

LONG_S = 20.0

ran: list[int] = []


@tx.tool
def send(a: int) -> int:
    ran.append(a)
    return a


@tx.tool(strategy="thread")
def hold() -> None:
    call = tx.current_call()
    assert call is not None
    call.wait_interrupted(LONG_S)
    tx.checkpoint()


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def put_off(call: tx.Function) -> Any:
    return tx.DEFER


OPTIONS: dict[str, Any] = {"confirm": "send", "on_confirm": put_off, "strategy": "sequential"}


def context(**options: Any) -> tx.Context:
    return tx.Context([send, hold], **{**OPTIONS, **options})


def calls(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": f"c{a}", "name": "send", "arguments": {"a": a}} for a in numbers]


def deferred(*numbers: int, **options: Any) -> tx.Context:
    ctx = context(**options)
    ctx.receive(calls(*(numbers or (0,))))
    ctx.wait()
    return ctx


def ids(ctx: tx.Context) -> list[str | None]:
    return [call.id for call in ctx.deferred]


# Submitted


@pytest.mark.parametrize("history", [True, False])
def test_a_submitted_call_is_deferred_like_one_of_a_response(history: bool) -> None:
    ctx = deferred(0, history=history)
    tasks = [ctx.submit(call) for call in calls(1, 2, 3)]
    assert ["deferred"] * 3 == [task.wait().status for task in tasks]

    assert ["c0", "c1", "c2", "c3"] == ids(ctx)
    assert 1 == ctx.approve("c1").wait().value
    assert "denied" == ctx.deny("c2").status
    assert 9 == ctx.answer("c3", 9).value
    assert ["c0"] == ids(ctx)
    assert [1] == ran
    ctx.deny("c0")
    assert ["c0"] == [message["tool_call_id"] for message in ctx.messages("openai")], "the others are of no response"


def test_what_was_submitted_and_settled_is_not_kept() -> None:
    ctx = context(history=False)
    settle: list[Callable[[str], object]] = [ctx.deny, lambda call: ctx.approve(call).wait()]
    seen: list[weakref.ref[tx.Function]] = []
    for number, settle_one in enumerate(settle):
        task = ctx.submit(calls(number)[0])
        task.wait()
        settle_one(f"c{number}")
        seen.append(weakref.ref(task.function))
        del task
    ctx.submit(calls(2)[0]).wait()
    gc.collect()

    assert [None, None] == [ref() for ref in seen]
    assert ["c2"] == ids(ctx)


class Later(tx.Intercept):
    @classmethod
    def call(cls, *, function: tx.Function) -> Any:
        return tx.DEFER


def test_a_call_that_was_bound_by_hand_is_the_contexts_that_has_put_it_off() -> None:
    tracer = RecordingTracer()
    ctx = tx.Context([], tracer=tracer, strategy="sequential")
    call = send.bind({"a": 4}, "c4")
    call.intercept = Later
    ctx.submit(call).wait()

    assert [call] == list(ctx.deferred)
    with pytest.raises(tx.ToolexecError, match="another Context's"):
        context().approve(call)
    assert "no" == call.deny("no").reason
    assert ["start", "error"] * 2 == tracer.of("c4")
    assert not ctx.deferred


@pytest.mark.parametrize("history", [True, False])
def test_a_dump_has_submitted_calls_that_were_put_off(history: bool) -> None:
    ctx = deferred(0, history=history)
    for call in calls(1, 2):
        ctx.submit(call).wait()
    ctx.deny("c2")

    again = tx.Context.restore(ctx.dump(), [send, hold], **OPTIONS)

    assert ["c0", "c1"] == ids(again)
    assert ctx.dump() == again.dump()
    assert 1 == again.approve("c1").wait().value
    assert ["c0"] == ids(again)
    with pytest.raises(tx.ToolexecError, match=re.escape("not among tools=: 'send' ('c0'), 'send' ('c1')")):
        tx.Context.restore(ctx.dump(), [])


def test_nor_is_one_lost_that_is_in_flight_after_its_approval() -> None:
    ctx = context(strategy="sequential")
    ctx.submit(calls(0)[0]).wait()
    task = ctx.approve("c0")  # runs when somebody waits

    with pytest.raises(tx.ToolexecError, match=r"in flight.*'c0'"):
        ctx.dump()
    task.wait()
    assert not tx.Context.restore(ctx.dump(), [send]).deferred


# Settled by itself


BY_ITSELF: list[tuple[Callable[[tx.Function], tx.Return], str]] = [
    (lambda call: call.cancel("not this"), "cancelled"),
    (lambda call: call.deny("not this"), "denied"),
    (lambda call: call.budget_spent(), "budget"),
]


@pytest.mark.parametrize(("settle", "status"), BY_ITSELF)
@pytest.mark.parametrize("where", ["received", "submitted", "restored"])
def test_what_answers_a_deferred_call_settles_it(
    where: str, settle: Callable[[tx.Function], tx.Return], status: str
) -> None:
    ctx = context() if where == "submitted" else deferred()
    if where == "submitted":
        ctx.submit(calls(0)[0]).wait()
    if where == "restored":
        ctx = tx.Context.restore(ctx.dump(), [send], **OPTIONS)
    (call,) = ctx.deferred

    ret = settle(call)

    assert status == ret.status
    assert call.cancelled
    assert not ctx.deferred
    for again in (ctx.approve, ctx.deny):
        with pytest.raises(tx.ToolexecError, match=f"is not deferred: its Return is '{status}'"):
            again(call)
    assert not ran
    if where != "submitted":
        assert (ret,) == ctx.returns
        assert ret.reason is not None
        assert ret.reason in str(ctx.messages())


def test_a_return_made_for_a_deferred_call_settles_nothing_and_is_refused() -> None:
    ctx = deferred()
    (call,) = ctx.deferred
    ret = call.return_(5)

    with pytest.raises(tx.ToolexecError, match=r"a deferred one takes context\.answer or deny"):
        ctx.record([ret])
    assert ["c0"] == ids(ctx)


@pytest.mark.usefixtures("_switching")
def test_of_all_who_settle_a_call_at_once_exactly_one_does() -> None:
    """In many rounds, each party a little later than it could be."""
    dice = random.Random(7)
    won: set[str] = set()
    for number in range(150):
        ctx = deferred(number, strategy="thread")
        (call,) = ctx.deferred
        settle: list[Callable[[], tx.Return]] = [
            lambda: ctx.approve(f"c{number}").wait(),  # noqa: B023 - they end in this round
            lambda: ctx.deny(call),  # noqa: B023 - likewise
            lambda: ctx.answer(call, "by hand"),  # noqa: B023 - likewise
            lambda: ctx.approve(call).wait(),  # noqa: B023 - likewise
        ]
        found = _at_once(settle, dice)

        (ret,) = ctx.returns
        assert [ret] == [one for one in found if isinstance(one, tx.Return)]
        assert 3 == sum(isinstance(one, tx.ToolexecError) for one in found)
        assert ran.count(number) == (1 if ret.value == number else 0)
        won.add("approved" if ret.value == number else ret.status)
    assert len(won) > 1, "nobody is always first, or this shows nothing"


@pytest.mark.usefixtures("_switching")
@pytest.mark.parametrize(("settle", "status"), BY_ITSELF)
def test_a_call_that_answers_for_itself_and_one_who_approves_it_do_not_both(
    settle: Callable[[tx.Function], tx.Return], status: str
) -> None:
    dice = random.Random(9)
    for number in range(60):
        ctx = deferred(number, strategy="thread")
        (call,) = ctx.deferred
        parties = [lambda: ctx.approve(call).wait(), lambda: settle(call)]  # noqa: B023 - they end in this round
        approved, _ = _at_once(parties, dice)

        (ret,) = ctx.returns
        if isinstance(approved, tx.Return):  # and the other one has interrupted it, or come too late
            assert ret == approved
            assert ret.status in ("ok", "cancelled")
        else:
            assert isinstance(approved, tx.ToolexecError)
            assert status == ret.status
            assert number not in ran
        assert ran.count(number) <= 1
        assert ran.count(number) == 1 or not ret.ok


@pytest.fixture
def _switching() -> Iterator[None]:
    """Have threads take turns as often as they can, or the first one is through before the next one looks."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def _at_once(parties: list[Callable[[], Any]], dice: random.Random) -> list[Any]:
    found: list[Any] = [None] * len(parties)
    ready = threading.Barrier(len(parties))
    spins = [dice.randrange(2000) for _ in parties]

    def run(place: int) -> None:
        ready.wait(LONG_S)
        for _ in range(spins[place]):
            pass
        try:
            found[place] = parties[place]()
        except Exception as exc:  # noqa: BLE001 - it is looked at
            found[place] = exc

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(parties))]
    dice.shuffle(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
        assert not thread.is_alive()
    return found


# What is no deferred call of this Context


@pytest.mark.parametrize("settle", ["approve", "deny", "answer"])
def test_what_is_no_call_of_this_context_is_refused_saying_what_is_expected(settle: str) -> None:
    ctx, other = deferred(), deferred()
    (strange,) = other.deferred
    task = context().submit(calls(5)[0])

    def give(which: Any) -> None:
        getattr(ctx, settle)(which, *(["by hand"] if settle == "answer" else []))

    for which in (None, 3, ["c0"], ctx, task):
        with pytest.raises(TypeError, match=re.escape("is no call; it takes an id, which is a str, or one of")):
            give(which)
    with pytest.raises(TypeError, match="the call of a Task is its function"):
        give(task)
    for foreign in (strange, task.function):
        with pytest.raises(tx.ToolexecError, match=r"another Context's; it takes one of this one's deferred: 'c0'"):
            give(foreign)
    with pytest.raises(tx.ToolexecError, match="no call has the id 'c7'; deferred are: 'c0'"):
        give("c7")
    with pytest.raises(tx.ToolexecError, match="is not deferred: it has not been started"):
        give(send)
    assert ["c0"] == ids(ctx) == ids(other)
    assert not ran


# What a deferred call outlives


def interrupt_each(group: tx.Group) -> None:
    for task in group.tasks:
        task.interrupt("stop")


STOPS: dict[str, Callable[[tx.Context, tx.Group], object]] = {
    "group": lambda ctx, group: group.interrupt("stop"),
    "context": lambda ctx, group: ctx.interrupt("stop"),
    "another's cancel": lambda ctx, group: group.tasks[1].function.cancel("stop"),
    "each by itself": lambda ctx, group: interrupt_each(group),
}


@pytest.mark.parametrize("stop", STOPS)
def test_a_deferred_call_is_no_part_of_its_group_any_more_and_stays_deferred(stop: str) -> None:
    ctx = context(strategy="thread")
    ctx.receive([*calls(0), {"id": "h", "name": "hold"}])
    group = ctx.group()
    STOPS[stop](ctx, group)

    assert ["deferred", "cancelled"] == [ret.status for ret in group.wait(LONG_S)]
    assert ["c0"] == ids(ctx)
    if ctx.interrupted:
        ctx.next_turn()
    assert 0 == ctx.approve("c0").wait().value


def test_it_outlives_the_end_of_the_groups_time() -> None:
    ctx = context(strategy="thread")
    ctx.receive([*calls(0), {"id": "h", "name": "hold"}])

    assert ["deferred", "timeout"] == [ret.status for ret in ctx.group(timeout=0.01).wait(LONG_S)]
    assert 0 == ctx.approve("c0").wait().value


def test_and_a_wait_that_is_cancelled() -> None:
    async def main() -> None:
        ctx = context(strategy="thread")
        ctx.receive([*calls(0), {"id": "h", "name": "hold"}])
        waiting = asyncio.ensure_future(ctx.run())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ["deferred", "cancelled"] == [ret.status for ret in ctx.returns]
        assert 0 == (await ctx.approve("c0")).value

    asyncio.run(main())


def test_in_an_interrupted_turn_an_approved_call_does_not_run_and_others_settle_it_as_ever() -> None:
    ctx = deferred(0, 1, 2, 3)
    ctx.interrupt("enough")

    ret = ctx.approve("c0").wait()
    assert ("cancelled", "enough") == (ret.status, ret.reason)
    assert "denied" == ctx.deny("c1").status
    assert ctx.answer("c2", 5).ok
    assert ["c3"] == ids(ctx)
    assert not ran
    ctx.next_turn()
    assert 3 == ctx.approve("c3").wait().value


@pytest.mark.parametrize("history", [True, False])
def test_the_next_turn_and_the_next_response_leave_it_deferred(history: bool) -> None:
    ctx = deferred(0, 1, history=history)
    ctx.next_turn()
    assert ["c0", "c1"] == ids(ctx)
    for render in (ctx.turn, ctx.messages, ctx.history):
        with pytest.raises(tx.ToolexecError, match=r"deferred.*'c0', 'c1'"):
            render("openai")

    ctx.receive(calls(2))
    ctx.wait()
    assert ["c0", "c1", "c2"] == ids(ctx)
    ctx.answer("c2", "by hand")
    assert ["c2"] == [message["tool_call_id"] for message in ctx.messages("openai")], "they are the last response's"
    with pytest.raises(tx.ToolexecError, match=r"deferred.*'c0', 'c1'"):
        ctx.history("openai")

    ctx.approve("c0").wait()
    ctx.deny("c1")
    answered = [message["tool_call_id"] for message in ctx.history("openai") if message["role"] == "tool"]
    assert ["c0", "c1", "c2"] == answered
    assert [0] == ran


def test_what_has_no_return_yet_says_how_to_wait() -> None:
    ctx = context()
    ctx.receive(calls(0))

    with pytest.raises(tx.ToolexecError, match=r"no Return yet; first ctx\.wait\(\), or await ctx\.run\(\)"):
        ctx.messages()


def test_a_wrong_answer_to_a_deferred_call_leaves_it_deferred() -> None:
    ctx = deferred(0)
    put_off = ctx.deferred[0]
    reason: Any = None

    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: ctx.answer("c0", tx.DEFER), "not toolexec.DEFER; see also deny and approve"),
        (lambda: ctx.answer("c0", put_off.return_(3)), "answer takes what the tool would have returned, not Return"),
        (lambda: ctx.deny("c0", reason), "reason is None: it takes words"),
        (lambda: put_off.deny(reason), "reason is None: it takes words"),
    ]
    for settle, words in wrong:
        with pytest.raises(TypeError, match=words):
            settle()
    assert ["c0"] == ids(ctx)


def test_a_call_whose_own_intercept_cannot_be_one_is_not_started() -> None:
    ctx = tx.Context([], strategy="sequential")
    call = send.bind({"a": 4}, "c4")
    call.intercept = 3

    with pytest.raises(tx.DeclarationError, match="intercept is 3"):
        ctx.submit(call)
    assert call.pending
    call.intercept = None
    assert ctx.submit(call).wait().ok
