"""Waiting: as often as one likes, from wherever, bounded or not, and nothing runs twice."""

from __future__ import annotations

from collections.abc import Callable

import toolexec
from toolexec import Context, Group, Return, WaitTimeout
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import LIMIT_S, Driver, run
from toolexec.testing._harness import Harness
from toolexec.testing._journal import Journal
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import concurrent, needs, one_at_a_time, only_under
from toolexec.testing._threads import beside, on_threads


def check_wait_again(harness: Harness) -> None:
    """Waiting a second time, in any way, gives the same Returns and runs nothing again."""
    journal = harness.journal()
    functions = harness.receive([ordered.note, ordered.anote], _notes(journal))

    def wait() -> tuple[Group, list[tuple[Return, ...]], list[Return]]:
        group = functions.group()
        return group, [group.wait(LIMIT_S), group.wait(), functions.wait(timeout=LIMIT_S)], list(group)

    async def await_() -> tuple[Group, list[tuple[Return, ...]], list[Return]]:
        group = functions.group()
        return group, [await group, await group, await functions.run()], [ret async for ret in group]

    group, answers, finished = wait() if harness.driver == "sync" else run(harness.driver, await_)
    answers += [group.wait(), functions.wait(), tuple(task.wait() for task in group.tasks)]

    assert [ret.value for ret in answers[0]] == ["0", "1", "2"], answers
    for answer in answers:
        assert _same(answer, answers[0]), answers
    assert sorted(map(id, finished)) == sorted(map(id, answers[0])), finished
    assert sorted(journal.lines()) == ["0", "1", "2"], journal.lines()
    assert group.returns == answers[0] and not group.alive, group


@only_under("sync")
def check_wait_from_several_threads(harness: Harness) -> None:
    """Threads that wait at once get the same Returns; each body runs once."""
    journal = harness.journal()
    group = harness.receive([ordered.note, ordered.anote], _notes(journal)).group()

    def wait(number: int) -> tuple[Return, ...]:
        return group.wait(LIMIT_S) if number % 2 else tuple(task.wait(LIMIT_S) for task in group.tasks)

    answers = on_threads(6, wait)

    for answer in answers:
        assert _same(answer, answers[0]), answers
    assert sorted(journal.lines()) == ["0", "1", "2"], journal.lines()


@only_under("sync")
def check_await_from_two_kinds_of_loop(harness: Harness) -> None:
    """One Group may be awaited under asyncio and under trio at the same time."""
    journal = harness.journal()
    group = harness.receive([ordered.note, ordered.anote], _notes(journal)).group()

    async def wait() -> tuple[Return, ...]:
        return await group

    kinds: tuple[Driver, ...] = ("asyncio", "trio", "asyncio", "trio")
    answers = on_threads(4, lambda number: run(kinds[number], wait))

    for answer in answers:
        assert [ret.value for ret in answer] == ["0", "1", "2"], answers
        assert _same(answer, answers[0]), answers
    assert sorted(journal.lines()) == ["0", "1", "2"], journal.lines()


@needs(concurrent)
@only_under("sync")
def check_bounded_wait(harness: Harness) -> None:
    """A wait that ends too early names who has not settled, interrupts nothing and may be repeated."""
    gate = harness.gate()
    calls = [("pass_gate", {"gate": gate.path, "label": "0"}), ("add", {"a": 1})]
    functions = harness.receive([ordered.pass_gate, tools.add], calls)
    group = functions.group(window=2)
    gate.wait_until_reached()
    group.tasks[1].wait(LIMIT_S)

    waits: list[Callable[[], object]] = [
        lambda: group.wait(0.001),
        lambda: group.wait(0),
        lambda: group.tasks[0].wait(0),
        lambda: functions.wait(timeout=0.001),
    ]
    for wait in waits:
        assert _unsettled(wait) == ("c0",)
    assert group.alive and [ret is None for ret in group.returns] == [True, False], group.returns

    gate.open()
    assert [ret.value for ret in group.wait(LIMIT_S)] == ["0", 2]
    assert [ret.value for ret in functions.wait(timeout=0)] == ["0", 2]


@needs(concurrent)
@only_under("asyncio", "trio")
def check_bounded_await(harness: Harness) -> None:
    """So does ``await group.settled(timeout)``."""
    gate = harness.gate()
    functions = harness.receive([ordered.apass_gate], [("apass_gate", {"gate": gate.path, "label": "0"})])

    async def main() -> tuple[Return, ...]:
        group = functions.group()
        await gate.until_reached()
        try:
            await group.settled(0.001)
        except WaitTimeout as timeout:
            assert timeout.unsettled == ("c0",), timeout.unsettled
        else:
            raise AssertionError("a call that stands at a gate has settled")
        gate.open()
        return await group.settled(LIMIT_S)

    (ret,) = run(harness.driver, main)

    assert ret.value == "0", ret


