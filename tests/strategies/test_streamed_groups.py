"""The group of calls of which some started while their response still streamed in."""

from __future__ import annotations

import pytest

import toolexec as tx
from both_loops import Loop, each_loop
from streamed_calls import LONG_S, Feed, flowing, requests, stand
from toolexec.testing import Gate


def test_sequential_calls_wait_for_the_group() -> None:
    ran: list[int] = []

    @tx.tool
    def note(n: int) -> None:
        ran.append(n)

    ctx = tx.Context([note], strategy="sequential")
    for _ in ctx.stream(requests(("note", {"n": 0}), ("note", {"n": 1}))):
        assert [] == ran
    ctx.wait()
    assert [0, 1] == ran


def test_an_exclusive_call_runs_alone_and_nothing_behind_it_starts_early(gate: Gate) -> None:
    running: list[str] = []

    @tx.tool(exclusive=True)
    def alone() -> list[str]:
        return list(running)

    @tx.tool
    def held(name: str) -> list[str]:
        running.append(name)
        Gate(gate.path).pass_through(name)
        running.remove(name)
        return list(running)

    @tx.tool
    def after() -> list[str]:
        return list(running)

    ctx = tx.Context([alone, held, after], strategy="thread")
    stream = ctx.stream(requests(("held", {"name": "a"}), ("held", {"name": "b"}), ("alone", {}), ("after", {})))
    for _ in stream:
        pass
    gate.wait_until_reached(2)
    assert [False, False, True, True] == [fn.pending for fn in stream.functions]
    group = ctx.group()
    assert [None, None] == [task._begun_at for task in group.tasks[2:]]
    gate.open()
    assert [[], []] == [ret.value for ret in group.wait()[2:]]


def test_a_window_counts_what_has_started_early(gate: Gate) -> None:
    with tx.strategy("thread", window=2) as strategy:
        ctx = tx.Context([stand], strategy=strategy)
        made = requests(*(("stand", {"path": gate.path, "name": str(n)}) for n in range(5)))
        stream = ctx.stream(made)
        for _ in stream:
            pass
        gate.wait_until_reached(2)
        assert [False, False, True, True, True] == [fn.pending for fn in stream.functions]
        group = ctx.group()
        assert 2 == sum(task._begun_at is not None for task in group.tasks)
        gate.open()
        assert [str(n) for n in range(5)] == [ret.value for ret in group.wait()]


def test_room_in_a_window_is_used_while_the_stream_goes_on(gate: Gate) -> None:
    with tx.strategy("thread", window=1) as strategy:
        ctx = tx.Context([stand], strategy=strategy)
        stream = ctx.stream(
            [
                *requests(*(("stand", {"path": gate.path, "name": str(n)}) for n in range(2)))[:-1],
                *requests(),
            ]
        )
        items = iter(stream)
        while len(stream.functions) < 2:
            next(items)
        first, second = stream.functions
        assert second.pending
        gate.open()
        assert first._task is not None
        first._task.wait()
        next(items)
        assert not second.pending
        for _ in items:
            pass
        assert ["0", "1"] == [ret.value for ret in ctx.wait()]


