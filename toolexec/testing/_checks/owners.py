"""Owners: who waits for calls and is stopped himself stops them, and is told of it only when they have ended."""

from __future__ import annotations

import signal
import threading
import types
from collections.abc import Awaitable, Callable
from typing import Any

from toolexec import Functions, Group, Return
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import LIMIT_S, cancelled_when, run
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness
from toolexec.testing._needs import concurrent, needs, only_under

# How soon a signal that met its thread elsewhere is sent again.
_AGAIN_S = 0.001


class _Left(Exception):
    """Why a block was left."""


@only_under("sync")
def check_exception_in_the_block(harness: Harness) -> None:
    """``with group`` left by an exception stops the calls, waits for them, and lets the exception out as it is."""
    gate = harness.gate()
    left = _Left()
    functions = _heeding(harness, gate, ["heed", "aheed"])
    groups: list[Group] = []
    try:
        with functions.group() as group:
            groups.append(group)
            if harness.concurrent:
                gate.wait_until_reached(2)
            raise left
    except _Left as exc:
        assert exc is left, exc

    _assert_stopped(groups[0], "_Left")


@only_under("asyncio", "trio")
def check_exception_in_the_async_block(harness: Harness) -> None:
    """So does ``async with group``."""
    gate = harness.gate()
    left = _Left()
    functions = _heeding(harness, gate, ["heed", "aheed"])

    async def main() -> Group:
        groups: list[Group] = []
        try:
            async with functions.group() as group:
                groups.append(group)
                if harness.concurrent:
                    await gate.until_reached(2)
                raise left
        except _Left as exc:
            assert exc is left, exc
        return groups[0]

    _assert_stopped(run(harness.driver, main), "_Left")


@only_under("asyncio", "trio")
def check_awaiter_is_cancelled(harness: Harness) -> None:
    """Who awaits a Group and is cancelled has stopped its calls by the time the cancellation comes out."""
    for name in ("heed", "aheed"):
        gate = harness.gate()
        group = run(harness.driver, _cancelled_at(gate, harness, _heeding(harness, gate, [name]), _await))

        _assert_stopped(group, "Cancelled")


@only_under("asyncio", "trio")
def check_loop_over_returns_is_cancelled(harness: Harness) -> None:
    """So has who goes through the Returns as calls finish."""
    gate = harness.gate()

    async def go_through(group: Group) -> None:
        async for ret in group:
            raise AssertionError(f"a call finished by itself: {ret}")

    group = run(harness.driver, _cancelled_at(gate, harness, _heeding(harness, gate, ["heed"]), go_through))

    _assert_stopped(group, "Cancelled")


@only_under("asyncio", "trio")
def check_async_block_is_cancelled(harness: Harness) -> None:
    """So has who waits at the end of the block of a Group."""
    gate = harness.gate()

    async def block(group: Group) -> None:
        async with group:
            pass

    group = run(harness.driver, _cancelled_at(gate, harness, _heeding(harness, gate, ["aheed"]), block))

    assert [ret.status if ret else None for ret in group.returns] == ["cancelled"], group.returns


@needs(concurrent)
@only_under("asyncio", "trio")
def check_awaiter_of_one_task_is_cancelled(harness: Harness) -> None:
    """Who awaits one Task owns that one; its siblings go on."""
    gate, other = harness.gate(), harness.gate()
    calls: list[Any] = [("heed", {"gate": gate.path, "label": "0"}), ("pass_gate", {"gate": other.path, "label": "1"})]
    functions = harness.receive([stopping.heed, ordered.pass_gate], calls)

    async def main() -> tuple[Return, ...]:
        group = functions.group(window=2)

        async def both_there() -> None:
            await gate.until_reached()
            await other.until_reached()

        await cancelled_when(harness.driver, lambda: group.tasks[0], both_there)
        assert [task.alive for task in group.tasks] == [False, True], group
        other.open()
        return await group

    first, second = run(harness.driver, main)

    assert (first.status, second.value) == ("cancelled", "1"), (first, second)


