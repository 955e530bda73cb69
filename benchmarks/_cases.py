"""The cases: each strategy, and beside it the bare primitive that one would use without it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import trio

import _bare as bare
import toolexec as tx
from _bare import check
from _tools import ADD, ADD_ASYNC

STRATEGIES = ("sequential", "thread", "asyncio", "trio", "fork", "interpreter")

# A process or an interpreter per call: a thousand of them would only make the run long.
_MOST_WITH_WORKERS = 100


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the report.

    Attributes:
        group: The rows that are compared; the first of a group is what the others are compared to.
        name: Unique among all rows.
        strategy: The strategy that is measured, or None for a bare primitive.
        run: Makes that many calls, checks their results, and gives the seconds that they took.
        most: The largest number of calls in one batch.
    """

    group: str
    name: str
    strategy: str | None
    run: Callable[[int], float]
    most: int = 1000


def open_cases(stack: ExitStack) -> tuple[list[Case], dict[str, tx.Strategy], dict[str, str]]:
    """Set everything up that is not to be measured; ``stack`` takes it down.

    Returns:
        The cases; the strategies they use; and why each of the others cannot run here.
    """
    strategies: dict[str, tx.Strategy] = {}
    missing: dict[str, str] = {}
    for name in STRATEGIES:
        try:
            strategies[name] = stack.enter_context(tx.strategy(name))
        except tx.StrategyUnavailable as exc:
            missing[name] = str(exc)
    cases: list[Case] = []
    for name, strategy in strategies.items():
        cases += _OPENERS[name](stack, strategy)
    return cases, strategies, missing


# ours


def _calls(tool: tx.Function, count: int, *, parsed: bool = False) -> list[dict[str, Any]]:
    """What a model sends: arguments as JSON text; ``parsed``: as the dicts that it stands for."""
    arguments: list[Any] = [{"a": call, "b": 1} for call in range(count)]
    if not parsed:
        arguments = [json.dumps(one) for one in arguments]
    return [{"id": f"call_{number}", "name": tool.name, "arguments": one} for number, one in enumerate(arguments)]


def _context(strategy: tx.Strategy) -> tx.Context:
    # Without history, so that the thousandth round measures what the first did.
    return tx.Context(tools=[ADD, ADD_ASYNC], strategy=strategy, history=False)


def _waited(strategy: tx.Strategy, *, parsed: bool = False) -> Callable[[int], float]:
    """From the calls as they came to all their Returns, blocking."""
    ctx = _context(strategy)

    def run(count: int) -> float:
        calls = _calls(ADD, count, parsed=parsed)
        started = time.perf_counter()
        returns = ctx.receive(calls).wait()
        took = time.perf_counter() - started
        check([ret.value for ret in returns])
        return took

    return run


def _awaited(strategy: tx.Strategy, tool: tx.Function) -> Callable[[int], Awaitable[float]]:
    """The same inside a running loop."""
    ctx = _context(strategy)

    async def run(count: int) -> float:
        calls = _calls(tool, count)
        started = time.perf_counter()
        returns = await ctx.receive(calls).run()
        took = time.perf_counter() - started
        check([ret.value for ret in returns])
        return took

    return run


# the strategies, each with its primitive


def _sequential(_: ExitStack, strategy: tx.Strategy) -> list[Case]:
    group = "sequential"
    return [
        Case(group, "plain loop", None, bare.plain_loop),
        Case(group, "plain loop, json.loads + pydantic", None, bare.validating_loop()),
        Case(group, "toolexec sequential", group, _waited(strategy)),
        Case(group, "toolexec sequential, arguments parsed", group, _waited(strategy, parsed=True)),
    ]


def _thread(stack: ExitStack, strategy: tx.Strategy) -> list[Case]:
    group = "thread"
    # As many threads as the strategy would use at once.
    pool = stack.enter_context(ThreadPoolExecutor(strategy.window))
    return [
        Case(group, "ThreadPoolExecutor.map", None, bare.mapped(pool)),
        Case(group, "ThreadPoolExecutor.submit", None, bare.submitted(pool)),
        Case(group, "toolexec thread", group, _waited(strategy)),
    ]


def _asyncio(stack: ExitStack, strategy: tx.Strategy) -> list[Case]:
    runner = stack.enter_context(asyncio.Runner())

    def inside(timed: Callable[[int], Awaitable[float]]) -> Callable[[int], float]:
        async def main(count: int) -> float:  # entering the loop is not timed: who has a loop is in it
            return await timed(count)

        return lambda count: runner.run(main(count))

    sync_tool = "asyncio, sync tool"
    return [
        Case("asyncio", "asyncio.gather", None, inside(bare.gather)),
        Case("asyncio", "toolexec asyncio", "asyncio", inside(_awaited(strategy, ADD_ASYNC))),
        Case(sync_tool, "asyncio.gather of to_thread", None, inside(bare.to_thread)),
        Case(sync_tool, "toolexec asyncio, sync tool", "asyncio", inside(_awaited(strategy, ADD))),
    ]


def _trio(_: ExitStack, strategy: tx.Strategy) -> list[Case]:
    ours = _awaited(strategy, ADD_ASYNC)
    return [
        Case("trio", "trio nursery", None, lambda count: trio.run(bare.nursery, count)),
        Case("trio", "toolexec trio", "trio", lambda count: trio.run(ours, count)),
    ]


def _fork(stack: ExitStack, strategy: tx.Strategy) -> list[Case]:
    return [
        Case("fork", "os.fork + pipe + waitpid", None, bare.forked(stack, strategy.window), _MOST_WITH_WORKERS),
        Case("fork", "toolexec fork", "fork", _waited(strategy), _MOST_WITH_WORKERS),
    ]


def _interpreter(stack: ExitStack, strategy: tx.Strategy) -> list[Case]:
    cases = [Case("interpreter", "toolexec interpreter", "interpreter", _waited(strategy), _MOST_WITH_WORKERS)]
    if sys.version_info >= (3, 14):
        from concurrent.futures import InterpreterPoolExecutor

        pool = stack.enter_context(InterpreterPoolExecutor(strategy.window))
        cases.insert(0, Case("interpreter", "InterpreterPoolExecutor.map", None, bare.mapped(pool), _MOST_WITH_WORKERS))
    return cases


_OPENERS: dict[str, Callable[[ExitStack, Any], list[Case]]] = {
    "sequential": _sequential,
    "thread": _thread,
    "asyncio": _asyncio,
    "trio": _trio,
    "fork": _fork,
    "interpreter": _interpreter,
}
