"""What the trio strategy alone promises: nurseries, scopes, tokens, and what happens when a run ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
import trio.lowlevel

import toolexec as tx
from stand_in import job_of
from toolexec._loop_kind import running_loop
from toolexec_strategies._loops._trio import drive


def context(*tools: Any, count: int = 1) -> tx.Context:
    ctx = tx.Context(tools)
    ctx.receive([{"id": f"{name}-{number}", "name": name} for name in ctx.functions for number in range(count)])
    return ctx


@tx.tool
async def which_run() -> int:
    return id(trio.lowlevel.current_trio_token())


@tx.tool
async def forever() -> None:
    await trio.sleep_forever()


def reasons(group: tx.Group) -> list[tuple[str, str | None]]:
    return [(ret.status, ret.reason) for ret in group.wait(5)]


@contextmanager
def run_on_a_thread() -> Iterator[trio.lowlevel.TrioToken]:
    tokens: list[trio.lowlevel.TrioToken] = []
    started, ended = threading.Event(), trio.Event()

    async def main() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        started.set()
        await ended.wait()

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    assert started.wait(10)
    yield tokens[0]
    tokens[0].run_sync_soon(ended.set)
    thread.join()


# Whose run


def test_inside_a_run_calls_are_its_tasks() -> None:
    async def main() -> tuple[int, Any]:
        return id(trio.lowlevel.current_trio_token()), (await context(which_run).run("trio"))[0].unwrap()

    mine, theirs = trio.run(main)
    assert mine == theirs


def test_outside_one_all_groups_share_one_in_the_background() -> None:
    first, second = (tx.run(which_run, None, "trio").unwrap() for _ in range(2))

    assert first == second


def test_the_run_may_be_named_by_its_token() -> None:
    with run_on_a_thread() as token:
        mine = tx.strategy("trio", token=token)
        assert id(token) == tx.run(which_run, None, mine).unwrap()
        assert id(token) == trio.run(context(which_run).run, mine)[0].unwrap()
        mine.close()


def test_a_run_that_is_over_answers_cancelled() -> None:
    with run_on_a_thread() as token:
        pass

    returns = context(which_run).wait(tx.strategy("trio", token=token), timeout=10)
    assert [("cancelled", "its event loop ended")] == [(ret.status, ret.reason) for ret in returns]


# Nurseries and scopes


def test_a_scope_around_async_with_reaches_the_tool() -> None:
    seen: list[str] = []

    @tx.tool
    async def careful() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            seen.append("cancelled")
            raise

    async def main() -> tx.Group:
        with trio.move_on_after(0.05) as scope:
            async with context(careful, count=2).group("trio") as group:
                await trio.sleep_forever()
        assert scope.cancelled_caught
        return group

    group = trio.run(main)
    assert ["cancelled", "cancelled"] == seen
    assert {"cancelled"} == {status for status, _ in reasons(group)}
    assert "its event loop ended" not in {reason for _, reason in reasons(group)}


def test_a_call_that_is_cancelled_from_two_sides_at_once_is_answered() -> None:
    """Its own scope keeps no Cancelled while one around it is cancelled too."""

    async def cancels_both() -> None:
        outer.cancel()
        job.slot.scope.cancel()
        await trio.sleep_forever()

    owner, job = job_of(cancels_both, is_async=True)
    outer = trio.CancelScope()

    async def main() -> None:
        with outer:
            await drive(job, outside="a scope")

    trio.run(main)
    assert (owner.outcomes.get_nowait().status, outer.cancelled_caught) == ("cancelled", True)


def test_a_bare_group_lives_outside_the_callers_scopes_until_it_is_awaited() -> None:
    async def main() -> None:
        gate = trio.Event()

        @tx.tool
        async def hold() -> str:
            await gate.wait()
            return "through"

        with trio.CancelScope() as scope:
            group = context(hold).group("trio")
            scope.cancel()
            await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert group.alive
        gate.set()
        assert "through" == (await group)[0].unwrap()

    trio.run(main)


def test_a_scope_around_the_await_stops_the_calls_and_the_returns_stay_readable() -> None:
    async def main() -> tx.Group:
        group = context(forever, count=2).group("trio")
        with trio.move_on_after(0.02) as scope:
            await group
        assert scope.cancelled_caught
        assert not group.alive
        return group

    assert [("cancelled", "its caller was stopped by Cancelled")] * 2 == reasons(trio.run(main))


def test_an_exception_in_the_block_comes_out_as_itself_and_stops_the_calls() -> None:
    """Not wrapped into a group of exceptions, though a nursery is left on the way."""
    original = ValueError("mine")

    async def main() -> tx.Group:
        with pytest.raises(ValueError, match="mine") as caught:
            async with context(forever, count=2).group("trio") as group:
                await trio.lowlevel.checkpoint()
                raise original
        assert original is caught.value
        return group

    assert [("cancelled", "its caller was stopped by ValueError")] * 2 == reasons(trio.run(main))


def test_a_failing_tool_does_not_cancel_the_nursery_it_runs_in() -> None:
    @tx.tool
    async def fail() -> None:
        raise SystemExit(3)

    async def main() -> list[str]:
        async with context(fail, which_run).group("trio") as group:
            await trio.lowlevel.checkpoint()
        return [ret.status for ret in await group]

    assert ["raised", "ok"] == trio.run(main)


def test_a_tool_that_raises_a_group_of_exceptions_keeps_it() -> None:
    @tx.tool
    async def many() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise KeyError("in a nursery")

    ret = trio.run(context(many).run, "trio")[0]
    assert "raised" == ret.status
    assert isinstance(ret.exception, ExceptionGroup)


def test_leaving_the_block_waits_for_all() -> None:
    async def main() -> list[bool]:
        async with context(which_run, tx.tool(name="sync")(lambda: 1), count=2).group("trio") as group:
            pass
        return [ret is not None and ret.ok for ret in group.returns]

    assert [True] * 4 == trio.run(main)


def test_a_sync_tool_in_the_block_is_interrupted_by_the_scope_too() -> None:
    began = threading.Event()

    @tx.tool
    def spin() -> None:
        began.set()
        for _ in range(3000):
            time.sleep(0.005)

    async def main() -> tx.Group:
        with trio.CancelScope() as scope:
            async with context(spin).group("trio") as group:
                await trio.to_thread.run_sync(began.wait, 10)
                scope.cancel()
        return group

    start = time.monotonic()
    assert ["cancelled"] == [status for status, _ in reasons(trio.run(main))]
    assert time.monotonic() - start < 5


def test_a_nested_block_under_a_shield_is_its_own_matter() -> None:
    async def main() -> list[Any]:
        with trio.CancelScope() as outer:
            outer.cancel()
            with trio.CancelScope(shield=True):
                async with context(which_run).group("trio") as group:
                    pass
        return [ret is not None and ret.ok for ret in group.returns]

    assert [True] == trio.run(main)


def test_blocking_the_run_is_refused_and_the_await_form_named() -> None:
    async def main() -> None:
        ctx = context(which_run)
        with pytest.raises(tx.WrongLoop, match="running trio loop"):
            ctx.wait("trio")
        assert ctx.pending_functions
        group = ctx.group("trio")
        with pytest.raises(tx.WrongLoop, match="runs on the trio loop"):
            group.wait(block_loop=True)
        await group
        elsewhere = context(tx.tool(name="sync")(lambda: 1)).group("thread")
        assert [1] == [ret.value for ret in elsewhere.wait(block_loop=True)]

    trio.run(main)


def test_awaiting_what_is_settled_is_still_a_checkpoint() -> None:
    async def main() -> None:
        group = context(which_run).group("trio")
        await group
        with trio.CancelScope() as scope:
            scope.cancel()
            await group
        assert scope.cancelled_caught

    trio.run(main)


# The end of a run


@pytest.mark.parametrize("window", [None, 1])
def test_calls_end_with_their_run_and_queued_ones_never_begin(window: int | None) -> None:
    began: list[int] = []

    @tx.tool
    async def hang() -> None:
        began.append(1)
        await trio.sleep_forever()

    async def main() -> tx.Group:
        group = context(hang, count=4).group("trio", window=window)
        while len(began) < (window or 4):
            await trio.lowlevel.checkpoint()
        return group

    assert [("cancelled", "its event loop ended")] * 4 == reasons(trio.run(main))
    assert (window or 4) == len(began)


def test_sync_calls_are_interrupted_at_the_end_of_their_run() -> None:
    began = threading.Event()

    @tx.tool
    def spin() -> None:
        began.set()
        for _ in range(3000):
            time.sleep(0.005)

    async def main() -> tx.Group:
        group = context(spin, count=2).group("trio", window=1)
        await trio.to_thread.run_sync(began.wait, 10)
        return group

    assert [("cancelled", "its event loop ended")] * 2 == reasons(trio.run(main))


def test_a_group_made_in_the_very_last_callback_of_a_run_is_answered() -> None:
    """By then the run takes no task any more; asked for one, trio ends in an internal error."""
    made: list[tx.Group] = []

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()

        async def outlive_main() -> None:
            try:
                await trio.sleep_forever()
            finally:
                token.run_sync_soon(lambda: made.append(context(which_run).group("trio")))

        trio.lowlevel.spawn_system_task(outlive_main)
        await trio.lowlevel.checkpoint()

    trio.run(main)
    assert [("cancelled", "its event loop ended")] == reasons(made[0])


# Guest mode


def in_guest_mode(main: Callable[[], Any]) -> Any:
    """Run trio as a guest of asyncio, both on this thread."""

    async def host() -> Any:
        done = asyncio.get_running_loop().create_future()
        trio.lowlevel.start_guest_run(
            main,
            run_sync_soon_threadsafe=asyncio.get_running_loop().call_soon_threadsafe,
            done_callback=done.set_result,
        )
        return (await done).unwrap()

    return asyncio.run(host())


def test_in_guest_mode_a_trio_task_is_in_trio() -> None:
    async def main() -> tuple[Any, ...]:
        group = context(which_run, tx.tool(name="sync")(lambda: 1)).group("auto")
        returns = await group
        return running_loop(), returns[0].strategy, [ret.ok for ret in returns]

    assert ("trio", "trio", [True, True]) == in_guest_mode(main)


def test_in_guest_mode_a_scope_reaches_the_tools_too() -> None:
    async def main() -> tx.Group:
        with trio.move_on_after(0.02):
            async with context(forever).group() as group:
                pass
        return group

    assert {"cancelled"} == {status for status, _ in reasons(in_guest_mode(main))}


def test_closing_ends_the_background_run() -> None:
    mine = tx.strategy("trio")
    before = set(threading.enumerate())
    tx.run(which_run, None, mine)
    background = [t for t in threading.enumerate() if t not in before and t.name == "toolexec-trio"]
    mine.close()

    assert 1 == len(background)
    assert not background[0].is_alive()
