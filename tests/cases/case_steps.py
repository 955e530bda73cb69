"""How the cases of stopping go: somebody waits for a Group, and somebody else does something to it meanwhile."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
import trio

import toolexec as tx
from cases.case_tools import ALL, PATIENCE_S
from toolexec.testing import Gate, ManualClock

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Handle(Protocol[R_co]):
    """A Task or a Group."""

    def wait(self, timeout: float | None = None) -> R_co: ...

    def interrupt(self, reason: str = ...) -> None: ...

    @property
    def alive(self) -> bool: ...

    def __await__(self) -> Generator[Any, Any, R_co]: ...


# The ways to wait.
ENTRIES = ["plain", "asyncio", "trio"]
LOOPS = ["asyncio", "trio"]

# The bodies of cases.stopping_tools that an interrupt stops.  Under sequential nothing is raised, so
# only those that ask by themselves are.
ASKING = ["asks", "aasks"]
RAISED_INTO = ["stands", "astands"]
STOPPABLE = [
    pytest.param(strategy, body, id=f"{strategy}-{body}")
    for strategy in ALL
    for body in (ASKING if strategy == "sequential" else ASKING + RAISED_INTO)
]
stoppable = pytest.mark.parametrize(("strategy", "body"), STOPPABLE)


def run_in(entry: str, main: Callable[[], Any]) -> Any:
    """Run ``main`` in a new loop."""
    return asyncio.run(main()) if entry == "asyncio" else trio.run(main)


def steer(start: Callable[[], Handle[R]], act: Callable[[Any], object], entry: str = "plain") -> R:
    """Start a Task or a Group and wait for it in the entry's way, while ``act`` goes on with it on a thread beside."""
    raised: list[BaseException] = []
    threads: list[threading.Thread] = []

    def beside(handle: Handle[R]) -> None:
        try:
            act(handle)
        except BaseException as exc:  # noqa: BLE001 - raised below, on the test's own thread
            raised.append(exc)
            handle.interrupt("the test has failed already")

    def begin() -> Handle[R]:
        handle = start()
        threads.append(threading.Thread(target=beside, args=(handle,), daemon=True))
        threads[0].start()
        return handle

    async def main() -> R:
        return await begin()

    try:
        # Without a limit: that would be one more timer on a clock that is moved by hand, and `let_time_pass`
        # looks for the call's own.  pytest has a limit for all.
        result: R = begin().wait() if entry == "plain" else run_in(entry, main)
    finally:
        for thread in threads:
            thread.join(PATIENCE_S)
        if raised:
            raise raised[0]
    return result


async def cancel_when(
    entry: str, waiting: Callable[[], Awaitable[object]], moment: Callable[[], Awaitable[object]]
) -> None:
    """Await something in a task of its own, and cancel that task at the moment; it has to end by that."""
    if entry == "trio":
        with trio.CancelScope() as scope:

            async def cancel() -> None:
                await moment()
                scope.cancel()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel)
                await waiting()
        assert scope.cancelled_caught
        return

    async def wait() -> None:
        await waiting()

    task = asyncio.ensure_future(wait())
    await moment()
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE_S)
    assert task.cancelled()


def interrupt_at(gate: Gate, reason: str = "enough", count: int = 1) -> Callable[[tx.Group], None]:
    """What interrupts a Group once ``count`` of its bodies have come to the gate."""

    def act(group: tx.Group) -> None:
        gate.wait_until_reached(count)
        group.interrupt(reason)

    return act


def let_time_pass(gate: Gate, clock: ManualClock, seconds: float) -> Callable[[Any], None]:
    """What moves the clock once a body has come to the gate, and lets it go on from there by itself.

    A limit of time on a clock that runs from the start might be over before the body has come anywhere.
    """

    def act(handle: Handle[Any]) -> None:
        gate.wait_until_reached()
        clock.wait_for_timers()  # a worker's report that the body has begun may come after the body
        clock.advance(seconds)
        while handle.alive:
            time.sleep(0.005)
            clock.advance(0.005)

    return act


def eventually(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait for something of which nobody is told: the end of a process, say."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds:g} s"
        time.sleep(0.002)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def collected(pid: int) -> bool:
    """Whether a process has ended, and is no zombie either."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
