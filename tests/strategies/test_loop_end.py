"""A loop that ends under its calls: each has its Return at once, hooks run where they can, nothing is printed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import time
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop, received

ENDED = ("cancelled", "its event loop ended")


def answers(group: tx.Group, timeout: float = 5) -> list[tuple[str, str | None]]:
    return [(ret.status, ret.reason) for ret in group.wait(timeout)]


@tx.tool
async def forever() -> None:
    await asyncio.Event().wait()


@each_loop
def test_calls_that_were_not_stepped_once_are_answered(kind: str) -> None:
    """A task that is cancelled before its first step never runs."""
    began: list[int] = []

    @tx.tool
    async def begins() -> None:
        began.append(1)
        await Loop(kind).forever()

    async def main() -> tx.Group:
        return received(begins, count=3).group(kind)

    group = Loop(kind).run(main)
    assert [ENDED] * 3 == answers(group)
    assert len(began) == sum(ret.attempts for ret in group.returns if ret is not None)


@each_loop
@pytest.mark.parametrize("is_async", [True, False])
def test_hooks_run_on_the_ending_loop(kind: str, is_async: bool) -> None:
    loop = Loop(kind)
    log: list[str] = []

    @tx.tool
    async def tells() -> None:
        log.append("began")
        try:
            await loop.forever()
        finally:
            log.append("ended")

    if is_async:

        @tells.on_interrupt
        async def _() -> None:
            await loop.sleep(0.001)
            log.append("hook")
    else:

        @tells.on_interrupt
        def _() -> None:
            log.append("hook")

    async def main() -> tx.Group:
        group = received(tells).group(kind)
        await loop.until(lambda: log)
        return group

    assert [ENDED] == answers(loop.run(main), 0)
    assert ["began", "ended", "hook"] == log


def test_a_body_hears_of_the_end_once() -> None:
    """The loop cancels it; the engine, which notices the end as well, does not do so again."""
    heard: list[int] = []

    @tx.tool
    async def leaves_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            task = asyncio.current_task()
            assert task is not None
            heard.append(task.cancelling())

    async def main() -> tx.Group:
        group = received(leaves_slowly).group("asyncio")
        await asyncio.sleep(0)
        return group

    assert [ENDED] == answers(asyncio.run(main()), 0)
    assert [1] == heard


# A loop that is closed without more ado


class Unheard:
    """Everything that Python would print of what is thrown away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[str] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: self.messages.append(repr(unraisable)))

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.set_exception_handler(lambda _, context: self.messages.append(str(context)))


def test_closing_it_answers_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Running, queued, on a thread, and on its way to the loop: nobody cancels a task, nothing ever runs again."""
    unheard = Unheard(monkeypatch)
    began = threading.Event()

    @tx.tool
    def spins() -> None:
        began.set()
        while True:
            time.sleep(0.001)

    async def main() -> list[tx.Group]:
        queued = received(forever, count=3).group("asyncio", window=1)
        threads = received(spins).group("asyncio")
        await asyncio.to_thread(began.wait, 10)
        return [queued, threads]

    loop = asyncio.new_event_loop()
    unheard.listen(loop)
    queued, threads = loop.run_until_complete(main())
    loop.run_until_complete(loop.shutdown_default_executor())
    assert queued.alive
    start = time.monotonic()
    loop.close()

    assert [ENDED] * 3 == answers(queued)
    assert [ENDED] == answers(threads)
    assert time.monotonic() - start < 1
    del queued
    gc.collect()
    assert not [message for message in unheard.messages if "_watch" in message]  # the engine's own guard


def test_closing_it_is_noticed_for_a_loop_that_was_named() -> None:
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(stop.wait(),))
    thread.start()
    with tx.strategy("asyncio", loop=loop) as mine:
        group = received(forever).group(mine)
        while not group.tasks[0].function.called:
            time.sleep(0.001)
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        assert group.alive
        loop.close()
        assert [ENDED] == answers(group, 0)


def test_a_settled_group_is_not_concerned() -> None:
    @tx.tool
    async def quick() -> int:
        return 1

    loop = asyncio.new_event_loop()
    returns = loop.run_until_complete(received(quick, count=2).run("asyncio"))
    loop.close()
    assert [1, 1] == [ret.value for ret in returns]


# Bodies that do not heed the end


def test_asyncio_run_is_not_held_open_by_a_body_that_swallows_it() -> None:
    ended: list[int] = []

    @tx.tool
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            ended.append(1)

    async def main() -> tx.Group:
        group = received(stubborn).group(tx.strategy("asyncio", grace=0.2))
        await asyncio.sleep(0)
        return group

    start = time.monotonic()
    group = asyncio.run(main())
    assert time.monotonic() - start < 5
    assert [True] == [ret.abandoned for ret in group.wait(5)]
    assert [1] == ended


@each_loop
def test_a_hook_that_hangs_does_not_hold_the_loop_open(kind: str) -> None:
    loop = Loop(kind)
    log: list[str] = []

    @tx.tool
    async def tells() -> None:
        log.append("began")
        await loop.forever()

    @tells.on_interrupt
    async def _() -> None:
        log.append("hook")
        await loop.forever()

    async def main() -> tx.Group:
        group = received(tells).group(tx.strategy(kind, grace=0.2))
        await loop.until(lambda: log)
        return group

    start = time.monotonic()
    group = loop.run(main)
    assert time.monotonic() - start < 5
    assert [ENDED] == answers(group)
    assert ["began", "hook"] == log


def test_a_trio_run_that_ends_runs_hooks_of_calls_in_the_callers_nursery_too() -> None:
    log: list[str] = []
    began = trio.Event()

    @tx.tool
    async def tells() -> None:
        began.set()
        await trio.sleep_forever()

    @tells.on_interrupt
    async def _() -> None:
        await trio.sleep(0.001)
        log.append("hook")

    async def main() -> tx.Group:
        with trio.CancelScope() as scope:
            async with received(tells).group("trio") as group:
                await began.wait()
                scope.cancel()
                await trio.sleep_forever()
        log.append("left")
        return group

    assert ["cancelled"] == [ret.status for ret in trio.run(main).wait(5)]
    assert ["hook", "left"] == log


@each_loop
def test_a_group_made_in_an_ended_loops_last_moment_has_a_limit_all_the_same(kind: str) -> None:
    """A sequential Group that nobody has awaited: its limit goes on by the process's clock."""
    loop = Loop(kind)

    @tx.tool
    def quick() -> Any:
        return 1

    async def main() -> tx.Group:
        return received(quick).group("sequential", timeout=0.05)

    group = loop.run(main)
    until = time.monotonic() + 10
    while group.alive and time.monotonic() < until:
        time.sleep(0.001)
    assert ["timeout"] == [ret and ret.status for ret in group.returns]
