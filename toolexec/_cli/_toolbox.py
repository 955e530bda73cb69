"""The tools of a module: which of its objects are meant."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

from toolexec._cli._refusal import Refusal
from toolexec._function import Function
from toolexec._runner import Factory
from toolexec._tool import Tool


def tools_of(module: ModuleType) -> list[Any]:
    """What the module offers, in the order it is written there.

    - A list or tuple named ``tools`` says it all, and nothing else is looked at.
    - Else every tool that ``__all__`` names, if there is one, or that has a public name: what
      ``@tool`` and ``factory`` make, Functions, Tool classes and their instances, defined there or
      imported into it.
    - A class stands back where an instance or a factory of it is among them, and so does a class
      without a name that others derive from.

    Raises:
        Refusal: There are none.
    """
    stated = getattr(module, "tools", None)
    if isinstance(stated, list | tuple):
        tools = cast("Sequence[Any]", stated)
        if not tools:
            raise Refusal(f"the list named tools in {_place(module)} is empty")
        return list(tools)
    found = [value for value in _public(module) if _is_tool(value)]
    if not found:
        raise Refusal(
            f"there are no tools in {_place(module)}: it takes functions with @toolexec.tool, subclasses of "
            "toolexec.Tool or their instances under public names, or a list named tools"
        )
    return [tool for tool in found if not _stands_back(tool, found)]


def _public(module: ModuleType) -> list[Any]:
    names = vars(module)
    listed = getattr(module, "__all__", None)
    if listed is None:
        return [value for name, value in names.items() if not name.startswith("_")]
    missing = [name for name in listed if name not in names]
    if missing:
        raise Refusal(f"__all__ of {_place(module)} lists {', '.join(map(repr, missing))}, which it does not define")
    return [names[name] for name in listed]


def _is_tool(value: object) -> bool:
    if isinstance(value, type):
        return issubclass(value, Tool) and value is not Tool
    return isinstance(value, Function | Tool)


def _stands_back(tool: Any, found: list[Any]) -> bool:
    if not isinstance(tool, type):
        return False
    for other in found:
        if isinstance(other, tool):
            return True
        if isinstance(other, Function) and isinstance(source := other._definition.source, Factory):
            if source.tool is tool:
                return True
        elif isinstance(other, type) and other is not tool and issubclass(other, tool) and not hasattr(tool, "name"):
            return True
    return False


def _place(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__
