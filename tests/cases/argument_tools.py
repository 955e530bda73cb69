"""One tool in every form in which it can be declared, and types for workers to find by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic

import toolexec as tx
from cases.plain_kinds import Box, Colour, kinds


class User(pydantic.BaseModel):
    name: str
    age: int = 0


class Node(pydantic.BaseModel):
    name: str
    children: list[Node] = []


# What each form calls; it gives back what it was given.


def optional(path: str = "", text: str = "", n: int = 5, m: int | None = 5, xs: list[str] | None = None) -> Any:
    """Only optional parameters."""
    return {"path": path, "text": text, "n": n, "m": m, "xs": xs}


def required(q: str, ids: list[int], flag: bool = False, ratio: float = 1.0) -> Any:
    """Two required parameters."""
    return {"q": q, "ids": ids, "flag": flag, "ratio": ratio}


def nothing() -> Any:
    """No parameters."""
    return {}


PARAMETERS: dict[Callable[..., Any], dict[str, Any]] = {
    nothing: {},
    optional: {
        "path": (str, ""),
        "text": (str, ""),
        "n": (int, 5),
        "m": (int | None, 5),
        "xs": (list[str] | None, None),
    },
    required: {"q": (str,), "ids": (list[int],), "flag": (bool, False), "ratio": (float, 1.0)},
}


def by_class(function: Callable[..., Any]) -> Any:
    class Made(tx.Tool):
        name = function.__name__
        call = staticmethod(function)

    return Made


def by_decorator(function: Callable[..., Any]) -> Any:
    return tx.tool(function)


def inline(function: Callable[..., Any]) -> Any:
    fn = tx.Function(function.__name__, "inline")
    fn.define(function)
    return fn


def declared(function: Callable[..., Any]) -> Any:
    fn = tx.Function(function.__name__, "declared one by one")
    for name, (kind, *default) in PARAMETERS[function].items():
        fn.param(name, kind, **({"default": default[0]} if default else {}))

    def passes_on(**given: Any) -> Any:
        return function(**given)

    fn.define(passes_on)
    return fn


def as_tool(function: Callable[..., Any]) -> Any:
    return tx.as_tool(function)


def tool_function(function: Callable[..., Any]) -> Any:
    tool = tx.ToolFunction(function.__name__, "by position", function)
    for name, (kind, *default) in PARAMETERS[function].items():
        tool.add_parameters(name, kind, name, **({"default": default[0]} if default else {}))
    return tool


FORMS: list[Callable[[Callable[..., Any]], Any]] = [by_class, by_decorator, inline, declared, as_tool, tool_function]


# For workers; what needs no pydantic is in a module of its own

__all__ = ["Box", "Colour", "kinds"]


@tx.tool
def models(user: User, users: list[User], maybe: User | None, by: dict[str, User]) -> list[str]:
    """The same, for what needs pydantic."""
    assert all(type(item) is User for item in [*users, *by.values()])
    return [type(value).__name__ for value in (user, users, maybe, by)]


@tx.tool
def grows(items: list[int] = [], n: int = 5) -> list[int]:  # noqa: B006 - as users write it
    """Changes its default."""
    items.append(n)
    return items
