"""Functions and objects that as_tool makes tools of, at the top of a module so that every strategy can carry them.

Nothing here may be needed that a subinterpreter cannot load.
"""

# ruff: noqa: D417 - what is left out is told by other means, or has to be missing

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
from typing import Annotated, Any, Protocol

import toolexec as tx


def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who.
    """
    return f"hello {name}" * times


async def agreet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who.
    """
    return f"hello {name}" * times


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Line:
    start: Point
    end: Point


@dataclasses.dataclass
class Node:
    """A tree."""

    name: str
    children: list[Node] = dataclasses.field(default_factory=list)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def mixed(text: str, number: int, ratio: float, flag: bool, point: Point, colour: Colour = Colour.RED) -> list[Any]:
    return [text, number, ratio, flag, point, colour]


def draw(first: Line, second: Line) -> list[Line]:
    return [first, second]


def outline(points: list[Point]) -> list[Point]:
    return points


class Counter:
    """An object whose methods are tools, and which has a state."""

    def __init__(self, start: int = 0) -> None:
        self.count = start

    def add(self, by: int = 1) -> int:
        """Add to it.

        Args:
            by: How much.
        """
        self.count += by
        return self.count

    async def aadd(self, by: int = 1) -> int:
        self.count += by
        return self.count

    @classmethod
    def kind(cls, suffix: str = "") -> str:
        return f"{cls.__name__}{suffix}"

    @staticmethod
    def double(n: int) -> int:
        return 2 * n

    def __call__(self, by: int) -> int:
        """Add, when called.

        Args:
            by: How much, when called.
        """
        return self.add(by)


class Searcher(Protocol):
    """What searches."""

    @tx.tool(name="lookup", description="Look a key up.")
    def find(self, key: Annotated[str, "The key."], limit: int = 10) -> str:
        """Not the description.

        Args:
            limit: How many at most.
        """
        raise NotImplementedError

    def size(self) -> int:
        """How large it is; no tool."""
        raise NotImplementedError


class Indexed(Searcher, Protocol):
    """A level of interfaces in between."""

    @tx.tool
    def index(self, path: str) -> str:
        """Index a file.

        Args:
            path: The file.
        """
        raise NotImplementedError


class Quiet(Indexed):
    """Implements both, and says nothing of tools."""

    def find(self, key: str, limit: int = 3) -> str:
        """Nothing of this is for the model.

        Args:
            key: Nor this.
        """
        return f"{key}:{limit}"

    def index(self, path: Annotated[str, "Nor this."]) -> str:
        return f"indexed {path}"

    def size(self) -> int:
        return 0

    def helper(self) -> None:
        """Public, and no tool."""


class Quieter(Quiet):
    """Overrides once more."""

    def find(self, key: str, limit: int = 4, exact: Annotated[bool, "To the letter."] = False) -> str:
        return f"quieter {key}:{limit}:{exact}"


class Loud(Quiet):
    """Marks its own, and adds one."""

    @tx.tool(description="Look it up, loudly.")
    def find(self, key: str, limit: int = 5) -> str:
        return f"LOUD {key}"

    @tx.tool
    def size(self) -> int:
        return 1

    @tx.tool
    def added(self) -> None: ...


class Louder(Loud):
    def find(self, key: str, limit: int = 6) -> str:
        return f"LOUDER {key}"


class Store(abc.ABC):
    @tx.tool
    @abc.abstractmethod
    def get(self, key: str) -> str:
        """Get one.

        Args:
            key: Its key.
        """

    @abc.abstractmethod
    @tx.tool
    def put(self, key: str) -> str:
        """Put one.

        Args:
            key: Its new key.
        """


class Memory(Store):
    def get(self, key: str) -> str:
        return f"got {key}"

    def put(self, key: str) -> str:
        return f"put {key}"


class Orders:
    """Class and static methods, decorated either way round."""

    @tx.tool
    @classmethod
    def class_inside(cls, a: int) -> str:
        return f"{cls.__name__} {a}"

    @classmethod
    @tx.tool
    def class_outside(cls, a: int) -> str:
        return f"{cls.__name__} {a}"

    @tx.tool
    @staticmethod
    def static_inside(a: int) -> str:
        return f"static {a}"

    @staticmethod
    @tx.tool
    def static_outside(a: int) -> str:
        return f"static {a}"

    @tx.tool(name="named")
    @classmethod
    def class_named(cls, a: int) -> str:
        return f"{cls.__name__} {a}"


class Reordered(Orders):
    @classmethod
    def class_inside(cls, a: int) -> str:
        return f"again {cls.__name__} {a}"

    @staticmethod
    def static_outside(a: int) -> str:
        return f"again {a}"


def tools() -> dict[str, tx.Function]:
    """The same work, declared in every way that as_tool takes; each answers ``by=2`` with 3."""

    def of(function: Any, name: str, **options: Any) -> tx.Function:
        made: tx.Function = tx.as_tool(function, name=name, **options)
        return made

    return {
        "function": of(plus_one, "function"),
        "async": of(aplus_one, "async"),
        "bound": of(Counter(1).add, "bound"),
        "async bound": of(Counter(1).aadd, "async_bound"),
        "this": of(Counter.add, "this", this=Counter(1)),
        "partial": of(functools.partial(plus, n=1), "partial"),
        "partial of a method": of(functools.partial(Counter.add, Counter(1)), "partial_method"),
        "object": of(Counter(1), "object"),
        "tool": of(marked, "tool"),
    }


def plus_one(by: int) -> int:
    return by + 1


async def aplus_one(by: int) -> int:
    return by + 1


def plus(n: int, by: int) -> int:
    return n + by


@tx.tool
def marked(by: int) -> int:
    return by + 1
