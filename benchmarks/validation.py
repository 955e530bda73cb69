"""What reading arguments costs: a validated call beside pydantic's own validation of the same text.

    python benchmarks/validation.py [--quick] [--rounds N] [--results FOLDER]

Both get the arguments as a model sends them, JSON text, and give what the body is called with.  pydantic's
is ``TypeAdapter.validate_json`` in strict mode, over a TypedDict of the same parameters; what is timed of
toolexec also looks for keys that are there twice, and fills defaults.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

import toolexec as tx
from _command import run
from _findings import Findings
from _rounds import Case, Plan, interleave

ROUNDS = 100
PYDANTIC, OURS = "pydantic", "toolexec"
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


def measure(plan: Plan, findings: Findings, _: ExitStack) -> None:
    """Both for each kind of arguments."""
    cases: list[Case] = []
    for name, tool, shape, sent in CASES:
        text = json.dumps(sent)
        validate: Callable[..., Any] = TypeAdapter(shape).validate_json
        take = tool._definition.parameters.take  # noqa: SLF001 - the one place where it is done
        calls = max(10, _CALLS // (1 + len(text) // 500))
        cases += [
            Case(name, PYDANTIC, _timed(lambda text, validate=validate: validate(text, strict=True), text, calls)),  # type: ignore[misc]  # mypy#15459
            Case(name, OURS, _timed(lambda text, take=take: take(text, {}), text, calls)),  # type: ignore[misc]  # mypy#15459
        ]
    samples = interleave(cases, plan)
    added: dict[tuple[str, str], Sequence[float]] = {
        (name, "added"): [b - a for a, b in zip(samples[name, PYDANTIC], samples[name, OURS], strict=True)]
        for name, *_rest in CASES
    }
    findings.add_table("Reading the arguments of a call", "us", {**samples, **added}, scale=1e6)


def _timed(read: Callable[[str], object], text: str, calls: int) -> Callable[[], float]:
    def run_once() -> float:
        started = time.perf_counter()
        for _ in range(calls):
            read(text)
        return (time.perf_counter() - started) / calls

    return run_once


if __name__ == "__main__":
    run("validation", measure, rounds=ROUNDS)
