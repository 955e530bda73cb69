"""Claims: whoever starts a call at the same moment as others, one of them has it, and all have its Return."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from toolexec._claim import newest
from toolexec.lowlevel import Place
from toolexec_strategies.thread import ThreadStrategy

ran: list[int] = []


@tx.tool
def count(a: int) -> int:
    ran.append(a)
    return a


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Meeting(ThreadStrategy):
    """Binding comes after a Group has chosen its calls, and before it claims them."""

    name = "meeting"

    def __init__(self, parties: int) -> None:
        super().__init__()
        self._barrier = threading.Barrier(parties)

    def bind(self) -> Place:
        self._barrier.wait(20)
        return super().bind()


class Late(ThreadStrategy):
    """Before the first Group can claim what it has chosen, another does so, and comes to its end."""

    name = "late"

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = [meanwhile]

    def bind(self) -> Place:
        if self._meanwhile:
            in_thread(self._meanwhile.pop())
        return super().bind()


def in_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def at_once(*calls: Callable[[], object]) -> list[Any]:
    """What each gives or raises, each in a thread of its own."""
    found: list[Any] = [None] * len(calls)
    ready = threading.Barrier(len(calls))

    def run(place: int) -> None:
        ready.wait(20)
        try:
            found[place] = calls[place]()
        except Exception as exc:  # noqa: BLE001 - it is looked at below
            found[place] = exc

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found


def received(calls: int = 1, **options: Any) -> tx.Context:
    ctx = tx.Context(tools=[count], **options)
    ctx.receive([{"id": f"c{a}", "name": "count", "arguments": {"a": a}} for a in range(calls)])
    return ctx


def put_off(call: tx.Function) -> Any:
    return tx.DEFER


def deferred(**options: Any) -> tx.Context:
    ctx = received(confirm="count", on_confirm=put_off, **options)
    ctx.wait("thread")
    return ctx


def restored() -> tx.Context:
    return tx.Context.restore(deferred().dump(), tools=[count])


def test_two_groups_that_have_chosen_the_same_calls_do_not_both_start_them() -> None:
    ctx = received(3)
    strategy = Meeting(2)

    first, second = at_once(lambda: ctx.wait(strategy), lambda: ctx.wait(strategy))

    assert [0, 1, 2] == sorted(ran)
    assert [0, 1, 2] == [ret.value for ret in first] == [ret.value for ret in second]


def test_a_group_does_not_start_what_another_has_started_since_it_chose() -> None:
    ctx = received()

    group = ctx.group(Late(lambda: ctx.wait("thread")))

    assert () == group.wait()
    assert [0] == ran


def test_a_group_does_not_start_what_was_deferred_since_it_chose() -> None:
    ctx = received(confirm="count", on_confirm=put_off)

    assert () == ctx.group(Late(lambda: ctx.wait("thread"))).wait()
    assert ["deferred"] == [ret.status for ret in ctx.returns]


@pytest.mark.parametrize("make", [deferred, restored])
def test_of_eight_who_approve_a_deferred_call_one_does(make: Callable[[], tx.Context]) -> None:
    ctx = make()
    strategy = Meeting(8)  # all have found it deferred

    found = at_once(*[lambda: ctx.approve("c0", strategy=strategy).wait()] * 8)

    assert [0] == ran
    assert list(ctx.returns) == [ret for ret in found if isinstance(ret, tx.Return)]
    assert 7 == sum(isinstance(exc, tx.ToolexecError) for exc in found)


def test_of_those_who_settle_a_deferred_call_by_hand_one_does() -> None:
    ctx = deferred()
    settle: list[Callable[[], object]] = [lambda: ctx.deny("c0"), lambda: ctx.answer("c0", 5)] * 4

    found = at_once(*settle)

    assert list(ctx.returns) == [ret for ret in found if isinstance(ret, tx.Return)]
    assert 7 == sum(isinstance(exc, tx.ToolexecError) for exc in found)


def test_a_deferred_call_that_is_started_by_itself_is_not_deferred_any_more() -> None:
    answers = [True, tx.DEFER]

    def on_confirm(call: tx.Function) -> Any:
        return answers.pop()

    ctx = received(confirm="count", on_confirm=on_confirm)
    ctx.wait("thread")
    (call,) = ctx.deferred

    task = call.task("sequential")  # runs when somebody waits

    assert not ctx.deferred
    with pytest.raises(tx.ToolexecError, match="is not deferred: it runs"):
        ctx.approve("c0")
    assert task.wait().ok
    assert [0] == ran


def test_who_waits_for_a_call_whose_start_is_undone_by_ctrl_c_starts_it() -> None:
    found: list[tuple[tx.Return, ...]] = []
    other = threading.Thread(target=lambda: found.append(ctx.wait("thread")))

    def on_confirm(call: tx.Function) -> bool:
        if not other.ident:
            other.start()
            task = newest(call)
            assert task is not None
            until = time.monotonic() + 20
            while not task._wakers and time.monotonic() < until:  # till the other one waits for it
                os.sched_yield()
            raise KeyboardInterrupt
        return True

    ctx = received(confirm="count", on_confirm=on_confirm)
    with pytest.raises(KeyboardInterrupt):
        ctx.group("thread")

    other.join(20)
    assert [0] == ran
    assert [list(ctx.returns)] == [list(returns) for returns in found]
