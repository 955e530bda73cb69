"""The tools that are interrupted: in a module, so that every strategy can carry them."""

from __future__ import annotations

import time

import toolexec as tx
from toolexec.lowlevel import running_loop


@tx.tool
def count(steps: int) -> int:
    """Count, never giving way by itself."""
    return _sum(steps)


@tx.tool
def gives_way(turns: int) -> int:
    """Let other threads run, often."""
    for _ in range(turns):
        time.sleep(0)
    return turns


@tx.tool
def witness(steps: int) -> int:
    """What must not feel an interrupt of the call before it."""
    return _sum(steps)


@tx.tool
async def asleep(turns: int) -> int:
    """Let the loop run, often."""
    for _ in range(turns):
        await _one_turn()
    return turns


@tx.tool
async def awitness(steps: int) -> int:
    """What must not feel an interrupt of the calls around it."""
    await _one_turn()
    return _sum(steps)


async def _one_turn() -> None:
    if running_loop() == "trio":
        import trio

        await trio.lowlevel.checkpoint()
    else:
        import asyncio

        await asyncio.sleep(0)


def _sum(steps: int) -> int:
    total = 0
    for step in range(steps):
        total += step
    return total
