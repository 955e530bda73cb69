"""What stops, holds up or surrounds a call about which somebody is still being asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop
from cases.case_steps import steer
from cases.stopping_tools import nap
from provider_formats import Call
from provider_streams import events
from supervised_tools import LONG_S, Place, turn, work
from toolexec.lowlevel import Outcome
from toolexec.testing import FakeStrategy, Gate, Journal, assert_no_leftovers


@pytest.fixture
def gate(tmp_path: Any) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as made:
        yield made


class Asks:
    """An async on_confirm that stands at a gate; keeps how it left that."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.left: list[str] = []

    async def __call__(self, function: tx.Function) -> bool:
        try:
            await self.gate.apass_through(str(function.id))
        except BaseException as exc:
            self.left.append(type(exc).__name__)
            raise
        self.left.append("through")
        return True


# Each is given the Context and a Task; all calls are still to be decided on.
STOPS: dict[str, Callable[[tx.Context, tx.Task], object]] = {
    "context": lambda ctx, task: ctx.interrupt("enough"),
    "id": lambda ctx, task: ctx.interrupt("enough", id=task.function.id),
    "group": lambda ctx, task: task._group.interrupt("enough"),
    "task": lambda ctx, task: task.interrupt("enough"),
    "before it runs": lambda ctx, task: task.interrupt("enough", after_running=True),
    "function": lambda ctx, task: task.function.interrupt("enough"),
    "by hand": lambda ctx, task: task.function.cancel("enough"),
}


class TestStopping:
    @pytest.mark.parametrize("how", STOPS)
    def test_a_call_that_is_decided_on_never_begins(self, place: Place, gate: Gate, how: str) -> None:
        asks = Asks(gate)
        ctx = place.context(confirm=place.names("send", "asend"), on_confirm=asks)
        records = place.calls(("send", "ok"), ("asend", "ok"))

        def act(group: tx.Group) -> None:
            gate.wait_until_reached(len(records))
            for task in group.tasks:
                STOPS[how](ctx, task)

        returns = steer(ctx.receive(records).group, act, "plain" if place.driver == "sync" else place.driver)

        assert {("cancelled", "enough", 0)} == {(ret.status, ret.reason, ret.attempts) for ret in returns}
        assert [] == place.journal.lines()
        place.check_traces(returns)
        assert set(place.each("Cancelled", "CancelledError")) >= set(asks.left)
        assert len(records) == len(asks.left), "who is asked is told that it is not wanted any more"

    def test_a_groups_time_counts_while_somebody_is_asked(self, place: Place, gate: Gate) -> None:
        ctx = place.context({"idempotent": True}, confirm=lambda _: True, on_confirm=Asks(gate), retry=tx.Retry())
        functions = ctx.receive(place.calls(("send", "ok"), ("asend", "ok")))
        returns = place.settle(lambda: functions.group(timeout=0.05))

        assert {("timeout", 0)} == {(ret.status, ret.attempts) for ret in returns}
        assert [] == place.journal.lines()
        place.check_traces(returns)

    def test_neither_an_interrupt_nor_the_groups_time_is_followed_by_another_attempt(self, place: Place) -> None:
        ctx = place.context({"idempotent": True}, retry=tx.Retry(backoff=0))
        records = place.calls(("send", "hang"), ("asend", "hang"))
        begin = len(records) - ("sequential" in place.strategies)  # where the second waits for the first

        def interrupt(group: tx.Group) -> None:
            while len(place.journal.lines()) < begin:
                assert not threading.Event().wait(0.001)
            group.interrupt("enough")

        entry = "plain" if place.driver == "sync" else place.driver
        returns = steer(ctx.receive(records).group, interrupt, entry)
        assert {"cancelled"} == {ret.status for ret in returns}
        late = ctx.receive(place.calls(("send", "hang"), ("asend", "hang")))
        returns += place.settle(lambda: late.group(timeout=0.3))
        assert {"timeout"} == {ret.status for ret in returns[len(records) :]}
        assert all(ret.attempts <= 1 for ret in returns)
        assert all(count <= 1 for count in place.bodies(*(str(ret.id) for ret in returns)))

    @pytest.mark.parametrize("how", ["context", "group", "time"])
    def test_the_wait_before_another_attempt_ends_at_once(self, place: Place, how: str) -> None:
        waiting = threading.Semaphore(0)

        def backoff(made: int) -> float:
            waiting.release()
            return 1000

        ctx = place.context({"idempotent": True}, retry=tx.Retry(backoff=backoff))
        records = place.calls(("send", "fail"), ("asend", "fail"))
        functions = ctx.receive(records)
        begin = len(records) - ("sequential" in place.strategies)  # where the second waits for the first

        def act(group: tx.Group) -> None:
            if how == "time":  # of a worker that has to be started first it may be over before anything has begun
                return
            for _ in range(begin):
                assert waiting.acquire(timeout=LONG_S)
            (ctx if how == "context" else group).interrupt("enough")

        timeout = 0.4 if how == "time" else None
        returns = steer(
            lambda: functions.group(timeout=timeout), act, "plain" if place.driver == "sync" else place.driver
        )

        wanted = "timeout" if how == "time" else "cancelled"
        assert {wanted} == {ret.status for ret in returns}
        assert all(count <= 1 for count in place.bodies(*(str(ret.id) for ret in returns)))
        place.check_traces(returns)


