"""as_function: the Function for whatever declares a tool, and the words for what declares none."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, cast

from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._runner import stated
from toolexec._tool import Tool, class_definition, is_decorated


def functions_of(tools: Any) -> list[Function]:
    """The Functions for what a Context is given.

    Raises:
        DeclarationError: It is no list, or something in it declares no tool.
    """
    if isinstance(tools, str | type) or not isinstance(tools, Iterable):
        raise DeclarationError(
            f"tools is {tools!r}; it takes a list of tools, also of a single one: tools=[...]; those of an object are "
            "tools=tx.as_tools(obj)"
        )
    return [as_function(tool) for tool in cast("Iterable[object]", tools)]


def as_function(tool: object) -> Function:
    """The Function for anything that declares a tool.

    Raises:
        DeclarationError: It declares none.
    """
    if isinstance(tool, types.MethodType) and is_decorated(tool.__func__):
        tool = tool.__func__._bound(tool.__self__)  # ``classmethod`` above ``@tool``
    if isinstance(tool, Function):
        if is_decorated(tool) and tool._is_method:
            raise DeclarationError(unbound(tool.__qualname__))
        if tool._definition.source is None:
            raise DeclarationError(f"tool {tool.name!r} has no body; give it one with define()")
        return tool
    if isinstance(tool, type) and callable(getattr(tool, "call", None)):
        return Function._of(class_definition(tool, tool))
    if not isinstance(tool, type) and callable(stated(tool, "call")):
        return Function._of(class_definition(type(tool), tool))
    raise DeclarationError(_no_tool(tool))


def unbound(path: str) -> str:
    """What is told of a method that has no instance."""
    attribute = path.rpartition(".")[2]
    return (
        f"{path} is a method, taken from its class: take it from an instance (obj.{attribute}), or name the instance "
        f"with this=: tx.as_tool({path}, this=obj)"
    )


def _no_tool(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, type) and issubclass(value, Tool):
        return f"tool class {value.__qualname__} has no method named 'call'"
    if not isinstance(value, type) and callable(value):
        name = str(getattr(value, "__qualname__", "")) or f"a {kind.__name__}"
        return f"{name} is callable and declares no tool; make one of it with tx.as_tool({name})"
    name = f"{'class' if value is kind else 'a'} {kind.__qualname__}"
    text = f"{name} declares no tool: give a Tool class, an instance or a Function"
    if isinstance(value, list | tuple | set):
        return f"{text}; those in it one by one, as in tools=[*these, other]"
    if kind.__module__ == "builtins":
        return text
    return (
        f"{text}; of an object's methods, tx.as_tools(obj) gives those that @tx.tool marks, tx.as_tool(obj.method) any"
    )
