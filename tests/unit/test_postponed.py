"""Names in annotations that stand in a text, wherever in a type: they are the user's, never this library's."""

from typing import Annotated, Any, Optional

import pydantic
import pytest

import toolexec as tx


class Node(pydantic.BaseModel):
    value: int


class Param(pydantic.BaseModel):
    """Named as a class of toolexec's own is."""

    value: int


class EMPTY(pydantic.BaseModel):
    """As this."""

    value: int


class Unfinished(pydantic.BaseModel):
    missing: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - on purpose


def nested(
    a: list["Node"],
    b: Optional["Node"] = None,
    c: Annotated[dict[str, "Param"], "With a text"] = {},  # noqa: B006 - fresh for each call
    d: "list['EMPTY']" = [],  # noqa: B006
    call: Optional["tx.CurrentCall"] = None,
) -> list[Any]:
    return [a, b, c, d, call is not None]


def test_a_name_deep_in_a_type_is_looked_up_where_the_function_is() -> None:
    one = {"value": 1}
    tool = tx.as_tool(nested)

    got = tx.run(tool, {"a": [one], "b": one, "c": {"k": one}, "d": [one]}, "sequential").unwrap()

    assert [[Node(value=1)], Node(value=1), {"k": Param(value=1)}, [EMPTY(value=1)], True] == got
    assert ["a", "b", "c", "d"] == list(tool.params["properties"])


def test_a_declared_type_is_looked_up_where_what_is_called_is() -> None:
    for tool in (tx.Function("t", "d"), tx.ToolFunction("t", "d", lambda a: a)):
        tool.param("a", list["Param"], "Some")
        tool.define(lambda a: a)
        assert [Param(value=1)] == tx.run(tool, {"a": [{"value": 1}]}, "sequential").value


@pytest.mark.parametrize("kind", [list["Nowhere"], Optional["Nowhere"], dict[str, list["Nowhere"]], Unfinished])  # type: ignore[name-defined]  # noqa: F821
def test_a_name_that_is_nowhere_is_refused_naming_tool_and_parameter(kind: Any) -> None:
    def tool(a: int, b: Any) -> None: ...

    tool.__annotations__["b"] = kind
    declared = tx.Function("tool", "d")
    declared.define(lambda a, b: None)
    declared.param("b", kind, "Some")

    for render in (lambda: tx.as_tool(tool), lambda: declared.params):
        with pytest.raises(tx.DeclarationError, match=r"tool 'tool', parameter 'b': .*'Nowhere'"):
            render()