class TestOrder:
    def test_a_gated_call_holds_up_an_exclusive_one_and_that_what_is_behind(self, place: Place, gate: Gate) -> None:
        ctx = place.context(confirm=place.names("send"), on_confirm=Asks(gate))
        for name in place.names("read"):
            ctx.functions[name]._definition.exclusive = True
        records = place.calls(("asend", "ok"), ("send", "ok"), ("read", "ok"), ("aread", "ok"))

        def act(group: tx.Group) -> None:
            gate.wait_until_reached(len(place.strategies))
            before = set(place.journal.lines())
            # Nothing but what stands before the first exclusive call.
            assert before <= {records[0]["id"]}
            gate.open()

        returns = steer(ctx.receive(records).group, act, "plain" if place.driver == "sync" else place.driver)
        assert {"ok"} == {ret.status for ret in returns}
        lines = place.journal.lines()
        for record in records[2::4]:
            its_turn = lines.index(record["id"])
            ahead = {other["id"] for other in records[: records.index(record)]}
            assert ahead == set(lines[:its_turn])

    def test_sequential_calls_are_decided_and_attempted_in_their_order(self, place: Place) -> None:
        if "sequential" not in place.strategies:
            pytest.skip("its calls run side by side")
        lone = Place(["sequential"], place.driver, place.folder)

        async def approve(function: tx.Function) -> bool:
            for _ in range(20):  # so long that whoever did not wait would come first
                await nap(0.001)
            return True

        ctx = lone.context(
            {"idempotent": True}, confirm=["send"], on_confirm=approve, retry=tx.Retry(attempts=3, backoff=0.001)
        )
        story = lone.tell(ctx, ("read", "ok"), ("send", "fail twice"), ("aread", "ok"), ("send", "ok"), ("read", "ok"))
        assert ["c0", "c1", "c1", "c1", "c2", "c3", "c4"] == lone.journal.lines()
        assert ["ok"] * 5 == story.statuses


def context(gate: Gate, journal: Journal, strategy: Any, **options: Any) -> tx.Context:
    tools = [tx.as_tool(work, name=name) for name in ("send", "read")]
    return tx.Context(tools, strategy=strategy, **{"confirm": ["send"], "on_confirm": Asks(gate), **options})


@pytest.fixture
def journal(tmp_path: Any) -> Journal:
    return Journal(tmp_path / "journal")


def asked(journal: Journal, *calls: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"id": f"c{n}", "name": name, "arguments": {"label": f"c{n}", "journal": journal.path, "fate": fate}}
        for n, (name, fate) in enumerate(calls)
    ]


@pytest.mark.parametrize("window", ["of the group", "of the strategy"])
def test_a_gated_call_takes_no_place_in_a_window_of_one(journal: Journal, window: str) -> None:
    async def once_read(function: tx.Function) -> bool:
        while not journal.lines():
            await turn()
        return True

    with tx.strategy("thread", window=1 if window == "of the strategy" else None) as strategy:
        ctx = tx.Context(
            [tx.as_tool(work, name=name) for name in ("send", "read")],
            strategy=strategy,
            confirm=["send"],
            on_confirm=once_read,
        )
        functions = ctx.receive(asked(journal, ("send", "ok"), ("read", "ok"), ("read", "ok")))
        returns = functions.group(window=1 if window == "of the group" else None).wait(LONG_S)

    assert ["ok", "ok", "ok"] == [ret.status for ret in returns]
    assert {"c0", "c1", "c2"} == set(journal.lines())
    assert "c1" == journal.lines()[0]


@pytest.mark.parametrize("which", ["of the body", "of the decision"])
def test_a_strategy_that_is_closed_ends_the_decision_too(gate: Gate, journal: Journal, which: str) -> None:
    with assert_no_leftovers(), tx.strategy("thread") as strategy:
        asks = Asks(gate)
        group = context(gate, journal, strategy, on_confirm=asks).receive(asked(journal, ("send", "ok"))).group()
        gate.wait_until_reached()
        if which == "of the body":
            strategy.close()
        else:
            tx.lowlevel.close_shared()
        (ret,) = group.wait(LONG_S)

    assert ("cancelled", 0) == (ret.status, ret.attempts)
    assert ["CancelledError"] == asks.left
    assert [] == journal.lines()


