"""Which objects of a module are its tools."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import toolexec as tx
from toolexec._cli._refusal import Refusal
from toolexec._cli._toolbox import tools_of


@tx.tool
def add(a: int, b: int) -> int:
    return a + b


class Base(tx.Tool):
    def call(self) -> None: ...


class Read(Base):
    name = "read"


class Write(tx.Tool):
    name = "write"

    def __init__(self, root: str = "/") -> None:
        self.root = root

    def call(self) -> None: ...


def _module(**names: Any) -> ModuleType:
    module = ModuleType("some_tools")
    vars(module).update(names)
    return module


def test_tools_under_public_names_count() -> None:
    """Wherever they were defined; a class, an instance, a Function."""
    inline = tx.Function("inline")
    shared = Write("/tmp")

    found = tools_of(_module(add=add, Read=Read, shared=shared, inline=inline, _hidden=tx.tool(print), x=1, tx=tx))

    assert [add, Read, shared, inline] == found


def test_a_list_named_tools_says_it_all() -> None:
    """Also what is no tool at first sight: then the Context says so."""
    assert [print, Read] == tools_of(_module(add=add, tools=(print, Read)))


@pytest.mark.parametrize("tools", [add, "add"])
def test_something_else_named_tools_is_no_list(tools: object) -> None:
    """An imported module of that name, for instance."""
    assert [Read] == [tool for tool in tools_of(_module(Read=Read, tools=tools)) if tool is not add]


def test_all_is_honoured() -> None:
    """In its order, hidden names too."""
    assert [Read, add] == tools_of(_module(__all__=["_read", "x", "add"], add=add, _read=Read, Write=Write, x=1))


def test_a_class_stands_back_for_its_instance_and_its_factory() -> None:
    """They are the same tool, ready for use."""
    instance = Write("/tmp")
    made = tx.factory(lambda: Write("/tmp"), tool=Write)

    assert [instance] == tools_of(_module(Write=Write, instance=instance))
    assert [made] == tools_of(_module(Write=Write, made=made))


def test_a_base_without_a_name_is_no_tool() -> None:
    """One that nothing derives from is: leaving out its name is a mistake to be told."""
    assert [Read] == tools_of(_module(Tool=tx.Tool, Base=Base, Read=Read))
    assert [Base] == tools_of(_module(Base=Base))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({}, "there are no tools in some_tools"),
        ({"tools": []}, "the list named tools in some_tools is empty"),
        ({"__all__": ["gone"], "add": add}, "__all__ of some_tools lists 'gone', which it does not define"),
    ],
)
def test_refusals(names: dict[str, Any], said: str) -> None:
    with pytest.raises(Refusal) as caught:
        tools_of(_module(**names))

    assert caught.value.message.startswith(said)
