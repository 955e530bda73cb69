"""What the asyncio strategy alone promises: whose loop it uses, eager starts, and what happens when a loop ends."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

import toolexec as tx

EAGER = sys.version_info >= (3, 12)


def context(*tools: Any, count: int = 1, **options: Any) -> tx.Context:
    ctx = tx.Context(tools, **options)
    calls = [{"id": f"{name}-{number}", "name": name} for name in ctx.functions for number in range(count)]
    ctx.receive(calls)
    return ctx


@tx.tool
async def which_loop() -> int:
    return id(asyncio.get_running_loop())


@tx.tool
async def forever() -> None:
    await asyncio.Event().wait()


@contextlib.contextmanager
def loop_on_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


# Whose loop


def test_inside_a_loop_calls_are_its_tasks() -> None:
    async def main() -> tuple[int, Any]:
        return id(asyncio.get_running_loop()), (await context(which_loop).run("asyncio"))[0].unwrap()

    mine, theirs = asyncio.run(main())
    assert mine == theirs


def test_outside_one_all_groups_share_one_in_the_background() -> None:
    first, second = (tx.run(which_loop, None, "asyncio").unwrap() for _ in range(2))

    assert first == second


def test_the_loop_may_be_named() -> None:
    with loop_on_a_thread() as loop:
        mine = tx.strategy("asyncio", loop=loop)
        assert id(loop) == tx.run(which_loop, None, mine).unwrap()
        assert id(loop) == asyncio.run(context(which_loop).run(mine))[0].unwrap()
        mine.close()
        assert loop.is_running()  # it is its maker's to end


def test_a_loop_that_is_closed_already_answers_cancelled() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    ctx = context(which_loop, tx.tool(name="sync")(lambda: 1))
    returns = ctx.wait(tx.strategy("asyncio", loop=loop), timeout=10)

    assert ("cancelled", "its event loop ended") == (returns[0].status, returns[0].reason)
    assert returns[1].status in ("ok", "cancelled")


# Eager starts


@pytest.mark.skipif(not EAGER, reason="eager tasks came with Python 3.12")
def test_first_steps_run_at_once_and_the_group_is_complete_before_them() -> None:
    seen: list[tuple[int, list[bool]]] = []

    async def main() -> None:
        @tx.tool
        async def look() -> None:
            group = fns[0]._task._group  # type: ignore[union-attr]  # it is claimed
            seen.append((len(group), [fn._task in group.tasks for fn in fns]))

        ctx = tx.Context([look])
        fns = ctx.receive([{"name": "look"}] * 3)
        group = ctx.group("asyncio")
        assert 3 == len(seen)
        assert [True] * 3 == [ret is not None and ret.ok for ret in group.returns]

    asyncio.run(main())
    assert [(3, [True] * 3)] * 3 == seen


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, no plain function could be marked as async")
def test_a_stop_iteration_before_there_is_a_coroutine_is_no_result() -> None:
    def ends() -> Coroutine[Any, Any, int]:
        return next(iter(()))

    marked = vars(inspect)["markcoroutinefunction"](ends)
    ret = tx.run(tx.tool(marked), None, "asyncio")

    assert ("raised", StopIteration) == (ret.status, type(ret.exception))


@pytest.mark.skipif(not EAGER, reason="eager tasks came with Python 3.12")
def test_long_first_steps_do_not_hold_up_the_caller() -> None:
    ran: list[int] = []

    @tx.tool
    async def slow_start() -> None:
        ran.append(1)
        time.sleep(0.006)  # noqa: ASYNC251 - a body that blocks is the point

    async def main() -> tuple[int, int]:
        group = context(slow_start, count=5).group("asyncio")
        at_once = len(ran)
        return at_once, len(await group)

    assert (1, 5) == asyncio.run(main())


def test_a_task_factory_is_respected() -> None:
    made: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def factory(
            loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
        ) -> asyncio.Task[Any]:
            made.append(getattr(coroutine, "__qualname__", ""))
            return asyncio.Task(coroutine, loop=loop, **options)

        loop.set_task_factory(factory)  # type: ignore[arg-type, unused-ignore]  # typeshed changes its mind by release
        assert [True] * 3 == [ret.ok for ret in await context(which_loop, count=3).run("asyncio")]

    asyncio.run(main())
    assert 3 == made.count("drive")


@pytest.mark.parametrize("fault", [SystemExit, KeyError, asyncio.CancelledError])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_a_body_raises_is_its_answer_and_surfaces_nowhere_else(fault: type[BaseException], at_once: bool) -> None:
    async def main() -> list[str]:
        problems: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))

        @tx.tool
        async def burst() -> None:
            if not at_once:
                await asyncio.sleep(0)
            raise fault

        ctx = context(burst, which_loop)
        returns = await ctx.group("asyncio")
        await asyncio.sleep(0)
        assert [] == problems
        return [ret.status for ret in returns]

    assert ["raised", "ok"] == asyncio.run(main())


# Waiting in a loop


def test_blocking_the_loop_is_refused_and_the_await_form_named() -> None:
    async def main() -> None:
        ctx = context(which_loop)
        with pytest.raises(tx.WrongLoop, match=r"await ctx\.run|await fns\.run"):
            ctx.wait("asyncio")
        assert ctx.pending_functions
        group = context(forever).group("asyncio")
        for wait in (group.wait, group.tasks[0].wait):
            with pytest.raises(tx.WrongLoop, match="await"):
                wait()
            with pytest.raises(tx.WrongLoop, match="runs on the asyncio loop"):
                wait(block_loop=True)
            with pytest.raises(tx.WaitTimeout):
                wait(timeout=0)
        with pytest.raises(tx.WrongLoop, match="async for"):
            next(iter(group))
        await ctx.run()

    asyncio.run(main())


def test_blocking_is_allowed_where_no_call_needs_the_loop() -> None:
    async def main() -> list[Any]:
        group = context(which_loop).group("thread")
        return [ret.status for ret in group.wait(block_loop=True)]

    assert ["ok"] == asyncio.run(main())


def test_a_cancelled_await_stops_the_calls_and_stays_cancelled() -> None:
    cleaned: list[str] = []

    @tx.tool
    async def careful() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.append("up")

    async def main() -> tx.Group:
        group = context(careful, count=2).group("asyncio")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await group
        assert ["up", "up"] == cleaned
        assert not group.alive
        return group

    group = asyncio.run(main())
    assert [("cancelled", "its caller was stopped by CancelledError")] * 2 == [
        (r.status, r.reason) for r in group.wait()
    ]


def test_a_second_cancellation_ends_the_wait_at_once() -> None:
    @tx.tool
    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.sleep(1)

    async def main() -> float:
        waiter = asyncio.ensure_future(context(stubborn).group("asyncio"))
        await asyncio.sleep(0.01)
        waiter.cancel()
        await asyncio.sleep(0.05)
        assert not waiter.done()
        waiter.cancel()
        start = time.monotonic()
        await asyncio.wait([waiter])
        return time.monotonic() - start

    assert asyncio.run(main()) < 0.5


def test_settled_waits_without_owning() -> None:
    async def main() -> None:
        group = context(forever).group("asyncio")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(group.settled(), 0.02)
        with pytest.raises(tx.WaitTimeout):
            await group.settled(timeout=0.01)
        assert group.alive
        group.tasks[0].interrupt("enough")
        assert "cancelled" == (await group.settled())[0].status

    asyncio.run(main())


def test_a_coroutine_closed_in_its_await_asks_the_calls_to_stop() -> None:
    async def main() -> None:
        group = context(forever).group("asyncio")

        async def wait() -> Any:
            return await group

        waiter = wait()
        waiter.send(None)
        waiter.close()
        assert ["cancelled"] == [ret.status for ret in await group.settled()]

    asyncio.run(main())


def test_a_group_may_be_awaited_in_several_loops_and_threads_at_once() -> None:
    gate = threading.Event()

    @tx.tool
    def hold() -> int:
        gate.wait(10)
        return 1

    group = context(hold).group("thread")

    async def wait() -> Any:
        return await group

    got: list[Any] = []
    waiters: list[Callable[[], object]] = [lambda: asyncio.run(wait()), lambda: group.wait(10), group.tasks[0].wait]
    threads = [threading.Thread(target=lambda run=run: got.append(run())) for run in waiters]
    for thread in threads:
        thread.start()
    while len(group._all) < 2 or not group.tasks[0]._wakers:
        time.sleep(0)
    gate.set()
    for thread in threads:
        thread.join(10)

    ret = group.wait()[0]
    assert 3 == len(got)
    assert all(ret in (each if isinstance(each, tuple) else (each,)) for each in got)


# The end of a loop


@pytest.mark.parametrize("window", [None, 1])
def test_async_calls_end_with_their_loop_and_queued_ones_never_begin(window: int | None) -> None:
    began: list[int] = []

    @tx.tool
    async def hang() -> None:
        began.append(1)
        await asyncio.Event().wait()

    async def main() -> tx.Group:
        group = context(hang, count=4).group("asyncio", window=window)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return group

    group = asyncio.run(main())
    assert [("cancelled", "its event loop ended")] * 4 == [(r.status, r.reason) for r in group.wait(5)]
    assert (window or 4) == len(began)


def test_sync_calls_are_interrupted_at_the_end_of_their_loop_and_queued_ones_never_begin() -> None:
    began: list[int] = []
    first = threading.Event()

    @tx.tool
    def spin() -> None:
        began.append(1)
        first.set()
        for _ in range(3000):
            time.sleep(0.005)

    async def main() -> tx.Group:
        group = context(spin, count=3).group("asyncio", window=1)
        await asyncio.to_thread(first.wait, 10)
        return group

    group = asyncio.run(main())
    assert [("cancelled", "its event loop ended")] * 3 == [(r.status, r.reason) for r in group.wait(5)]
    assert [1] == began


def test_a_group_that_is_through_leaves_no_task_on_the_loop() -> None:
    async def main() -> int:
        await context(which_loop, tx.tool(name="sync")(lambda: 1), count=3).run("asyncio")
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert 1 == asyncio.run(main())


def test_closing_ends_the_background_loop() -> None:
    mine = tx.strategy("asyncio")
    before = {thread.name for thread in threading.enumerate()}
    tx.run(which_loop, None, mine)
    background = [thread for thread in threading.enumerate() if thread.name == "toolexec-asyncio"]
    mine.close()

    assert background
    assert len([t for t in background if t.is_alive()]) == len([name for name in before if name == "toolexec-asyncio"])


def test_close_on_a_loop_names_aclose_and_aclose_closes() -> None:
    async def main() -> None:
        async with tx.strategy("asyncio") as mine:
            group = context(forever).group(mine)
            await asyncio.sleep(0)
            with pytest.raises(tx.WrongLoop, match="aclose"):
                mine.close()
        assert mine.closed
        assert [("cancelled", "its strategy was closed")] == [(r.status, r.reason) for r in await group]

    asyncio.run(main())