@needs(concurrent)
@only_under("sync")
def check_bounded_wait_by_the_clock(harness: Harness) -> None:
    """The Context's clock bounds a wait, not the system's."""
    clock, gate = ManualClock(), harness.gate()
    context = Context([ordered.pass_gate], strategy=harness.strategy, clock=clock)
    group = context.receive([{"id": "c0", "name": "pass_gate", "arguments": {"gate": gate.path, "label": "0"}}]).group()

    def hours_later() -> None:
        gate.wait_until_reached()
        clock.wait_for_timers()
        clock.advance(7200)

    with beside(hours_later, gate.close):
        assert _unsettled(lambda: group.wait(3600)) == ("c0",)
    gate.open()
    (ret,) = group.wait()

    # When the body began is known to the host when the worker's report is there, which may be later.
    assert (ret.value, ret.queued_s + ret.duration_s) == ("0", 7200), ret


@needs(one_at_a_time)
@only_under("sync")
def check_poll_starts_nothing(harness: Harness) -> None:
    """Where calls run only while somebody waits, a poll runs none of them."""
    journal = harness.journal()
    functions = harness.receive([ordered.note, ordered.anote], _notes(journal))
    group = functions.group()

    assert _unsettled(lambda: group.wait(0)) == ("c0", "c1", "c2")
    assert journal.lines() == [], journal.lines()
    assert [ret.value for ret in group.wait(LIMIT_S)] == ["0", "1", "2"]


def check_empty_group(harness: Harness) -> None:
    """No calls are a Group, too: settled from the start, and true."""
    functions = harness.receive([tools.add], [])
    assert not functions and len(functions) == 0

    assert harness.run([tools.add], []) == ()
    assert harness.collect([tools.add], []) == []
    group = functions.group()
    assert (len(group), group.alive, group.returns, bool(group)) == (0, False, (), True)
    assert group.wait() == () and group.wait(0) == ()


@only_under("sync")
def check_claimed_calls_are_not_started_again(harness: Harness) -> None:
    """A call in a Group is no longer pending: a second Group leaves it out."""
    journal = harness.journal()
    context = Context([ordered.note], strategy=harness.strategy)
    functions = context.receive([{"name": "note", "arguments": {"journal": journal.path, "label": "0"}}])
    assert [function.pending for function in functions] == [True]

    group = functions.group()
    assert [function.pending for function in functions] == [False]
    assert len(functions.group()) == 0 and not context.pending_functions
    (ret,) = context.wait()

    assert group.wait() == (ret,) == context.wait()
    assert journal.lines() == ["0"], journal.lines()


@only_under("sync")
def check_with_group(harness: Harness) -> None:
    """The block of a Group is left when every call has settled."""
    journal = harness.journal()
    with harness.receive([ordered.note, ordered.anote], _notes(journal)).group() as group:
        pass

    assert [ret.value if ret else None for ret in group.returns] == ["0", "1", "2"], group.returns


@only_under("asyncio", "trio")
def check_async_with_group(harness: Harness) -> None:
    """So is the async block, also when the Returns are looked at inside it."""
    journal = harness.journal()
    functions = harness.receive([ordered.note, ordered.anote], _notes(journal))

    async def main() -> tuple[tuple[Return | None, ...], tuple[Return, ...]]:
        async with functions.group() as group:
            inside = await group
        return group.returns, inside

    after, inside = run(harness.driver, main)

    assert [ret.value for ret in inside] == ["0", "1", "2"], inside
    assert after == inside, after


def _notes(journal: Journal) -> list[tuple[str, dict[str, str]]]:
    names = ("note", "anote", "note")
    return [(name, {"journal": journal.path, "label": str(place)}) for place, name in enumerate(names)]


def _same(returns: tuple[Return, ...], others: tuple[Return, ...]) -> bool:
    """Whether they are the very same objects, in the same order."""
    return [id(ret) for ret in returns] == [id(ret) for ret in others]


def _unsettled(wait: Callable[[], object]) -> tuple[str | None, ...]:
    try:
        wait()
    except toolexec.WaitTimeout as timeout:
        assert isinstance(timeout, TimeoutError), timeout
        return timeout.unsettled
    raise AssertionError("the wait ended as if all had settled")


CHECKS = (
    check_wait_again,
    check_wait_from_several_threads,
    check_await_from_two_kinds_of_loop,
    check_bounded_wait,
    check_bounded_await,
    check_bounded_wait_by_the_clock,
    check_poll_starts_nothing,
    check_empty_group,
    check_claimed_calls_are_not_started_again,
    check_with_group,
    check_async_with_group,
)
