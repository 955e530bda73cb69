"""Pools, and functions that run one function elsewhere: what others have below the level of tool calls."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from _bare import submitted
from _ours import check
from _tools import add
from toolexec.lowlevel import usable_cpus

# Seconds for so many calls that add, all submitted at once.
Way = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One of them; ``open`` raises ImportError where it is not there."""

    name: str
    package: str
    lacks: str
    open: Callable[[ExitStack, asyncio.Runner], Way]


def _pool(make: Callable[[], Executor]) -> Callable[[ExitStack, asyncio.Runner], Way]:
    return lambda stack, _: submitted(stack.enter_context(make()).submit)


def _processes() -> Executor:
    return ProcessPoolExecutor(usable_cpus(), mp_context=multiprocessing.get_context("forkserver"))


def _interpreters() -> Executor:
    if sys.version_info >= (3, 14):
        from concurrent.futures import InterpreterPoolExecutor

        return InterpreterPoolExecutor(usable_cpus())
    raise ImportError("needs Python 3.14")


def _loky(stack: ExitStack, _: asyncio.Runner) -> Way:
    executor: Any = import_module("loky").get_reusable_executor(usable_cpus(), timeout=None)
    stack.callback(executor.shutdown)
    return submitted(executor.submit)


def _pebble(stack: ExitStack, _: asyncio.Runner) -> Way:
    context = multiprocessing.get_context("forkserver")
    pool: Any = stack.enter_context(import_module("pebble").ProcessPool(usable_cpus(), context=context))
    return submitted(lambda function, *arguments: pool.schedule(function, args=arguments))


def _anyio(module: str) -> Callable[[ExitStack, asyncio.Runner], Way]:
    def open_it(_: ExitStack, runner: asyncio.Runner) -> Way:
        if module == "anyio.to_interpreter" and sys.version_info < (3, 14):
            raise ImportError("needs Python 3.14")
        run_sync: Callable[..., Awaitable[int]] = import_module(module).run_sync
        limit: Any = import_module("anyio").CapacityLimiter

        async def timed(count: int) -> float:
            limiter = limit(usable_cpus()) if module != "anyio.to_thread" else None
            await run_sync(add, 0, 1, limiter=limiter)  # its workers belong to one run of the loop
            started = time.perf_counter()
            results = await asyncio.gather(*[run_sync(add, call, 1, limiter=limiter) for call in range(count)])
            took = time.perf_counter() - started
            check(results)
            return took

        # A loop of its own for each: its workers end with the task that they began under.
        return lambda count: runner.run(timed(count))

    return open_it


def _trio_parallel(_: ExitStack, __: asyncio.Runner) -> Way:
    trio: Any = import_module("trio")
    module: Any = import_module("trio_parallel")

    async def timed(count: int) -> float:
        limiter = trio.CapacityLimiter(usable_cpus())
        results = [0] * count

        async def one(call: int) -> None:
            results[call] = await module.run_sync(add, call, 1, limiter=limiter)

        await module.run_sync(add, 0, 1, limiter=limiter)
        started = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for call in range(count):
                nursery.start_soon(one, call)
        took = time.perf_counter() - started
        check(results)
        return took

    return lambda count: float(trio.run(timed, count))


_NOTHING = "no validation, no answer"

ELSEWHERE = (
    Elsewhere("anyio.to_thread", "anyio", f"{_NOTHING}, no cancel", _anyio("anyio.to_thread")),
    Elsewhere("ProcessPoolExecutor", "", f"{_NOTHING}, shared processes, no cancel", _pool(_processes)),
    Elsewhere("loky", "loky", f"{_NOTHING}, shared processes, no cancel", _loky),
    Elsewhere("pebble", "pebble", f"{_NOTHING}, shared processes; cancel kills", _pebble),
    Elsewhere("trio-parallel", "trio-parallel", f"{_NOTHING}, shared processes; cancel kills", _trio_parallel),
    Elsewhere("anyio.to_process", "anyio", f"{_NOTHING}, shared processes; cancel kills", _anyio("anyio.to_process")),
    Elsewhere("InterpreterPoolExecutor", "", f"{_NOTHING}, no cancel", _pool(_interpreters)),
    Elsewhere("anyio.to_interpreter", "anyio", f"{_NOTHING}, no cancel", _anyio("anyio.to_interpreter")),
)
