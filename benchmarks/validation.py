"""What reading arguments costs: a validated call beside pydantic's own validation of the same text.

    python benchmarks/validation.py [--quick] [--rounds N]

Both get the arguments as a model sends them, JSON text, and give what the body is called with.  pydantic's
is ``TypeAdapter.validate_json`` in strict mode, over a TypedDict of the same parameters; what is timed of
toolexec also looks for keys that are there twice, and fills defaults.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

import pydantic
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

import toolexec as tx

ROUNDS = 200
QUICK_ROUNDS = 5
# Calls in one sample: some milliseconds, so that the clock costs nothing.
_CALLS = 1000


@tx.tool
def nothing() -> None: ...


@tx.tool
def two_scalars(a: int, b: str = "x") -> None: ...


@tx.tool
def flat(
    path: str,
    lines: list[int],
    mode: Literal["r", "w"] = "r",
    depth: float = 1.0,
    tags: list[str] = [],  # noqa: B006 - as users write it
) -> None: ...


@dataclass
class Person:
    name: str
    age: int


@tx.tool
def nested(person: Person, friends: list[Person], note: str | None = None) -> None: ...


class _Nothing(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic wants it


class _Two(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic wants it
    a: int
    b: NotRequired[str]


class _Flat(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic wants it
    path: str
    lines: list[int]
    mode: NotRequired[Literal["r", "w"]]
    depth: NotRequired[float]
    tags: NotRequired[list[str]]


class _Nested(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic wants it
    person: Person
    friends: list[Person]
    note: NotRequired[str | None]


ADA = {"name": "Ada", "age": 36}
CASES: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("no parameters", nothing, _Nothing, {}),
    ("an integer and a text", two_scalars, _Two, {"a": 1, "b": "hello"}),
    ("five, with lists", flat, _Flat, {"path": "/tmp/x", "lines": list(range(20)), "mode": "w"}),
    ("dataclasses in it", nested, _Nested, {"person": ADA, "friends": [ADA] * 3}),
    ("a hundred of them", nested, _Nested, {"person": ADA, "friends": [ADA] * 100}),
]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="does it still run?")
    parser.add_argument("--rounds", type=int, default=None)
    options, _ = parser.parse_known_args(arguments)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    print(
        f"CPython {platform.python_version()}, pydantic {pydantic.VERSION}, toolexec {tx.__version__}, {rounds} rounds"
    )
    print("Microseconds a call; the last column is the median of the differences in one round.\n")
    print("| arguments | pydantic | toolexec | added |\n| --- | --- | --- | --- |")
    for name, tool, shape, sent in CASES:
        text = json.dumps(sent)
        parameters = tool._definition.parameters  # noqa: SLF001 - the one place where it is done
        alone, whole = measure(TypeAdapter(shape).validate_json, parameters.take, text, rounds)
        added = statistics.median(b - a for a, b in zip(alone, whole, strict=True))
        print(f"| {name} | {statistics.median(alone):.2f} | {statistics.median(whole):.2f} | {added:.2f} |")


def measure(
    validate_json: Callable[..., Any], take: Callable[..., Any], text: str, rounds: int
) -> tuple[list[float], list[float]]:
    """Both in every round, one after the other, so that a neighbour's load falls on both."""
    alone: list[float] = []
    whole: list[float] = []
    calls = max(10, _CALLS // (1 + len(text) // 500))
    fill: dict[str, Any] = {}
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(calls):
            validate_json(text, strict=True)
        between = time.perf_counter()
        for _ in range(calls):
            take(text, fill)
        ended = time.perf_counter()
        alone.append((between - began) / calls * 1e6)
        whole.append((ended - between) / calls * 1e6)
    return alone, whole


if __name__ == "__main__":
    main()
