"""Parameters: what of a call is converted, and what is not."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Generator, Iterable
from typing import Annotated, Any, Literal

import pydantic
import pytest
import typing_extensions
from pydantic import Field

import toolexec as tx
from bound_arguments import Bit, User, bind, refusal
from toolexec._arguments import parse
from toolexec._parameters import Parameters
from toolexec._signature import params_of


def test_F9_null_for_a_defaulted_parameter_that_cannot_be_null_means_left_out() -> None:
    def tool(n: int = 5, m: int | None = 5, xs: list[str] | None = None) -> None: ...

    assert {"m": None, "xs": None} == bind(tool, {"n": None, "m": None, "xs": None})[1]


def test_F9_null_for_a_required_parameter_is_a_fault() -> None:
    def tool(n: int, m: int | None) -> None: ...

    assert "n: " in refusal(tool, {"n": None, "m": None})
    assert "m: required" in refusal(tool, {"n": 1})


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("annotation", "sent", "meant"),
    [
        (int, "3", 3),
        (int, 3.0, 3),
        (int, "3.0", 3),
        (int, "1e3", 1000),
        (float, 2, 2.0),
        (float, "2.5", 2.5),
        (bool, "true", True),
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '["1", "2"]', [1, 2]),
        (User, '{"name": "Ada"}', User(name="Ada")),
        (list[User], '["{\\"name\\": \\"Ada\\"}"]', [User(name="Ada")]),
        (dict[str, int], '{"a": 1.0}', {"a": 1}),
        (tuple[int, str], '[1, "x"]', (1, "x")),
        (set[int], "[1, 1]", {1}),
        (int | None, "3", 3),
        (list[int] | None, "[1]", [1]),
        (Level, 1.0, Level.LOW),
        (Literal[1, 2], 2.0, 2),
        (Literal["a", 1, True], 1.0, 1),
    ],
    ids=repr,
)
def test_F5_F11_what_loses_nothing_is_converted(annotation: Any, sent: Any, meant: Any) -> None:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = annotation

    got = bind(tool, {"a": sent})[1]["a"]
    assert (meant, type(meant)) == (got, type(got))


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (int, 3.5),
        (int, True),
        (int, "3.5"),
        (int, "true"),
        (int, "007"),
        (int, "three"),
        (int, 1e300),
        (float, True),
        (float, "NaN"),
        (bool, 1),
        (bool, "no"),
        (bool, "1"),
        (str, 5),
        (list[int], "not json"),
        (list[int], "3"),
        (list[int], '["x"]'),
        (dict[str, int], "[1]"),
        (User, '{"age": 3}'),
        (Level, True),
        (Level, "1"),
        (Literal[1], True),
        (Literal[True], 1),
        (Literal["1"], 1),
    ],
    ids=repr,
)
def test_F5_F11_what_would_lose_something_is_refused(annotation: Any, sent: Any) -> None:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = annotation

    assert "a: " in refusal(tool, {"a": sent})


def test_without_coercion_only_the_right_kind_is_taken() -> None:
    def tool(a: int, b: list[int] | None = None) -> None: ...

    parameters = Parameters("t", params_of("t", tool), tx.Json(coerce=False))

    assert {"a": 1} == parameters.validate(parse({"a": 1}))[1]
    with pytest.raises(tx.ArgumentsError, match="a: should be a valid integer"):
        parameters.validate(parse({"a": "1"}))


# Held to wherever it stands: in a model, behind an alias, in a union


Alias = typing_extensions.TypeAliasType("Alias", Literal[0, 1])


class Switch(pydantic.BaseModel):
    bit: Literal[0, 1] = Field(0, alias="Bit")
    level: Bit = Bit.OFF
    inner: list[Switch] = []


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (Alias, True),
        (Annotated[Alias, "A bit"], True),
        (dict[str, list[Alias]], {"a": [1, True]}),
        (Bit, True),
        (Literal[Bit.ON], True),
        (Switch, {"Bit": True}),
        (Switch, {"Bit": 1, "inner": [{"Bit": 1, "level": True}]}),
        (Literal[1] | str, True),
        (Literal[True] | str, 1),
        (Literal[True] | str, 1.0),
    ],
    ids=repr,
)
def test_a_member_is_told_from_what_python_takes_for_its_equal(annotation: Any, sent: Any) -> None:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = annotation

    assert "should be" in refusal(tool, {"a": sent})


def test_a_boolean_that_another_member_of_a_union_takes_is_taken() -> None:
    def tool(a: Literal[1] | bool, b: Literal[0, 1, True] = 0) -> None: ...

    for a, b in ((True, 1), (1, True), (False, 0)):
        got = bind(tool, {"a": a, "b": b})[1]
        assert [(a, type(a)), (b, type(b))] == [(got["a"], type(got["a"])), (got["b"], type(got["b"]))]


def test_what_can_be_iterated_is_a_list_and_checked_at_once() -> None:
    @dataclasses.dataclass
    class Rows:
        rows: Iterable[int]

    def tool(a: Iterable[int], b: Generator[str, None, None], c: dict[str, Iterable[int]], d: Any = None) -> None: ...

    tool.__annotations__["d"] = Rows

    got = bind(tool, {"a": [1, 2], "b": ["x"], "c": {"k": [3]}, "d": {"rows": "[4]"}})[1]
    assert ([1, 2], ["x"], {"k": [3]}, [4]) == (got["a"], got["b"], got["c"], got["d"].rows)
    told = refusal(tool, {"a": [1, "x"], "b": "no", "c": {"k": ["x"]}, "d": {"rows": [None]}})
    assert all(place in told for place in ("a.1: ", "b: should be a valid array", "c.k.0: ", "d.rows.0: "))


class Wide(typing_extensions.TypedDict, total=False):
    size: typing_extensions.Required[int]
    depth: int


class Feline(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Canine(pydantic.BaseModel):
    kind: Literal["dog"]
    lives: int


def test_null_means_left_out_only_where_a_property_may_be() -> None:
    def tool(
        count: int = 1,
        by_name: dict[str, int] = {},  # noqa: B006 - fresh for each call
        user: User | None = None,
        wide: Wide | None = None,
        pet: Annotated[Feline | Canine, Field(discriminator="kind")] | None = None,
        either: User | dict[str, str] | None = None,
        **more: int,
    ) -> None: ...

    got = bind(
        tool,
        {"count": None, "user": {"name": "Ada", "age": None}, "wide": {"size": 1, "depth": None}}
        | {"pet": {"kind": "cat", "lives": None}},
    )[1]
    assert ("count" not in got, 0, {"size": 1}, 9) == (True, got["user"].age, got["wide"], got["pet"].lives)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"by_name": {"a": None}}, "by_name.a"),
        ({"more": None}, "more"),
        ({"user": {"name": None}}, "user.name"),
        ({"wide": {"size": None}}, "wide.size"),
        ({"pet": {"kind": "dog", "lives": None}}, "pet.lives"),
        ({"either": {"name": "Ada", "age": None}}, "either.age"),
    ]
    for sent, place in refused:
        told = refusal(tool, sent)
        assert f"{place}: should be" in told, told
        assert ", not null" in told
