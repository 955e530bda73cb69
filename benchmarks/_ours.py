"""The calls of toolexec as a model sends them, timed from there to all their Returns."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import toolexec as tx


def calls_of(tool: tx.Function, count: int) -> list[dict[str, Any]]:
    """What a model sends: ids, and arguments as JSON text."""
    texts = [json.dumps({"a": call, "b": 1}) for call in range(count)]
    return [{"id": f"call_{call}", "name": tool.name, "arguments": text} for call, text in enumerate(texts)]


def check(results: Sequence[object]) -> None:
    """A call that failed is fast; what is measured has to be what was asked for."""
    assert list(results) == [call + 1 for call in range(len(results))], results[:3]


def waited(strategy: tx.Strategy, tool: tx.Function) -> Callable[[int], float]:
    """From the calls as they came to all their Returns, blocking; in seconds."""
    # Without history, so that the thousandth round measures what the first did.
    ctx = tx.Context(tools=[tool], strategy=strategy, history=False)

    def run(count: int) -> float:
        calls = calls_of(tool, count)
        started = time.perf_counter()
        returns = ctx.receive(calls).wait()
        took = time.perf_counter() - started
        check([ret.value for ret in returns])
        return took

    return run


def awaited(strategy: tx.Strategy, tool: tx.Function) -> Callable[[int], Awaitable[float]]:
    """The same inside a running loop."""
    ctx = tx.Context(tools=[tool], strategy=strategy, history=False)

    async def run(count: int) -> float:
        calls = calls_of(tool, count)
        started = time.perf_counter()
        returns = await ctx.receive(calls).run()
        took = time.perf_counter() - started
        check([ret.value for ret in returns])
        return took

    return run


def each(timed: Callable[[int], float], count: int) -> Callable[[], float]:
    """The seconds that one call takes in a batch of that many."""
    return lambda: timed(count) / count