@needs(concurrent)
@only_under("asyncio", "trio")
def check_waiting_without_owning(harness: Harness) -> None:
    """Who awaits ``settled()`` owns nothing: cancelled, he leaves the calls running."""
    gate = harness.gate()
    functions = harness.receive([ordered.pass_gate], [("pass_gate", {"gate": gate.path, "label": "0"})])

    async def main() -> tuple[Return, ...]:
        group = functions.group()
        await cancelled_when(harness.driver, group.settled, gate.until_reached)
        assert group.alive, group.returns
        gate.open()
        return await group.settled(LIMIT_S)

    (ret,) = run(harness.driver, main)

    assert ret.value == "0", ret


@needs(concurrent)
def check_leaving_a_loop_over_returns(harness: Harness) -> None:
    """Who leaves ``for`` or ``async for`` early, of his own will, interrupts nothing."""
    gate = harness.gate()
    calls: list[Any] = [("add", {"a": 1}), ("pass_gate", {"gate": gate.path, "label": "1"})]
    functions = harness.receive([tools.add, ordered.pass_gate], calls)

    def leave() -> Group:
        group = functions.group(window=2)
        for ret in group:
            assert ret.value == 2, ret
            break
        for _ in group.events():
            break
        assert group.alive
        gate.open()
        group.wait(LIMIT_S)
        return group

    async def aleave() -> Group:
        group = functions.group(window=2)
        async for ret in group:
            assert ret.value == 2, ret
            break
        async for _ in group.events():
            break
        assert group.alive
        gate.open()
        await group
        return group

    group = leave() if harness.driver == "sync" else run(harness.driver, aleave)

    assert [ret.value if ret else None for ret in group.returns] == [2, "1"], group.returns


@needs(concurrent)
@only_under("sync")
def check_wait_cut_short(harness: Harness) -> None:
    """A signal handler that raises ends the wait, as Ctrl-C does: the calls are stopped, and it comes out as it is.

    Off the main thread there are no handlers; there is nothing to see then.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    gate, left = harness.gate(), _Left()
    group = _heeding(harness, gate, ["heed", "aheed"]).group()
    main = threading.get_ident()
    raised = threading.Event()

    def handle(_: int, frame: types.FrameType | None) -> None:
        # Only where who waits is parked: before that it would not have to do with these calls.
        if not raised.is_set() and frame is not None and frame.f_globals["__name__"] == "toolexec._waiting":
            raised.set()
            raise left

    def act(_: Group) -> None:
        gate.wait_until_reached(2)
        while not raised.wait(_AGAIN_S):
            signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        harness.follow(lambda: group, act)
    except _Left as exc:
        assert exc is left, exc
    else:
        raise AssertionError("the wait went on")
    finally:
        signal.signal(signal.SIGUSR1, before)

    _assert_stopped(group, "_Left")


def _heeding(harness: Harness, gate: Gate, names: list[str]) -> Functions:
    calls = [(name, {"gate": gate.path, "label": name}) for name in names]
    return harness.receive([stopping.heed, stopping.aheed], calls)


async def _await(group: Group) -> None:
    await group


def _cancelled_at(
    gate: Gate, harness: Harness, functions: Functions, wait: Callable[[Group], Awaitable[object]]
) -> Callable[[], Awaitable[Group]]:
    """What makes a Group, waits for it as told, and is cancelled in that once a call has come to the gate."""

    async def main() -> Group:
        group = functions.group()
        await cancelled_when(harness.driver, lambda: wait(group), gate.until_reached)
        assert not group.alive, group.returns
        return group

    return main


def _assert_stopped(group: Group, why: str) -> None:
    for ret in group.returns:
        assert ret is not None, group.returns
        assert ret.status == "cancelled" and why in str(ret.reason), ret


CHECKS = (
    check_exception_in_the_block,
    check_exception_in_the_async_block,
    check_awaiter_is_cancelled,
    check_loop_over_returns_is_cancelled,
    check_async_block_is_cancelled,
    check_awaiter_of_one_task_is_cancelled,
    check_waiting_without_owning,
    check_leaving_a_loop_over_returns,
    check_wait_cut_short,
)
