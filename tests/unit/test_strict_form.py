"""The strict form of a schema, and what it cannot say."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import Field

from bound_arguments import Box, User, parameters_of
from toolexec._arguments import parse
from toolexec._schema import strict_form


@dataclasses.dataclass
class Holder:
    held: dict[str, int]


class Node(pydantic.BaseModel):
    below: list[Node] = []


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


def test_the_strict_form_requires_everything_and_takes_null_for_what_may_be_left_out() -> None:
    def tool(a: int, user: User, b: str = "x") -> None: ...

    parameters = parameters_of(tool)
    strict = strict_form(parameters.schema)

    assert ["a", "user", "b"] == strict["required"]
    assert {"anyOf": [{"type": "string"}, {"type": "null"}]} == strict["properties"]["b"]
    assert ["name", "age"] == strict["$defs"]["User"]["required"]
    assert {"a": 1, "user": User(name="Ada")} == (
        parameters.validate(parse({"a": 1, "b": None, "user": {"name": "Ada", "age": None}}))[1]
    )


def test_nothing_stands_beside_a_reference_in_the_strict_form() -> None:
    """OpenAI answers 400 for a description there, and for oneOf."""

    def tool(
        user: Annotated[User, "Who"],
        either: Annotated[Cat | Dog, Field(discriminator="kind", description="A pet")],
        left_out: Annotated[Box, "Where"] = Box(1),  # noqa: B008 - a default like any other
    ) -> None: ...

    properties = strict_form(parameters_of(tool).schema)["properties"]

    assert {"anyOf": [{"$ref": "#/$defs/User"}], "description": "Who"} == properties["user"]
    assert {
        "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        "description": "A pet",
    } == properties["either"]
    assert {
        "anyOf": [{"$ref": "#/$defs/Box"}, {"type": "null"}],
        "description": "Where",
    } == properties["left_out"]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (dict[str, int], "keys of any name"),
        (Holder, "keys of any name"),
        (dict[str, int] | None, "keys of any name"),
        (tuple[int, str], "a tuple"),
        (list[tuple[int, ...]], None),
        (list, "anything"),
        (list[Any], "anything"),
        (Any, "anything"),
        (Node, None),
    ],
)
def test_what_the_strict_form_cannot_say_is_refused_naming_the_parameter(annotation: Any, text: str | None) -> None:
    def tool(fine: int, a: Any) -> None: ...

    tool.__annotations__["a"] = annotation
    schema = parameters_of(tool).schema
    if text is None:
        assert strict_form(schema)
        return
    with pytest.raises(ValueError, match=f"^parameter 'a' takes {text}, which the strict form cannot say"):
        strict_form(schema)


def test_the_strict_form_cannot_say_further_arguments() -> None:
    def tool(**more: int) -> None: ...

    with pytest.raises(ValueError, match=r"^it takes keys of any name"):
        strict_form(parameters_of(tool).schema)
