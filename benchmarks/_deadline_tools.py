"""Tools that never end by themselves; alone here, because forked children and interpreters import this module."""

from __future__ import annotations

import time

import toolexec as tx
from toolexec.lowlevel import running_loop


@tx.tool
def sleep() -> None:
    """Sleeps in slices of 5 ms: on a thread it is stopped between two."""
    while True:
        time.sleep(0.005)


@tx.tool
def busy() -> None:
    """Counts."""
    number = 0
    while True:
        number += 1


@tx.tool
async def sleep_async() -> None:
    """Sleeps in its loop."""
    if running_loop() == "trio":
        import trio

        await trio.sleep_forever()
    else:
        import asyncio

        await asyncio.Event().wait()


SLEEP, BUSY, SLEEP_ASYNC = sleep, busy, sleep_async
