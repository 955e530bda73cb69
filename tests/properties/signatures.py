"""Fifty signatures over the types that people annotate with, and JSON that fits them, nearly fits, or does not."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import inspect
import types
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
import typing_extensions
from pydantic import Field

import toolexec as tx


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    TRUE_TEXT = "true"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Box:
    width: int
    tags: list[str] = field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Loose(typing_extensions.TypedDict, total=False):
    a: typing_extensions.Required[int]
    b: str


class User(pydantic.BaseModel):
    name: str
    age: int = 0
    friend: User | None = None


class Node(pydantic.BaseModel):
    children: list[Node] = []


# A signature is what its parameters are annotated with, and maybe a default.  "/" ends what is passed by
# position, "*" begins what is passed by keyword, a name with two stars takes the rest.
TABLE: list[dict[str, Any]] = [
    {},
    {"a": int},
    {"a": (int, 5)},
    {"a": str},
    {"a": (str, "x")},
    {"a": float},
    {"a": bool},
    {"b": int, "a": (bool, False)},
    {"a": None},
    {"a": Any},
    {"a": (Any, 3)},
    {"a": int | None},
    {"a": (int | None, None)},
    {"a": int | str},
    {"a": int | float},
    {"a": bool | int},
    {"a": list[int] | dict[str, int]},
    {"a": str | list[str]},
    {"a": Literal["x", "y"]},
    {"a": Literal[1, 2]},
    {"a": Literal[True, "x"]},
    {"a": Literal[0, False]},
    {"a": Literal["x", 1, None]},  # noqa: PYI061 - null among the values
    {"a": Colour},
    {"a": (Colour, Colour.RED)},
    {"a": Mixed},
    {"a": Level},
    {"a": (Level | None, None)},
    {"a": list[int]},
    {"a": list[Any]},
    {"a": (list[str], ["d"])},
    {"a": list[list[float]]},
    {"a": dict[str, int]},
    {"a": dict[str, list[bool]]},
    {"a": (set[int], set[int]())},
    {"a": tuple[int, str]},
    {"a": tuple[int, ...]},
    {"a": Loose},
    {"a": Box},
    {"a": list[Box], "b": (Box | None, None)},
    {"a": Pair},
    {"a": User},
    {"a": dict[str, User]},
    {"a": Node},
    {"a": dt.datetime},
    {"a": dt.date},
    {"a": dt.timedelta},
    {"a": Path},
    {"a": decimal.Decimal},
    {"a": uuid.UUID},
    {"a": Annotated[int, Field(ge=0, lt=10)], "b": (Annotated[str, Field(max_length=3)], "b")},
    {"a": Annotated[list[int], Field(min_length=1, max_length=2)]},
    {"a": (int, 1), "/": None, "b": (str, "b")},
    {"a": int, "/": None, "*": None, "c": (list[int], [])},
    {"*": None, "b": int, "a": (str, "a")},
    {"a": int, "**more": Any},
    {"**more": int},
    {"a": (str, ""), "**more": list[int]},
    {"self": int, "model_config": (str, "m"), "_x": (int, 0)},
    {"schema": int, "call": bool, "id": (str | None, None)},
]


def function_of(number: int) -> Callable[..., Any]:
    """A function with that signature, which gives back what it was given, by name."""
    row = TABLE[number]
    parts: list[str] = []
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {}
    for name, said in row.items():
        if name in ("/", "*"):
            parts.append(name)
            continue
        kind, *default = said if isinstance(said, tuple) else (said,)
        parts.append(f"{name} = default_{name}" if default else name)
        namespace[f"default_{name}"] = default[0] if default else None
        annotations[name.lstrip("*")] = type(None) if kind is None else kind
    exec(f"def f{number}({', '.join(parts)}): return dict(locals())", namespace)
    function: types.FunctionType = namespace[f"f{number}"]
    function.__annotations__ = annotations
    return function


FUNCTIONS = [function_of(number) for number in range(len(TABLE))]
TOOLS = [tx.tool(function) for function in FUNCTIONS]
STRICT = [tx.tool(name=f.__name__, json=tx.Json(coerce=False))(f) for f in FUNCTIONS]


def names_of(number: int) -> list[str]:
    """What a model could call its arguments, two that are none among them."""
    return [*(p.lstrip("*") for p in inspect.signature(FUNCTIONS[number]).parameters), "extra", "A"]


VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 3, 5, -1, 10, 2**53, 2**60, 0.0, 1.0, 2.0, 1.5, -0.0, 1e20, 1e300,
    "", "x", "y", "red", "RED", "1", "1.0", "true", "null", "[1]", '["a"]', '{"a": 1}', '{"width": "2"}', "1e3", "007",
    "not json", "2030-01-02", "2030-01-02T03:04:05", "2030-01-02T03:04:05Z", "P1D", "/tmp/x", "1.10", "NaN",
    "0d4cb0a6-9f5b-4c1e-9f0d-6a5d1d7b1d11", "abcd", "\u2028é",
    [], [1], [1, 1], [1, 2, 3], [1.0], ["a"], ["a", "b"], [True], [None], [[1.5]], [[1], []], [1, "x"], ["1", "x"],
    {}, {"a": 1}, {"a": "1", "b": "x"}, {"a": [True]}, {"b": "x"}, {"a": 1, "c": 2}, {"width": 1},
    {"width": 1.0, "tags": ["t"]}, {"width": 1, "tags": None}, {"left": 1}, {"left": 1, "right": "x"},
    {"name": "Ada"}, {"name": "Ada", "age": "3", "friend": {"name": "Bob"}}, {"name": 3},
    {"children": [{"children": []}]},
    [{"width": 1}], [{"width": "x"}], {"k": {"name": "Ada"}}, {"children": [{"children": [{}]}], "extra": 1},
]  # fmt: skip
