"""Parameters: what a body is given for the arguments of a call."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import enum
import time
from typing import Any

import pydantic
import pytest
import typing_extensions

import toolexec as tx
from bound_arguments import Bit, Box, User, bind, parameters_of, refusal
from toolexec._arguments import parse
from toolexec._parameters import Parameters
from toolexec._signature import params_of


class Colour(enum.Enum):
    RED = "red"


def test_F10_unknown_arguments_are_dropped_where_the_tool_says_so() -> None:
    def tool(a: int) -> None: ...

    parameters = Parameters("t", params_of("t", tool), tx.Json(ignore_unknown=True))

    assert {"a": 1} == parameters.validate(parse({"a": 1, "parameters": {"a": 2}}))[1]


def test_G3_the_type_of_the_open_end_is_held_and_told() -> None:
    def tool(x: int, **more: list[int]) -> None: ...

    assert {"type": "array", "items": {"type": "integer"}} == parameters_of(tool).schema["additionalProperties"]
    assert {"x": 1, "y": [2]} == bind(tool, {"x": 1, "y": [2]})[1]
    assert {"x": 1, "y": [2]} == bind(tool, {"x": 1, "y": "[2.0]"})[1]
    assert "y.0: should be a valid integer" in refusal(tool, {"x": 1, "y": ["z"]})


def test_F15_the_body_gets_real_instances_at_every_level() -> None:
    def tool(
        user: User, users: list[User], by: dict[str, User], box: Box, colour: Colour, pair: tuple[int, str]
    ) -> None: ...

    ada = {"name": "Ada"}
    _, got = bind(
        tool,
        {"user": ada, "users": [ada], "by": {"a": ada}, "box": {"width": 1}, "colour": "red", "pair": [1, "x"]},
    )

    user = User(name="Ada")
    assert {
        "user": user,
        "users": [user],
        "by": {"a": user},
        "box": Box(1),
        "colour": Colour.RED,
        "pair": (1, "x"),
    } == got


@pytest.mark.parametrize("text", ["12345", '{"a": 1}', "[1]", "true", "null", '"quoted"', "  padded  "])
def test_F6_a_text_parameter_gets_the_very_same_characters(text: str) -> None:
    def tool(s: str) -> None: ...

    assert {"s": text} == bind(tool, {"s": text})[1]


def test_what_validation_is_given_is_left_alone() -> None:
    def tool(xs: list[int], user: User) -> None: ...

    given = {"xs": ["1"], "user": {"name": "Ada"}}
    bind(tool, given)

    assert {"xs": ["1"], "user": {"name": "Ada"}} == given


def test_an_object_among_the_arguments_makes_the_others_no_laxer() -> None:
    class Own: ...

    def tool(
        a: int = 0,
        b: str = "",
        c: bool = False,
        d: list[Bit] = [],  # noqa: B006
        e: dt.date | None = None,
        o: Any = None,
    ) -> None: ...

    own = Own()
    sent = {"a": 1, "b": "x", "c": True, "d": [1, Bit.ON], "e": "2030-01-01", "o": own}
    got = bind(tool, sent)[1]
    assert (own, [Bit.ON, Bit.ON], dt.date(2030, 1, 1)) == (got["o"], got["d"], got["e"])
    assert 5 == bind(tool, {"a": "5", "o": own})[1]["a"]
    assert dt.date(2030, 1, 1) == bind(tool, {"e": dt.date(2030, 1, 1)})[1]["e"]
    for wrong in ({"a": True}, {"a": 1.5}, {"b": 5}, {"b": own}, {"c": 1}, {"d": ["1"]}, {"d": [True]}, {"e": 5}):
        assert "should be" in refusal(tool, {"o": own, **wrong}), wrong


@pytest.mark.parametrize(
    "sent", [{"a": "\ud800"}, {"b": ["\ud800"]}, {"a": "\ud800", "o": object()}, {"o": ["\udfff"]}]
)
def test_half_of_a_surrogate_pair_is_refused_in_a_dict_too(sent: dict[str, Any]) -> None:
    def flat(a: str = "", b: list[str] = []) -> None: ...  # noqa: B006

    def open_ended(a: str = "", b: list[str] = [], o: Any = None) -> None: ...  # noqa: B006

    for tool in (open_ended, flat) if "o" not in sent else (open_ended,):
        with pytest.raises(tx.ArgumentsError, match="half of a surrogate pair"):
            parameters_of(tool).take(sent, {})


def test_what_python_code_has_passed_is_left_alone_by_repairs() -> None:
    def tool(a: list[int], o: Any) -> None: ...

    sent: dict[str, Any] = {"a": ["1"], "o": object()}
    arguments = parse(sent)
    assert [1] == parameters_of(tool).validate(arguments)[1]["a"]
    assert ["1"] == arguments.values["a"] == sent["a"]


@dataclasses.dataclass(frozen=True)
class Frozen:
    rows: list[int]


@pytest.mark.parametrize(
    "default",
    [
        User(name="Ada"),
        collections.deque([1]),
        collections.Counter("a"),
        ([],),
        Frozen([]),
        array.array("i", [1]),
    ],
    ids=repr,
)
def test_whatever_can_be_changed_of_a_default_is_fresh_for_every_call(default: Any) -> None:
    def tool(a: Any = default) -> None: ...

    parameters = parameters_of(tool)
    first, second = (parameters.take("{}", {})[1] for _ in range(2))

    assert default == first["a"] == second["a"]
    assert len({id(default), id(first["a"]), id(second["a"])}) == 3


class Left(pydantic.BaseModel):
    kids: list[Left | Right] = []
    left: int


class Right(pydantic.BaseModel):
    kids: list[Left | Right] = []
    right: int


Left.model_rebuild()
Tree = typing_extensions.TypeAliasType("Tree", "list[Tree] | tuple[Tree, ...] | str")
Value = typing_extensions.TypeAliasType("Value", "list[Value] | dict[str, Value] | int")


def nested(levels: int, leaf: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"left": leaf}
    for _ in range(levels):
        node = {"left": 1, "kids": [node]}
    return node


@pytest.mark.parametrize("leaf", [1, "x", object()], ids=["fits", "does not", "an object"])
def test_a_union_that_holds_itself_has_a_bound(leaf: Any) -> None:
    def tool(node: Left | Right, tree: Tree = "") -> None: ...

    begun = time.process_time()
    assert "can be read in too many ways" in refusal(tool, {"node": nested(30, leaf)})
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert "can be read in too many ways" in refusal(tool, {"node": nested(1, 1), "tree": deep})
    assert time.process_time() - begun < 5  # it would be hours


def test_a_union_that_holds_itself_takes_what_is_as_deep_and_wide_as_people_write() -> None:
    def tool(node: Left | Right, value: Value = 0) -> None: ...

    many = {"left": 1, "kids": [{"right": number} for number in range(5000)]}
    assert 5000 == len(bind(tool, {"node": many})[1]["node"].kids)
    assert isinstance(bind(tool, {"node": nested(9, 1)})[1]["node"], Left)
    assert "node.kids.0.left: should be a valid integer, not the text" in (
        told := refusal(tool, {"node": nested(1, "x")})
    )
    assert "counted" not in told
    deep: Any = 1
    for _ in range(100):
        deep = [deep, {"a": 1}]
    assert deep == bind(tool, {"node": {"right": 1}, "value": deep})[1]["value"]  # no two members take the same
