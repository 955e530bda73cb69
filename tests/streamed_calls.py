"""Streams that a test feeds, and tools that stay in their calls."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import toolexec as tx
from provider_formats import Call
from provider_streams import events
from toolexec.testing import Gate

# Nothing here waits for it to be over.
LONG_S = 20.0


def requests(*calls: Call | tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One event for each call, and the end."""
    named = [Call(call[0], call[1], f"c{n}") for n, call in enumerate(calls)]
    return events("ollama", *named, text="")


class Feed:
    """A stream whose items the test puts in one by one; each is taken before the next is asked for."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def put(self, *items: Any) -> None:
        """``None`` ends it, an exception is raised."""
        for item in items:
            self._items.put(item)

    def __iter__(self) -> Iterator[Any]:
        while (item := self._items.get(timeout=LONG_S)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


async def flowing(items: Iterable[Any], turn: Callable[[], Any] | None = None) -> AsyncIterator[Any]:
    for item in items:
        if turn is not None:
            await turn()
        if isinstance(item, BaseException):
            raise item
        yield item


@tx.tool
def stand(path: str, name: str = "") -> str:
    Gate(path).pass_through(name)
    return name


@tx.tool
async def sleep_for_ever() -> None:
    await asyncio.sleep(1000)


class Broken(Exception):
    pass
