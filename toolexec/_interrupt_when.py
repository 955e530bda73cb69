"""An async block in which something that comes to its end interrupts something else."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from toolexec._loop_kind import running_loop


@asynccontextmanager
async def interrupt_when(awaitable: Awaitable[object], interrupt: Callable[[], object]) -> AsyncGenerator[None]:
    """Call ``interrupt`` once ``awaitable`` is through, while the block lasts; under asyncio or trio."""

    async def watch() -> None:
        try:
            await awaitable
        except BaseException as exc:
            if not isinstance(exc, _cancelled()):
                interrupt()
            raise
        interrupt()

    if running_loop() == "trio":
        trio: Any = sys.modules["trio"]
        async with trio.open_nursery(strict_exception_groups=False) as nursery:
            nursery.start_soon(watch)
            yield
            nursery.cancel_scope.cancel()
        return
    import asyncio

    watcher = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        watcher.cancel()
        await asyncio.wait([watcher])
    if not watcher.cancelled():
        watcher.result()


def _cancelled() -> type[BaseException]:
    library: Any = sys.modules[running_loop() or "asyncio"]
    kind: type[BaseException] = library.Cancelled if running_loop() == "trio" else library.CancelledError
    return kind
