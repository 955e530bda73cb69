"""The bare primitives: what one would use without toolexec.

Each makes that many calls of the tool, checks their results, and gives the seconds that they took.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import pydantic
import trio
from typing_extensions import TypedDict  # pydantic's own; the standard one lacks what it needs before 3.12

from _ours import check
from _tools import add

Tool = Callable[[int, int], int]


class _Arguments(TypedDict):
    a: int
    b: int


@dataclass(slots=True)
class _Answer:
    id: str
    name: str
    value: object
    begun_s: float
    ended_s: float


def plain_loop(count: int) -> float:
    started = time.perf_counter()
    results = [add(call, 1) for call in range(count)]
    took = time.perf_counter() - started
    check(results)
    return took


def answering_loop() -> Callable[[int], float]:
    """The least that keeps a call's context, times it, answers it, and reads its arguments with pydantic."""
    validate = pydantic.TypeAdapter(_Arguments).validator.validate_json
    clock = time.perf_counter

    def run(count: int) -> float:
        sent = [(f"call_{call}", json.dumps({"a": call, "b": 1})) for call in range(count)]
        started = time.perf_counter()
        answers: list[_Answer] = []
        for name, text in sent:
            arguments = validate(text, strict=True)
            begun = clock()
            value = copy_context().run(add, **arguments)
            answers.append(_Answer(name, "add", value, begun, clock()))
        took = time.perf_counter() - started
        check([answer.value for answer in answers])
        return took

    return run


_CURRENT: ContextVar[_Task | None] = ContextVar("_CURRENT", default=None)


@dataclass(slots=True, eq=False)
class _Call:
    id: str
    arguments: str
    claimed: list[_Task] = field(default_factory=list["_Task"])  # a lasting claim, made in one atomic step
    answer: _Answer | None = None


@dataclass(slots=True, eq=False)
class _Task:
    call: _Call
    context: Context
    claimed_s: float
    begun_s: float = 0.0
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    asks: tuple[str, ...] = ()
    waiters: tuple[Callable[[], object], ...] = ()
    timers: tuple[Callable[[], object], ...] = ()
    answer: _Answer | None = None


def _claimed(sent: Iterable[dict[str, object]]) -> dict[_Task, bool]:
    calls = [_Call(str(entry.get("id")), str(entry.get("arguments"))) for entry in sent if entry.get("name")]
    opened: dict[_Task, bool] = {}
    now = time.monotonic()
    for call in calls:
        task = _Task(call, copy_context(), now)
        call.claimed.append(task)
        if call.claimed[0] is task:
            opened[task] = True
    return opened


def promising_loop() -> Callable[[int], float]:
    """The least that keeps what sequential promises of each call, in one piece and for this one tool.

    Every call is taken from its dict, claimed once, held to its parameters (and to keys that come once) before
    the first one runs, may be asked to stop until its body begins, sees in its context that it is the current
    one, and is settled by whoever comes first.
    """
    validate = pydantic.TypeAdapter(_Arguments).validator.validate_json
    clock = time.monotonic

    def body(task: _Task, arguments: dict[str, Any]) -> object:
        _CURRENT.set(task)
        value = add(**arguments)
        return None if hasattr(type(value), "__await__") else value

    def run(count: int) -> float:
        sent: list[dict[str, object]] = [
            {"id": f"call_{call}", "name": "add", "arguments": json.dumps({"a": call, "b": 1})} for call in range(count)
        ]
        started = time.perf_counter()
        opened = _claimed(sent)
        tasks = tuple(opened)
        for task in tasks:
            text = task.call.arguments
            task.arguments = validate(text, strict=True)
            if text.count(":") != len(task.arguments):
                raise ValueError(text)
        for task in tasks:
            if task.asks:
                continue
            task.begun_s = clock()
            value = task.context.run(body, task, task.arguments)
            if opened.pop(task, False):
                ended = clock()
                task.answer = _Answer(task.call.id, "add", value, task.begun_s - task.claimed_s, ended - task.begun_s)
                task.call.answer = task.answer
                for wake in (*task.timers, *task.waiters):
                    wake()
        answers = [task.answer.value for task in tasks if task.answer is not None]
        took = time.perf_counter() - started
        check(answers)
        return took

    return run


def mapped(pool: Executor, tool: Tool = add) -> Callable[[int], float]:
    def run(count: int) -> float:
        started = time.perf_counter()
        results = list(pool.map(tool, range(count), repeat(1)))
        took = time.perf_counter() - started
        check(results)
        return took

    return run


def submitted(submit: Callable[..., Any], in_flight: int | None = None) -> Callable[[int], float]:
    """Futures, of which so many are in flight at once; ``submit`` takes the tool and its arguments."""

    def run(count: int) -> float:
        flying: deque[Future[int]] = deque()
        results: list[int] = []
        started = time.perf_counter()
        for call in range(count):
            if len(flying) == in_flight:
                results.append(flying.popleft().result())
            flying.append(submit(add, call, 1))
        results += [future.result() for future in flying]
        took = time.perf_counter() - started
        check(results)
        return took

    return run


async def gather(count: int, tool: Callable[[int, int], Any], limit_s: float | None = None) -> float:
    """With a deadline for each, or without."""

    async def limited(a: int, b: int) -> int:
        async with asyncio.timeout(limit_s):
            result: int = await tool(a, b)
            return result

    body = tool if limit_s is None else limited
    started = time.perf_counter()
    results = await asyncio.gather(*[body(call, 1) for call in range(count)])
    took = time.perf_counter() - started
    check(results)
    return took


async def to_thread(count: int, tool: Tool = add) -> float:
    started = time.perf_counter()
    results = await asyncio.gather(*[asyncio.to_thread(tool, call, 1) for call in range(count)])
    took = time.perf_counter() - started
    check(results)
    return took


async def nursery(count: int, tool: Callable[[int, int], Any], limit_s: float | None = None) -> float:
    """With a deadline for each, or without."""
    results = [0] * count

    async def one(call: int) -> None:
        results[call] = await tool(call, 1)

    async def limited(call: int) -> None:
        with trio.move_on_after(limit_s or 0):
            results[call] = await tool(call, 1)

    body = one if limit_s is None else limited
    started = time.perf_counter()
    async with trio.open_nursery() as tasks:
        for call in range(count):
            tasks.start_soon(body, call)
    took = time.perf_counter() - started
    check(results)
    return took
