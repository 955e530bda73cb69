"""Interfaces, bases and implementations whose methods are marked in one place or another."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import toolexec as tx


@dataclass
class Address:
    street: str
    number: int = 1


@dataclass
class Person:
    name: str
    address: Address


def top(text: Annotated[str, "What to say"], times: int = 2) -> str:
    """Say it."""
    return text * times


async def atop(text: str, times: int = 2) -> str:
    """Say it later."""
    return text * times


class Interface(abc.ABC):
    @tx.tool(name="find-it", description="Find something")
    @abc.abstractmethod
    def find(self, what: Annotated[str, "what to look for"], limit: Annotated[int, "how many"] = 3) -> list[str]: ...

    def unmarked(self, value: Annotated[str, "said by the interface"]) -> str:
        """Not a tool."""
        return value


class Between(Interface):
    def find(self, what: str, limit: int = 3) -> list[str]:  # type: ignore[override]  # a plain method over a tool
        return []


class Nearer(Between):
    @tx.tool(description="Find something nearer")
    def find(self, what: Annotated[str, "the nearer text"], limit: int = 3) -> list[str]:
        return []


class Plain(Between):
    """Has no annotations of its own, and its interface is two levels up."""

    def find(self, what: str, limit: int = 3) -> list[str]:  # type: ignore[override]  # a plain method over a tool
        """Said by the implementation."""
        return [what] * limit


class Marks(Interface):
    def find(self, what: str, limit: int = 3) -> list[str]:  # type: ignore[override]  # a plain method over a tool
        return [what]

    @tx.tool
    def unmarked(self, value: str) -> str:
        """Marked here alone."""
        return value

    @tx.tool
    def added(self, a: int) -> int:
        """Added by the implementation."""
        return a

    def private(self) -> None:
        """Not a tool, though it is public."""


class FromNearer(Nearer):
    def find(self, what: str, limit: int = 3) -> list[str]:  # type: ignore[override]  # a plain method over a tool
        return [what]


class Structural(Protocol):
    @tx.tool(name="say", description="Say something")
    def speak(self, text: Annotated[str, "what to say"]) -> str: ...


class Speaks:
    """Implements the protocol and inherits nothing."""

    def speak(self, text: str) -> str:
        return f"I say {text}"


class Scaled:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def scale(self, n: int) -> int:
        """Scale a number."""
        return n * self.factor

    async def ascale(self, n: int) -> int:
        return n * self.factor

    @classmethod
    def make(cls, n: int) -> Any:
        return cls(n).factor

    @staticmethod
    def double(n: int) -> int:
        return 2 * n
