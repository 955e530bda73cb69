"""An interrupt of an async body on a loop: one cancellation, then the hook there, then the Return."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop, received

# Long enough that nothing here waits for it to be over, and short for a test that fails.
GRACE_S = 20.0

# For tests that are about what happens when the grace is over.
SHORT_S = 0.2


class Hooked(tx.Tool):
    """A tool that waits to be interrupted, and notes what happens to it."""

    name = "hooked"

    def __init__(self, loop: Loop, on_cancel: Callable[[], Any], body: Callable[[], Any] | None = None) -> None:
        self.where = loop
        self.log: list[str] = []
        self.threads: set[int] = set()
        self.on_cancel = on_cancel
        self._body = body or loop.forever

    async def call(self) -> Any:
        self.log.append("began")
        self.threads.add(threading.get_ident())
        try:
            return await self._body()
        finally:
            self.log.append("ended")

    def note_hook(self) -> None:
        self.log.append("hook")
        self.threads.add(threading.get_ident())


def hooked(loop: Loop, *, is_async: bool, body: Callable[[], Any] | None = None) -> Hooked:
    def on_cancel() -> None:
        tool.note_hook()

    async def on_cancel_async() -> None:
        await loop.sleep(0.001)
        tool.note_hook()

    tool = Hooked(loop, on_cancel_async if is_async else on_cancel, body)
    return tool


async def interrupted(tool: Hooked, grace: float = GRACE_S, reason: str = "enough") -> tx.Return:
    group = received(tool).group(tx.strategy(tool.where.kind, grace=grace))
    await tool.where.until(lambda: tool.log)
    group.interrupt(reason)
    return (await group)[0]


@each_loop
@pytest.mark.parametrize("is_async", [False, True])
def test_the_hook_runs_on_the_loop_after_the_body_and_before_the_return(kind: str, is_async: bool) -> None:
    loop = Loop(kind)
    tool = hooked(loop, is_async=is_async)

    async def main() -> tuple[tx.Return, list[str]]:
        return await interrupted(tool), list(tool.log)

    ret, log = loop.run(main)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert ["began", "ended", "hook"] == log
    assert {threading.get_ident()} == tool.threads


@each_loop
def test_in_the_background_as_well(kind: str) -> None:
    tool = hooked(Loop(kind), is_async=True)
    group = received(tool).group(kind)
    while not tool.log:
        time.sleep(0.001)
    group.interrupt()

    assert ["cancelled"] == [ret.status for ret in group.wait(10)]
    assert ["began", "ended", "hook"] == tool.log
    assert 1 == len(tool.threads)


@each_loop
def test_a_body_that_answers_all_the_same_counts_and_its_hook_ran(kind: str) -> None:
    loop = Loop(kind)

    async def body() -> str:
        try:
            await loop.forever()
        except loop.cancelled:
            return "tidied up"
        return "never"

    tool = hooked(loop, is_async=False, body=body)
    ret = loop.run(lambda: interrupted(tool))

    assert ("ok", "tidied up") == (ret.status, ret.value)
    assert ["began", "ended", "hook"] == tool.log


@each_loop
def test_no_hook_for_a_call_that_had_not_begun(kind: str) -> None:
    loop = Loop(kind)
    tool = hooked(loop, is_async=False)

    async def main() -> list[str]:
        group = received(tool, count=2).group(kind, window=1)
        await loop.until(lambda: tool.log)
        group.tasks[1].interrupt()
        await group.tasks[1]
        before = list(tool.log)
        group.interrupt()
        await group
        return before

    assert ["began"] == loop.run(main)
    assert ["began", "ended", "hook"] == tool.log


@each_loop
def test_a_body_that_will_not_end_has_its_hook_told_at_half_the_grace_on_the_loop(kind: str) -> None:
    loop = Loop(kind)
    told = threading.Event()

    async def body() -> str:
        while not told.is_set():
            with contextlib.suppress(loop.cancelled):
                await loop.sleep(0.01)
        return "told"

    tool = hooked(loop, is_async=True, body=body)
    hook = tool.on_cancel

    async def tell() -> None:
        await hook()
        told.set()

    tool.on_cancel = tell
    ret = loop.run(lambda: interrupted(tool, grace=2))

    assert ("ok", "told") == (ret.status, ret.value)
    assert ["began", "hook", "ended"] == tool.log
    assert {threading.get_ident()} == tool.threads


@each_loop
@pytest.mark.parametrize("fault", [ValueError, SystemExit, tx.Interrupt])
def test_a_hook_that_raises_harms_nothing(kind: str, fault: type[BaseException], caplog: Any) -> None:
    loop = Loop(kind)
    tool = hooked(loop, is_async=True)

    async def fail() -> None:
        raise fault("of the hook")

    tool.on_cancel = fail
    ret = loop.run(lambda: interrupted(tool))

    assert ("cancelled", "enough") == (ret.status, ret.reason)
    assert ["toolexec: the hook of tool 'hooked' raised"] == [record.getMessage() for record in caplog.records]


@each_loop
def test_a_hook_that_hangs_is_waited_for_within_the_grace_and_then_cancelled(kind: str, caplog: Any) -> None:
    loop = Loop(kind)
    tool = hooked(loop, is_async=True)

    async def hang() -> None:
        tool.log.append("hook")
        try:
            await loop.forever()
        finally:
            tool.log.append("let go")

    tool.on_cancel = hang

    async def main() -> tx.Return:
        ret = await interrupted(tool, grace=SHORT_S)
        await loop.until(lambda: "let go" in tool.log and caplog.records)
        return ret

    ret = loop.run(main)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert ["began", "ended", "hook", "let go"] == tool.log
    assert ["toolexec: the hook of tool 'hooked' did not return within its grace"] == [
        record.getMessage() for record in caplog.records
    ]


def test_a_hook_on_asyncio_may_use_timeouts_and_hear_of_no_cancellation() -> None:
    """Its task was cancelled, once, for the body; that is over."""
    loop = Loop("asyncio")
    tool = hooked(loop, is_async=True)
    seen: list[object] = []

    async def careful() -> None:
        task = asyncio.current_task()
        assert task is not None
        seen.append(task.cancelling())
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append("timeout")

    tool.on_cancel = careful
    ret = loop.run(lambda: interrupted(tool))

    assert [0, "timeout"] == seen
    assert "cancelled" == ret.status


def test_a_second_cancellation_on_asyncio_ends_the_hook_and_not_the_return() -> None:
    loop = Loop("asyncio")
    tool = hooked(loop, is_async=True)
    tasks: list[asyncio.Task[Any]] = []

    async def slow() -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        await asyncio.Event().wait()

    tool.on_cancel = slow

    async def main() -> tx.Return:
        group = received(tool).group(tx.strategy("asyncio", grace=GRACE_S))
        await loop.until(lambda: tool.log)
        group.interrupt("first")
        await loop.until(lambda: tasks)
        tasks[0].cancel()
        return (await group)[0]

    start = time.monotonic()
    ret = loop.run(main)
    assert ("cancelled", "first") == (ret.status, ret.reason)
    assert time.monotonic() - start < GRACE_S / 2


@each_loop
def test_what_a_sync_body_leaves_to_be_awaited_is_stopped_the_same_way(kind: str) -> None:
    loop = Loop(kind)
    log: list[str] = []

    async def rest() -> None:
        log.append("began")
        await loop.forever()

    @tx.tool
    def starts() -> Any:
        return rest()

    @starts.on_interrupt
    def _() -> None:
        log.append("hook")

    async def main() -> tx.Return:
        group = received(starts).group(kind)
        await loop.until(lambda: log)
        group.interrupt()
        return (await group)[0]

    assert "cancelled" == loop.run(main).status
    assert ["began", "hook"] == log


@each_loop
def test_a_cancellation_born_inside_a_tool_is_its_own_fault(kind: str) -> None:
    loop = Loop(kind)

    @tx.tool
    async def own() -> None:
        if kind == "asyncio":
            task = asyncio.ensure_future(loop.forever())
            await loop.turn()
            task.cancel()
            await task
        raise asyncio.CancelledError("own")

    async def main() -> list[str]:
        return [ret.status for ret in await received(own).group(kind)]

    assert ["raised"] == loop.run(main)


# B5: a body that swallows its cancellation


class Noise:
    """What Python prints of a coroutine or task that it has to throw away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.heard: list[object] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: self.heard.append(unraisable.exc_value))

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.heard.append(context["message"]))


