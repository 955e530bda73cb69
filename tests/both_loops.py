"""asyncio and trio under one set of names, for tests that hold for both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
import trio

import toolexec as tx

each_loop = pytest.mark.parametrize("kind", ["asyncio", "trio"])


class Loop:
    """The loop of one kind that a test's main function runs in."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.cancelled: type[BaseException] = asyncio.CancelledError if kind == "asyncio" else trio.Cancelled

    def run(self, main: Callable[[], Awaitable[Any]]) -> Any:
        if self.kind == "trio":
            return trio.run(main)

        async def run() -> Any:
            return await main()

        return asyncio.run(run())

    async def sleep(self, seconds: float) -> None:
        if self.kind == "asyncio":
            await asyncio.sleep(seconds)
        else:
            await trio.sleep(seconds)

    async def turn(self) -> None:
        """Let the others have their turn."""
        await self.sleep(0)

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            await self.sleep(0.001)

    async def cancelled_once(
        self, event: asyncio.Event | trio.Event, main: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        """Run ``main`` beside this until the event is set, and cancel it."""
        if self.kind == "asyncio":
            task = asyncio.ensure_future(main())
            await event.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(main)
                await event.wait()
                nursery.cancel_scope.cancel()

    async def forever(self) -> None:
        if self.kind == "asyncio":
            await asyncio.Event().wait()
        else:
            await trio.sleep_forever()


def received(*tools: Any, count: int = 1, **options: Any) -> tx.Context:
    """A Context that has received ``count`` calls of each of these tools."""
    ctx = tx.Context(tools, **options)
    ctx.receive([{"id": f"{name}-{number}", "name": name} for name in ctx.functions for number in range(count)])
    return ctx