def test_a_deadline_of_the_group_holds_for_what_started_early(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    for _ in ctx.stream(requests(("stand", {"path": gate.path}))):
        pass
    gate.wait_until_reached(1)

    (ret,) = ctx.group(timeout=0.01).wait()
    assert "timeout" == ret.status
    gate.open()


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_of_the_turn_or_group_reaches_every_call(gate: Gate, after: bool) -> None:
    ctx = tx.Context([stand], strategy="thread")
    feed = Feed()
    made = requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    stream = ctx.stream(feed)
    items = iter(stream)
    for event in made[:-2]:
        feed.put(event)
        next(items)
    gate.wait_until_reached(1)
    if not after:
        ctx.interrupt("enough")
    feed.put(*made[-2:], None)
    for _ in items:
        pass
    group = ctx.group()
    if after:
        group.interrupt("enough")

    assert [("cancelled", "enough")] * 2 == [(ret.status, ret.reason) for ret in group.wait()]
    assert 3 == len(ctx.turn())
    gate.open()


def test_events_of_a_group_tell_of_calls_that_started_early(gate: Gate) -> None:
    @tx.tool
    def report(path: str) -> None:
        Gate(path).pass_through("r")
        tx.progress(1)

    ctx = tx.Context([report], strategy="thread")
    for _ in ctx.stream(requests(("report", {"path": gate.path}), ("nope", {}))):
        pass
    gate.wait_until_reached(1)
    walk = ctx.group().events()
    first = [type(next(walk)).__name__, type(next(walk)).__name__]
    gate.open()

    assert ["Started", "Settled", "Progress", "Settled"] == [*first, *(type(event).__name__ for event in walk)]


def test_walks_over_events_that_are_left_cost_no_call_its_return() -> None:
    @tx.tool
    def quick() -> None:
        tx.progress(1)

    with tx.strategy("thread") as strategy:
        for _ in range(100):
            ctx = tx.Context([quick], strategy=strategy)
            for _ in ctx.stream(requests(*[("quick", {})] * 4)):
                pass
            group = ctx.group()
            next(group.events())  # left at once, while four threads have something to tell
            assert ["ok"] * 4 == [ret.status for ret in group.wait(LONG_S)]


@each_loop
def test_events_come_in_a_loop_too(kind: str) -> None:
    loop = Loop(kind)

    async def main() -> list[str]:
        @tx.tool
        async def report() -> None:
            await loop.turn()
            await loop.turn()
            tx.progress(1)

        ctx = tx.Context([report])
        async for _ in ctx.stream(flowing(requests(("report", {})))):
            pass
        return [type(event).__name__ async for event in ctx.group().events()]

    assert ["Started", "Progress", "Settled"] == loop.run(main)


def test_as_finished_gives_early_calls_first(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    for _ in ctx.stream(requests(("stand", {"path": gate.path, "name": "a"}), ("nope", {}))):
        pass
    walk = iter(ctx.group())
    assert "unknown_tool" == next(walk).status
    gate.open()
    assert ["a"] == [ret.value for ret in walk]


def test_a_part_of_the_calls_can_be_left_out(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    stream = ctx.stream(
        requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    )
    for _ in stream:
        pass
    first, second = stream.functions
    with (stream.functions - [first]).group() as group:
        assert [second] == [task.function for task in group.tasks]
        gate.open()
    assert ["a", "b"] == [ret.value for ret in ctx.wait()]


def test_many_rounds_leave_nothing_behind() -> None:
    @tx.tool
    def quick(n: int) -> int:
        return n

    with tx.strategy("thread") as strategy:
        ctx = tx.Context([quick], strategy=strategy, history=False)
        for round_ in range(300):
            for _ in ctx.stream(requests(*(("quick", {"n": n}) for n in range(round_ % 5)))):
                pass
            group = ctx.group()
            assert list(range(round_ % 5)) == [ret.value for ret in group.wait()]
            assert len(group._finished) == len(group)
            assert not group._joined
            assert not group.alive
        assert not strategy._owners()
        assert len(ctx._responses) <= 1


def test_a_stream_under_way_bears_no_receive_in_between() -> None:
    """A response that comes meanwhile is the last one; both keep their calls."""

    @tx.tool
    def quick(n: int) -> int:
        return n

    ctx = tx.Context([quick], strategy="thread", history=False)
    stream = ctx.stream(requests(("quick", {"n": 1})))
    items = iter(stream)
    next(items)
    ctx.receive([{"id": "x", "name": "quick", "arguments": {"n": 2}}])
    for _ in items:
        pass
    assert [1, 2] == [ret.value for ret in ctx.group().wait()]