@pytest.mark.parametrize("settled_first", [True, False])
def test_asyncio_drops_a_body_that_swallows_all_and_the_loop_can_end(
    settled_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the loop is ending already: then it waits for the body's task."""
    noise = Noise(monkeypatch)
    swallowed: list[BaseException] = []

    @tx.tool
    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException as exc:  # noqa: BLE001 - that is the point
                swallowed.append(exc)

    async def main() -> tx.Group:
        noise.listen()
        group = received(stubborn).group(tx.strategy("asyncio", grace=SHORT_S))
        await asyncio.sleep(0)
        if settled_first:
            group.interrupt()
            await group
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert [asyncio.current_task()] == list(asyncio.all_tasks())
        return group

    start = time.monotonic()
    group = asyncio.run(main())
    assert time.monotonic() - start < 5
    gc.collect()

    ret = group.wait(5)[0]
    assert ("cancelled", True) == (ret.status, ret.abandoned)
    assert [asyncio.CancelledError] == [type(exc) for exc in swallowed]  # one, and nothing afterwards
    assert [] == noise.heard


def test_asyncio_B3_a_cleanup_without_end_is_dropped_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise(monkeypatch)
    log: list[str] = []

    @tx.tool(timeout=0.05)
    async def slow_to_leave() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            log.append("cleans up")
            await asyncio.sleep(30)
            log.append("never")

    async def main() -> tx.Return:
        noise.listen()
        return (await received(slow_to_leave).group(tx.strategy("asyncio", grace=SHORT_S)))[0]

    start = time.monotonic()
    ret = asyncio.run(main())
    assert time.monotonic() - start < 5
    gc.collect()

    assert ("timeout", True) == (ret.status, ret.abandoned)
    assert ["cleans up"] == log
    assert [] == noise.heard


def test_trio_releases_the_waiter_and_says_what_stays_open(caplog: pytest.LogCaptureFixture) -> None:
    relent = trio.Event()
    log: list[str] = []

    began = trio.Event()

    @tx.tool
    async def stubborn() -> None:
        began.set()
        while not relent.is_set():
            with contextlib.suppress(trio.Cancelled):
                await trio.sleep(60)
        log.append("relented")

    async def main() -> tx.Return:
        async with received(stubborn).group(tx.strategy("trio", grace=SHORT_S)) as group:
            await began.wait()
            group.interrupt()
            with caplog.at_level(logging.WARNING, "toolexec"):
                ret = (await group)[0]
            log.append("released")
            relent.set()
        return ret

    ret = trio.run(main)

    assert ("cancelled", True) == (ret.status, ret.abandoned)
    assert ["released", "relented"] == log
    assert 1 == len(caplog.records)
    assert "trio.run and 'async with group' stay open" in caplog.records[0].getMessage()
