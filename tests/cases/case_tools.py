"""Tools for the cases, at the top of a module so that every strategy can carry them.

Nothing here may be needed that a subinterpreter cannot load.
"""

from __future__ import annotations

import contextvars
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import toolexec as tx
from toolexec._discovery import available
from toolexec.testing import Rendezvous

AVAILABLE = available()
IN_PROCESS = [name for name in ("sequential", "thread", "asyncio", "trio") if name in AVAILABLE]
ISOLATED = [name for name in ("fork", "interpreter") if name in AVAILABLE]
ALL = IN_PROCESS + ISOLATED
CONCURRENT = [name for name in ALL if name != "sequential"]

# Where nothing may take for ever, and far longer than anything takes.
PATIENCE_S = 15


def received(*calls: tuple[str, Any] | dict[str, Any], tools: Any = None, **options: Any) -> tx.Context:
    """A Context with the tools of this module (or others) that has received these calls."""
    ctx = tx.Context(TOOLS if tools is None else tools, **options)
    ctx.receive(
        [
            call if isinstance(call, dict) else {"id": f"c{place}", "name": call[0], "arguments": call[1]}
            for place, call in enumerate(calls, 1)
        ]
    )
    return ctx


@tx.tool
def echo(value: Any = None) -> Any:
    return value


@tx.tool
async def aecho(value: Any = None) -> Any:
    return value


@tx.tool
def fail(text: str = "on purpose") -> None:
    raise ValueError(text)


@tx.tool
def late(value: Any, seconds: float = 0.02) -> Any:
    time.sleep(seconds)
    return value


@tx.tool
def note(path: str, line: str) -> str:
    """Leave a line in a file: how often a body ran shows across processes too."""
    with Path(path).open("a") as file:
        file.write(f"{line}\n")
    return line


@tx.tool
def after(path: str, value: Any) -> Any:
    """Answer once the file is there."""
    until = time.monotonic() + PATIENCE_S
    while not Path(path).exists():
        if time.monotonic() > until:
            raise TimeoutError(path)
        time.sleep(0.002)
    return value


@tx.tool
def span(seconds: float = 0.004, meeting: str = "", parties: int = 4) -> tuple[float, float]:
    """From when to when the body ran, by a clock that all processes of a machine share."""
    start = time.monotonic()
    if meeting:
        Rendezvous(meeting, parties).meet()
    time.sleep(seconds)
    return start, time.monotonic()


class Held:
    """Something injected that can be neither copied nor pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.taken: dict[str, Any] = {}


@tx.tool
def consume_and_hold(options: dict[str, Any], held: Annotated[Held, tx.Inject]) -> int:
    """Take a key out of its arguments, and keep what was there."""
    with held.lock:
        key, value = options.popitem()
        value.clear()
        held.taken[key] = value
    return id(held)


@tx.tool
def consume(options: dict[str, Any]) -> list[str]:
    """Take all keys out of nested arguments."""
    taken: list[str] = []
    while options:
        key = next(iter(options))
        taken.append(key)
        inner = options.pop(key)
        if isinstance(inner, dict):
            inner.clear()
    return taken


# C3

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("case_variable", default="default")


@tx.tool
def swap_variable(value: str) -> str:
    """Set the variable, and tell what it was."""
    before = VARIABLE.get()
    VARIABLE.set(value)
    return before


@tx.tool
async def aswap_variable(value: str) -> str:
    before = VARIABLE.get()
    VARIABLE.set(value)
    return before


# C2: awaitables that do not look it


async def _twice(path: str, n: int) -> int:
    note(path, "ran")
    return 2 * n


def _wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(path: str, n: int) -> Any:
        return function(path, n)

    return wrapped


wrapped_twice = _wrapper(_twice)


class Twice:
    async def __call__(self, path: str, n: int) -> int:
        return await _twice(path, n)


def returns_awaitable(path: str, n: int) -> Awaitable[int]:
    return _twice(path, n)


class Box:
    """Awaitable by its own hand."""

    def __init__(self, path: str, n: int) -> None:
        self.path, self.n = path, n

    def __await__(self) -> Any:
        return _twice(self.path, self.n).__await__()


def returns_box(path: str, n: int) -> Box:
    return Box(path, n)


def function(name: str, source: Any) -> tx.Function:
    fn = tx.Function(name)
    fn.define(source)
    return fn


AWAITABLES = [
    function("wrapper", wrapped_twice),
    function("object", Twice()),
    function("partial", functools.partial(Twice(), n=4)),
    function("returns_awaitable", returns_awaitable),
    function("returns_box", returns_box),
]

# C9


@tx.tool
def parts(path: str, stop: int = 3) -> Iterator[int]:
    try:
        yield from range(1, stop)
    finally:
        note(path, "finally")


@tx.tool
async def aparts(path: str, stop: int = 3) -> AsyncIterator[int]:
    try:
        for number in range(1, stop):
            yield number
    finally:
        note(path, "finally")


@tx.tool
def broken_parts(path: str) -> Iterator[int]:
    try:
        yield 1
        raise ValueError("after one part")
    finally:
        note(path, "finally")


# A10


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


RICH: dict[str, Callable[[], Any]] = {
    "datetime": lambda: dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC),
    "bytes": lambda: b"\xff\x00",
    "set": lambda: {1},
    "Decimal": lambda: decimal.Decimal("1.10"),
    "Enum": lambda: Colour.RED,
    "dataclass": lambda: Point(1, dt.date(2026, 5, 1)),
    "NaN": lambda: [float("nan"), float("inf")],
    "ring": _ring,
    "Unshowable": Unshowable,
    "object": object,
}


@tx.tool
def rich(kind: str) -> Any:
    return RICH[kind]()


@tx.tool
def large(megabytes: int) -> str:
    return "\U0001f4a1" * (megabytes * 1024 * 1024 // 4)


TOOLS: list[Any] = [
    echo,
    aecho,
    fail,
    late,
    note,
    after,
    span,
    consume,
    swap_variable,
    aswap_variable,
    parts,
    aparts,
    broken_parts,
    rich,
    large,
    *AWAITABLES,
]
