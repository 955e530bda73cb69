"""Ending an asyncio loop that is the engine's own, in bounded time."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from toolexec._left_behind import keep_forever

if TYPE_CHECKING:  # whoever has a loop to end has imported it; nobody else need
    import asyncio


def end_asyncio(loop: asyncio.AbstractEventLoop, timeout: float, cancelled: Collection[asyncio.Task[Any]] = ()) -> None:
    """Cancel what is left on a loop that does not run, give it its turn, and close the loop: as asyncio.run does.

    But what is not through after ``timeout`` seconds, or when a Ctrl-C comes, is dropped in the middle.

    Args:
        loop: The loop; this thread's.
        timeout: Seconds for the clean-up of all.
        cancelled: Tasks that were cancelled before; once is enough.
    """
    import asyncio

    try:
        loop.run_until_complete(_wind_up(loop, timeout, cancelled))
    finally:
        for task in asyncio.all_tasks(loop):
            keep_forever(task)
        loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop, timeout: float, cancelled: Collection[asyncio.Task[Any]]) -> None:
    import asyncio

    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        if task not in cancelled:
            task.cancel()
    await asyncio.wait({loop.create_task(_clean_up(loop, left))}, timeout=timeout)


async def _clean_up(loop: asyncio.AbstractEventLoop, left: Collection[asyncio.Task[Any]]) -> None:
    import asyncio

    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
