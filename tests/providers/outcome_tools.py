"""Tools for every way in which a call can end, and calls that end so."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal

import toolexec as tx

PNG = b"\x89PNG\r\n\x1a\n\xff\xfe\xfb"
PDF = b"%PDF-1.7\xff\xfe\xfb"
EMPTY: dict[str, Any] = {"none": None, "nothing": "", "blank": "  \n", "list": [], "dict": {}}


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Size(enum.Enum):
    ONE = 1
    TWO = 2


@dataclasses.dataclass
class Empty:
    pass


@dataclasses.dataclass
class Point:
    x: int
    y: int | None = None


@tx.tool
def give(x: int) -> str:
    """Give a number.

    Args:
        x: Which.
    """
    return f"x{x}"


@tx.tool
def fail() -> None:
    raise ValueError("on purpose")


@tx.tool
def silent() -> None:
    raise ValueError


@tx.tool
def empty(kind: str) -> Any:
    return EMPTY[kind]


@tx.tool
def picture(media_type: str = "image/png") -> tx.Image:
    return tx.Image(PNG, media_type)


@tx.tool
def document(media_type: str = "application/pdf", name: str = "a.pdf") -> tx.File:
    return tx.File(PDF, media_type, name)


@tx.tool
def mixed() -> list[Any]:
    return ["see:", tx.Image(PNG), "  ", tx.File(b"\x00\xff", "application/zip", "all the rest.zip")]


@tx.tool
def many_kinds(
    optional: int | None,
    union: int | str,
    words: Literal["a", "b"],
    mixed: Literal["a", 1] | None,
    nothing: None,
    colour: Colour,
    size: Size,
    maybe_size: Size | None,
    listed: list[Literal["x", "y"]],
    points: list[Point | None],
    pair: tuple[int, str],
    counts: dict[str, int],
    anything: Any,
    things: list[Any],
    grid: list[list[int]],
    bare: Empty,
    flag: Literal[True],
    either: dict[str, int] | int | None = None,
    start: dict[str, int] = {},  # noqa: B006 - its default is what is declared
) -> str:
    """Take one of every kind."""
    return "taken"


TOOLS: list[Any] = [give, fail, silent, empty, picture, document, mixed, many_kinds]

# What is sent, and the status that it comes to; the call with x=2 is cancelled.
OUTCOMES: list[tuple[str, dict[str, Any], str]] = [
    ("give", {"x": 1}, "ok"),
    ("fail", {}, "raised"),
    ("silent", {}, "raised"),
    ("give", {"x": "many"}, "bad_arguments"),
    ("gvie", {"x": 1}, "unknown_tool"),
    ("give", {"x": 2}, "cancelled"),
    *(("empty", {"kind": kind}, "ok") for kind in EMPTY),
    ("picture", {}, "ok"),
    ("picture", {"media_type": "image/x-icon"}, "ok"),
    ("document", {}, "ok"),
    ("document", {"media_type": "application/zip", "name": "ein Brief ü.zip"}, "ok"),
    ("mixed", {}, "ok"),
]
STATUSES = [status for _, _, status in OUTCOMES]


def context(tools: Any = None, **options: Any) -> tx.Context:
    return tx.Context(TOOLS if tools is None else tools, strategy="sequential", **options)


def settled(response: object, **options: Any) -> tx.Context:
    """A Context whose calls have ended as OUTCOMES says."""
    ctx = context(**options)
    for function in ctx.receive(response):
        if function.arguments == {"x": 2}:
            function.cancel()
    ctx.wait()
    return ctx


def calls_of(response: object, provider: str | None = None) -> list[tuple[str | None, str, Any]]:
    return [(fn.id, fn.name, fn.arguments) for fn in context().receive(response, provider=provider)]