@each_loop
@pytest.mark.parametrize("strategy", ["sequential", "thread", "fork"])
def test_a_loop_that_ends_settles_what_is_decided_in_it(kind: str, strategy: str, gate: Gate, journal: Journal) -> None:
    ctx = context(gate, journal, strategy)
    groups: list[tx.Group] = []

    async def main() -> None:
        groups.append(ctx.receive(asked(journal, ("send", "ok"), ("read", "ok"))).group())
        await gate.until_reached()

    with assert_no_leftovers():
        Loop(kind).run(main)
        (ret, other) = groups[0].wait(LONG_S)

    assert ("cancelled", "its event loop ended") == (ret.status, ret.reason)
    assert "ok" == other.status
    assert ["c1"] == journal.lines()


@each_loop
@pytest.mark.parametrize("strategy", ["sequential", "thread", "fork"])
def test_a_waiter_that_is_cancelled_takes_the_decision_along(
    kind: str, strategy: str, gate: Gate, journal: Journal
) -> None:
    loop = Loop(kind)
    ctx = context(gate, journal, strategy)
    groups: list[tx.Group] = []

    async def wait() -> None:
        groups.append(ctx.receive(asked(journal, ("send", "ok"))).group())
        await groups[0]

    async def main() -> None:
        event: Any = asyncio.Event() if kind == "asyncio" else trio.Event()

        async def tell() -> None:
            await gate.until_reached()
            event.set()

        if kind == "asyncio":
            task = asyncio.ensure_future(tell())
            await loop.cancelled_once(event, wait)
            await task
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(tell)
                await loop.cancelled_once(event, wait)

    loop.run(main)
    assert ["cancelled"] == [ret.status for ret in groups[0].returns if ret is not None]
    assert [] == journal.lines()


@each_loop
@pytest.mark.parametrize("answer", ["deny", "cancel"])
def test_who_decides_may_take_its_time_behind_the_answer_it_has_made(
    kind: str, answer: str, gate: Gate, journal: Journal
) -> None:
    """Cancelling a call by hand stops it; but not who is about to say so."""
    loop = Loop(kind)

    async def ask(function: tx.Function) -> tx.Return:
        ret: tx.Return = getattr(function, answer)("not today")
        for _ in range(20):
            await loop.sleep(0.001)
        return ret

    ctx = context(gate, journal, "thread", on_confirm=ask)

    async def main() -> Any:
        return await ctx.receive(asked(journal, ("send", "ok"))).group()

    (ret,) = loop.run(main)
    assert ("denied" if answer == "deny" else "cancelled", "not today") == (ret.status, ret.reason)
    assert ("denied" in ret.value) is (answer == "deny")
    assert [] == journal.lines()


# Ctrl-C


@pytest.mark.parametrize("where", ["plain", "asyncio", "trio"])
@pytest.mark.parametrize("strategy", ["sequential", "thread", "fork"])
def test_ctrl_c_while_a_person_is_asked_leaves_the_calls_pending_and_uncounted(
    strategy: str, where: str, gate: Gate, journal: Journal
) -> None:
    presses = [True]

    def ask(function: tx.Function) -> bool:
        if function.id == "c1" and presses:
            presses.clear()
            raise KeyboardInterrupt
        return True

    ctx = context(gate, journal, strategy, on_confirm=ask, budget=3)
    functions = ctx.receive(asked(journal, ("read", "ok"), ("send", "ok"), ("read", "ok")))
    group = functions.group if where == "plain" else None

    async def main() -> Any:
        return await functions.group()

    def run() -> Any:
        return group().wait(LONG_S) if group is not None else Loop(where).run(main)

    with assert_no_leftovers():
        with pytest.raises(KeyboardInterrupt):
            run()
        assert list(functions) == list(ctx.pending_functions)
        assert [] == journal.lines()
        assert ["ok"] * 3 == [ret.status for ret in run()]
    assert {"c0", "c1", "c2"} == set(journal.lines())
    (ret,) = ctx.receive([{**asked(journal, ("read", "ok"))[0], "id": "c3"}]).wait()
    assert "budget" == ret.status


@pytest.mark.parametrize("strategy", ["sequential", "thread", "fork"])
def test_ctrl_c_in_an_async_decision_reaches_who_waits(strategy: str, gate: Gate, journal: Journal) -> None:
    async def ask(function: tx.Function) -> bool:
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    ctx = context(gate, journal, strategy, on_confirm=ask)
    functions = ctx.receive(asked(journal, ("send", "ok"), ("send", "ok")))

    async def main() -> Any:
        return await functions.group()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert {"cancelled"} == {ret.status for ret in ctx.returns}
    assert 2 == len(ctx.returns)
    assert [] == journal.lines()


# Streams


