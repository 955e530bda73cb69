"""An async block in which something that comes to its end interrupts something else."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from toolexec._loop_kind import running_loop


@asynccontextmanager
async def interrupt_when(awaitable: Awaitable[object], interrupt: Callable[[], object]) -> AsyncGenerator[None]:
    """Call ``interrupt`` once ``awaitable`` is through, while the block lasts; under asyncio or trio.

    What it raises is raised again at the end of the block, if that ends well.
    """
    raised: list[Exception] = []

    async def watch() -> None:
        try:
            await awaitable
        except Exception as exc:  # noqa: BLE001 - it comes out of the block, not out of a task nobody awaits
            raised.append(exc)
        interrupt()

    if running_loop() == "trio":
        trio: Any = sys.modules["trio"]
        left: BaseException | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            try:
                yield
            except BaseException as exc:  # noqa: BLE001 - raised below; a nursery would make a group of it
                left = exc
            nursery.cancel_scope.cancel()
        if left is not None:
            raise left
    else:
        import asyncio

        watcher = asyncio.ensure_future(watch())
        try:
            yield
        finally:
            watcher.cancel()
            await asyncio.wait([watcher])
    if raised:
        raise raised[0]
