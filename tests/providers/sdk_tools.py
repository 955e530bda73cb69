"""Tools, calls and a server on the loopback, for the tests with real SDKs."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import toolexec as tx

PNG = tx.Image(b"\x89PNG picture")
PDF = tx.File(b"%PDF-1.7 text", "application/pdf", "my. report_(v1).pdf")

# What tools give beside a plain text, by a name; none of it may leave a blank answer.
RESULTS: dict[str, Any] = {
    "none": None,
    "empty": "",
    "blank": "  \n",
    "list": [],
    "dict": {},
    "false": False,
    "surrogate": "half \ud800 a pair",
    "nul": "a\x00b",
    "image": PNG,
    "bmp": tx.Image(b"BM", "image/bmp"),
    "svg": tx.Image(b"<svg/>", "image/svg+xml"),
    "no_picture": tx.Image(b""),
    "pdf": PDF,
    "no_pdf": tx.File(b"", "application/pdf", "empty.pdf"),
    "csv": tx.File(b"a,b", "text/csv", "表.csv"),
    "long_name": tx.File(b"x", "text/plain", "a " * 200),
    "unknown": tx.File(b"\x00\x01"),
    "mixed": ["look:", PNG, tx.Text("and read:"), PDF, PDF],
    "blank_parts": ["", PNG, tx.Text(" \n")],
    "only_blank_parts": [tx.Text(""), tx.Text("  ")],
}


@dataclass
class Point:
    x: int
    y: int


@tx.tool
def add(x: int, y: int = 1) -> int:
    """Add two numbers."""
    return x + y


@tx.tool
def fail() -> None:
    """Always fails."""
    raise ValueError("broken")


@tx.tool
def give(kind: str) -> Any:
    return RESULTS[kind]


@tx.tool(name="über die Maßen lang: " + "x" * 80)
def odd(points: list[Point], mode: Literal["a", "b"] | None = None) -> int:
    return len(points)


TOOLS: list[Any] = [add, fail, give, odd]


@dataclass
class Stuck:
    """A tool that is out of time before it is let go."""

    let_go: threading.Event = field(default_factory=threading.Event)

    def tool(self) -> tx.Function:
        @tx.tool(name="stuck", timeout=0.01, strategy="thread")
        def wait() -> None:
            """Wait for what never comes."""
            while not self.let_go.wait(0.02):  # an interrupt arrives between two waits
                pass

        return wait


@contextlib.contextmanager
def context(**options: Any) -> Iterator[tx.Context]:
    """A Context with all tools, and one more that gets stuck; that is let go in the end."""
    stuck = Stuck()
    try:
        yield tx.Context([*TOOLS, stuck.tool()], strategy="thread", **options)
    finally:
        stuck.let_go.set()


# One call for each way to end, as (tool, arguments as JSON text).
SIX = (
    ("add", '{"x": 1, "y": 2}'),
    ("fail", "{}"),
    ("add", '{"x": "one"}'),
    ("no such tool!", '{"a": [1]}'),
    ("give", '{"kind": "none"}'),
    ("stuck", "{}"),
)
STATUSES = ["ok", "raised", "bad_arguments", "unknown_tool", "cancelled", "timeout"]


def run_six(ctx: tx.Context, response: object) -> list[str]:
    """Receive the six calls, cancel the fifth, and wait."""
    functions = ctx.receive(response)
    functions[4].cancel("not wanted")
    return [ret.status for ret in ctx.wait()]


def what(functions: Sequence[tx.Function]) -> list[tuple[str | None, str, Any]]:
    """Ids, names and arguments, the latter as objects where they came as JSON text."""
    return [
        (fn.id, fn.name, json.loads(fn.arguments) if isinstance(fn.arguments, str) else fn.arguments)
        for fn in functions
    ]