@pytest.mark.parametrize("strategy", ["thread", "asyncio", "fork"])
def test_a_call_of_a_stream_is_decided_on_while_that_goes_on(strategy: str, gate: Gate, journal: Journal) -> None:
    ctx = context(gate, journal, strategy)
    calls = asked(journal, ("send", "ok"), ("read", "ok"))
    made = events("ollama", *(Call(call["name"], call["arguments"], call["id"]) for call in calls), text="")

    for event in ctx.stream(made):
        if event is made[-1]:
            gate.wait_until_reached()
            gate.open()
    assert ["ok", "ok"] == [ret.status for ret in ctx.group().wait(LONG_S)]
    assert {"c0", "c1"} == set(journal.lines())


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "fork"])
def test_a_stream_that_breaks_ends_the_decision(strategy: str, gate: Gate, journal: Journal) -> None:
    asks = Asks(gate)
    ctx = context(gate, journal, strategy, on_confirm=asks)
    (call,) = asked(journal, ("send", "ok"))
    made = events("ollama", Call(call["name"], call["arguments"], "c0"), text="")

    def breaking() -> Iterator[Any]:
        yield from made[:-1]
        if strategy != "sequential":
            gate.wait_until_reached()
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        list(ctx.stream(breaking()))
    ctx.group().wait(LONG_S)
    assert ["cancelled"] == [ret.status for ret in ctx.returns]
    assert [] == journal.lines()
    assert len(asks.left) == (0 if strategy == "sequential" else 1)


# Calls that are made in order to decide


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_who_is_asked_may_make_calls_itself(strategy: str, kind: str, gate: Gate, journal: Journal) -> None:
    looks = tx.as_tool(work, name="looks")
    arguments = {"label": "looks", "journal": journal.path}

    def ask(function: tx.Function) -> Any:
        return tx.run(looks, arguments, strategy).unwrap() == "looks: ok"

    async def aask(function: tx.Function) -> Any:
        return (await tx.arun(looks, arguments, strategy)).unwrap() == "looks: ok"

    ctx = context(gate, journal, strategy, on_confirm=ask if kind == "sync" else aask)
    returns = ctx.receive(asked(journal, ("send", "ok"), ("read", "ok"))).group(window=1).wait(LONG_S)

    assert ["ok", "ok"] == [ret.status for ret in returns]
    assert ["c0", "c1", "looks"] == sorted(journal.lines())


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork"])
def test_an_interrupt_reaches_the_calls_made_in_order_to_decide(strategy: str, gate: Gate, journal: Journal) -> None:
    looks = tx.as_tool(work, name="looks")
    inner: list[tx.Return] = []

    async def ask(function: tx.Function) -> bool:
        arguments = {"label": "looks", "journal": journal.path, "fate": "hang"}
        task = looks.bind(arguments).task(strategy)
        try:
            await task
        finally:
            inner.append(task.wait(0))
        return True

    ctx = context(gate, journal, "thread", on_confirm=ask)

    def act(group: tx.Group) -> None:
        while not journal.lines():
            assert not threading.Event().wait(0.001)
        group.interrupt("enough")

    (ret,) = steer(ctx.receive(asked(journal, ("send", "ok"))).group, act)
    assert ("cancelled", "enough") == (ret.status, ret.reason)
    assert ["looks"] == journal.lines()
    assert ["cancelled"] == [ret.status for ret in inner]


# What was left behind, and what no body was lost with


def test_a_body_that_was_left_behind_is_not_attempted_again() -> None:
    fake = FakeStrategy(grace=0.05)
    tool = tx.Function("send", idempotent=True, timeout=0.05)
    tool.define(lambda: None)
    ctx = tx.Context([tool], strategy=fake, retry=tx.Retry(backoff=0))
    ctx.receive([{"id": "c0", "name": "send"}])
    group = ctx.group()
    fake.next_job().begin()
    (ret,) = group.wait(LONG_S)

    assert ("timeout", True, 1) == (ret.status, ret.abandoned, ret.attempts)
    assert 1 == len(fake.jobs)


def test_a_call_that_was_lost_before_its_body_is_attempted_again_whatever_its_tool() -> None:
    class Isolated(FakeStrategy):
        isolated = True

    fake = Isolated()
    tool = tx.Function("send")
    tool.define(work)
    ctx = tx.Context([tool], strategy=fake, retry=tx.Retry(attempts=2, backoff=0))
    ctx.receive([{"id": "c0", "name": "send", "arguments": {"label": "c0", "journal": "-"}}])
    group = ctx.group()
    lost = Outcome("lost", exception=tx.WorkerLost("gone"))
    fake.next_job().deliver(lost)
    again = fake.next_job()
    again.begin()
    again.deliver(lost)
    (ret,) = group.wait(LONG_S)

    assert ("lost", 1) == (ret.status, ret.attempts)
    assert 2 == len(fake.jobs)
