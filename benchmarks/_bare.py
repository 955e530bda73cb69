"""The bare primitives: what one would use without toolexec.

Each makes that many calls of the tool, checks their results, and gives the seconds that they took.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path

import pydantic
import trio
from typing_extensions import TypedDict  # pydantic's own; the standard one lacks what it needs before 3.12

from _tools import add, add_async


def check(results: Sequence[object]) -> None:
    """A call that failed is fast; what is measured has to be what was asked for."""
    assert list(results) == [call + 1 for call in range(len(results))]


def plain_loop(count: int) -> float:
    started = time.perf_counter()
    results = [add(call, 1) for call in range(count)]
    took = time.perf_counter() - started
    check(results)
    return took


def validating_loop() -> Callable[[int], float]:
    """The loop of somebody who parses and validates what the model sent, but answers for nothing else."""
    arguments = TypedDict("arguments", {"a": int, "b": int})  # noqa: UP013 - made as the engine makes its own
    adapter = pydantic.TypeAdapter(arguments)

    def run(count: int) -> float:
        texts = [json.dumps({"a": call, "b": 1}) for call in range(count)]
        started = time.perf_counter()
        results = [add(**adapter.validate_python(json.loads(text))) for text in texts]
        took = time.perf_counter() - started
        check(results)
        return took

    return run


def mapped(pool: Executor) -> Callable[[int], float]:
    def run(count: int) -> float:
        started = time.perf_counter()
        results = list(pool.map(add, range(count), repeat(1)))
        took = time.perf_counter() - started
        check(results)
        return took

    return run


def submitted(pool: Executor) -> Callable[[int], float]:
    def run(count: int) -> float:
        started = time.perf_counter()
        results = [future.result() for future in [pool.submit(add, call, 1) for call in range(count)]]
        took = time.perf_counter() - started
        check(results)
        return took

    return run


async def gather(count: int) -> float:
    started = time.perf_counter()
    results = await asyncio.gather(*[add_async(call, 1) for call in range(count)])
    took = time.perf_counter() - started
    check(results)
    return took


async def to_thread(count: int) -> float:
    started = time.perf_counter()
    results = await asyncio.gather(*[asyncio.to_thread(add, call, 1) for call in range(count)])
    took = time.perf_counter() - started
    check(results)
    return took


async def nursery(count: int) -> float:
    results = [0] * count

    async def one(call: int) -> None:
        results[call] = await add_async(call, 1)

    started = time.perf_counter()
    async with trio.open_nursery() as tasks:
        for call in range(count):
            tasks.start_soon(one, call)
    took = time.perf_counter() - started
    check(results)
    return took


def forked(stack: ExitStack, window: int | None) -> Callable[[int], float]:
    """Children forked by a small process, ``window`` at once; see _forker.py."""
    helper = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("_forker.py")), str(window)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
    )
    asking, answering = helper.stdin, helper.stdout
    assert asking is not None
    assert answering is not None

    def run(count: int) -> float:
        asking.write(f"{count}\n")
        return float(answering.readline())

    return run
