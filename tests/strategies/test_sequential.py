"""What sequential alone promises: bodies run while somebody waits, one at a time, on the waiter's thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

import toolexec as tx


class Bench:
    """Tools that leave a trace, and a Group of their calls."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.threads: list[int] = []
        self.inside = 0
        self.most = 0
        self.began = threading.Event()
        self.gate = threading.Event()

    def group(self, *names: str, strategy: Any = "sequential", **options: Any) -> tx.Group:
        @tx.tool
        def step() -> str:
            return self._body("step")

        @tx.tool
        async def astep() -> str:
            return self._body("astep")

        @tx.tool
        def hold() -> str:
            self.began.set()
            assert self.gate.wait(10)
            return self._body("hold")

        @tx.tool
        def ctrl_c() -> None:
            self._body("ctrl_c")
            raise KeyboardInterrupt

        ctx = tx.Context([step, astep, hold, ctrl_c])
        ctx.receive([{"id": f"{name}-{place}", "name": name} for place, name in enumerate(names)])
        return ctx.group(strategy, **options)

    def _body(self, name: str) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.threads.append(threading.get_ident())
        self.log.append(name)
        time.sleep(0)  # somewhere for another body to come in, if it could
        self.inside -= 1
        return name


@pytest.fixture
def bench() -> Bench:
    return Bench()


def statuses(group: tx.Group) -> list[str | None]:
    return [None if ret is None else ret.status for ret in group.returns]


def test_nothing_runs_before_somebody_waits(bench: Bench) -> None:
    group = bench.group("step", "astep")
    task = bench.group("step").tasks[0]

    assert ([], True, True) == (bench.log, group.alive, task.alive)
    with pytest.raises(tx.WaitTimeout) as caught:
        group.wait(timeout=0)
    assert ("step-0", "astep-1") == caught.value.unsettled
    assert [] == bench.log

    group.wait()
    assert ["step", "astep"] == bench.log
    assert task.alive


def test_bodies_run_in_call_order_on_the_waiters_thread(bench: Bench) -> None:
    bench.group("step", "astep", "step", "astep").wait()

    assert ["step", "astep", "step", "astep"] == bench.log
    assert {threading.get_ident()} == set(bench.threads)


def test_waiting_for_one_task_runs_those_before_it_and_none_after(bench: Bench) -> None:
    group = bench.group("step", "astep", "step")
    group.tasks[1].wait()

    assert ["step", "astep"] == bench.log
    assert ["ok", "ok", None] == statuses(group)


def test_a_for_loop_runs_one_body_a_step(bench: Bench) -> None:
    group = bench.group("step", "astep", "step")
    seen: list[tuple[str | None, int]] = []
    for ret in group:
        seen.append((ret.id, len(bench.log)))
        if len(seen) == 2:
            break

    assert [("step-0", 1), ("astep-1", 2)] == seen
    assert ["ok", "ok", None] == statuses(group)  # leaving early interrupts nothing
    assert 3 == len(group.wait())


def test_two_waiters_never_overlap_and_both_get_all(bench: Bench) -> None:
    group = bench.group(*["step"] * 50)
    got: list[tuple[tx.Return, ...]] = []
    waiters = [threading.Thread(target=lambda: got.append(group.wait(10))) for _ in range(4)]
    for waiter in waiters:
        waiter.start()
    for waiter in waiters:
        waiter.join(10)

    assert (1, 50) == (bench.most, len(bench.log))
    assert 4 == len(got)
    assert {got[0]} == set(got)


def test_the_wait_is_limited_between_bodies(bench: Bench) -> None:
    group = bench.group("hold", "step")

    def open_late() -> None:
        bench.began.wait(10)
        time.sleep(0.05)  # longer than the wait below
        bench.gate.set()

    opener = threading.Thread(target=open_late)
    opener.start()

    with pytest.raises(tx.WaitTimeout) as caught:
        group.wait(timeout=0.01)
    opener.join()
    assert ("step-1",) == caught.value.unsettled
    assert ["hold"] == bench.log
    assert ["ok", "ok"] == [ret.status for ret in group.wait()]


def test_a_second_waiter_takes_over_when_the_first_gives_up(bench: Bench) -> None:
    group = bench.group("hold", "step", "step")
    first: list[BaseException] = []

    def impatient() -> None:
        try:
            group.wait(timeout=0.01)
        except tx.WaitTimeout as exc:
            first.append(exc)

    driver = threading.Thread(target=impatient)
    driver.start()
    assert bench.began.wait(10)
    threading.Timer(0.05, bench.gate.set).start()

    assert 3 == len(group.wait(10))
    driver.join(10)
    assert 1 == len(first)
    assert {driver.ident, threading.get_ident()} == set(bench.threads)


def test_concurrent_calls_of_the_same_group_go_on_meanwhile(bench: Bench) -> None:
    """The thread call waits for the sequential body, and the other way round."""
    met = threading.Barrier(2)

    @tx.tool
    def here() -> int:
        return met.wait(10)

    @tx.tool(strategy="thread")
    def there() -> int:
        return met.wait(10)

    ctx = tx.Context([here, there])
    ctx.receive([{"name": "here"}, {"name": "there"}])

    assert {0, 1} == {ret.unwrap() for ret in ctx.wait("sequential")}


def test_a_ctrl_c_that_ends_a_body_ends_the_group_and_reaches_the_waiter(bench: Bench) -> None:
    group = bench.group("step", "ctrl_c", "step")
    with pytest.raises(KeyboardInterrupt):
        group.wait()

    assert ["step", "ctrl_c"] == bench.log
    assert ["ok", "cancelled", "cancelled"] == statuses(group)
    assert isinstance(group.wait()[1].exception, tx.Interrupt)
    assert ["step", "ctrl_c"] == bench.log


def test_a_ctrl_c_in_the_wait_for_one_task_leaves_no_other_waiter_hanging(bench: Bench) -> None:
    group = bench.group("hold", "ctrl_c", "step")
    other: list[tx.Return] = []
    waiter = threading.Thread(target=lambda: other.extend(group.wait(10)))

    def wait_too() -> None:
        bench.began.wait(10)
        waiter.start()
        bench.gate.set()

    helper = threading.Thread(target=wait_too)
    helper.start()
    with pytest.raises(KeyboardInterrupt):
        group.tasks[1].wait()
    helper.join(10)
    waiter.join(10)

    assert not waiter.is_alive()
    assert ["ok", "cancelled", "cancelled"] == [ret.status for ret in other]


def test_an_async_body_may_be_ended_by_a_ctrl_c_too() -> None:
    @tx.tool
    async def ctrl_c() -> None:
        raise KeyboardInterrupt

    call = ctrl_c.bind()
    with pytest.raises(KeyboardInterrupt):
        call.task("sequential").wait()
    assert call.cancelled


def test_in_another_thread_it_is_the_calls_own_fault(bench: Bench) -> None:
    group = bench.group("ctrl_c", "step")
    waiter = threading.Thread(target=group.wait)
    waiter.start()
    waiter.join(10)

    assert ["raised", "ok"] == statuses(group)


def test_leaving_the_block_waits_for_all(bench: Bench) -> None:
    with bench.group("step", "astep") as group:
        assert [] == bench.log
    assert ["ok", "ok"] == statuses(group)


def test_an_exception_in_the_block_stops_what_has_not_begun_and_comes_out(bench: Bench) -> None:
    original = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught, bench.group("step", "step", "step") as group:
        group.tasks[0].wait()
        raise original

    assert original is caught.value
    assert ["ok", "cancelled", "cancelled"] == statuses(group)
    assert ["step"] == bench.log


def test_closing_the_strategy_answers_what_nobody_waited_for(bench: Bench) -> None:
    with tx.strategy("sequential") as mine:
        group = bench.group("step", "step", strategy=mine)

    assert [("cancelled", "its strategy was closed")] * 2 == [(ret.status, ret.reason) for ret in group.wait(5)]
    assert [] == bench.log


def both_loops(main: Callable[[], Any], loop: str) -> Any:
    return asyncio.run(main()) if loop == "asyncio" else trio.run(main)


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_awaited_it_runs_one_at_a_time_async_on_the_loop_and_sync_beside_it(bench: Bench, loop: str) -> None:
    async def main() -> int:
        group = bench.group("step", "astep", "step", "astep")
        await group
        return threading.get_ident()

    here = both_loops(main, loop)

    assert (["step", "astep", "step", "astep"], 1) == (bench.log, bench.most)
    assert [False, True, False, True] == [ident == here for ident in bench.threads]


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_awaiting_one_task_runs_those_before_it_and_none_after(bench: Bench, loop: str) -> None:
    async def main() -> tx.Group:
        group = bench.group("step", "astep", "step")
        await group.tasks[1]
        return group

    group = both_loops(main, loop)

    assert ["step", "astep"] == bench.log
    assert ["ok", "ok", None] == statuses(group)


def test_nothing_overtakes_a_body_whose_awaiter_was_cancelled(bench: Bench) -> None:
    """The sync body goes on on its thread; whoever awaits next must not start another beside it."""

    async def main() -> None:
        group = bench.group("hold", "step", "step")
        driver = asyncio.ensure_future(group.tasks[0])
        await asyncio.to_thread(bench.began.wait, 10)
        driver.cancel()
        late = asyncio.ensure_future(group)
        for _ in range(20):
            await asyncio.sleep(0)
        assert [] == bench.log
        bench.gate.set()
        assert ["ok", "ok", "ok"] == [ret.status for ret in await asyncio.wait_for(late, 10)]
        with pytest.raises(asyncio.CancelledError):
            await driver

    asyncio.run(main())
    assert 1 == bench.most
