"""Parameters: the schema of a signature, and the validation of a call against it."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import enum
import inspect
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from typing import Annotated, Any, Literal

import pydantic
import pytest
import typing_extensions
from pydantic import Field

import toolexec as tx
from toolexec._arguments import parse
from toolexec._parameters import Parameters
from toolexec._schema import strict_form
from toolexec._signature import params_of


class User(pydantic.BaseModel):
    name: str
    age: int = 0


@dataclasses.dataclass
class Box:
    width: int


@dataclasses.dataclass
class Holder:
    held: dict[str, int]


class Spot(typing_extensions.TypedDict):
    lat: float
    box: typing_extensions.NotRequired[Box]


class Node(pydantic.BaseModel):
    below: list[Node] = []


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Colour(enum.Enum):
    RED = "red"


# Such as a type checker does not know them, for what it would refuse.
LIST: Any = list
DICT: Any = dict
LITERAL: Any = Literal


def parameters_of(function: Any, tool: str = "t", *, skip_first: bool = False) -> Parameters:
    return Parameters(tool, params_of(tool, function, skip_first=skip_first))


def bind(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return parameters_of(function).validate(parse(arguments))


def refusal(function: Any, arguments: dict[str, Any]) -> str:
    with pytest.raises(tx.ArgumentsError) as caught:
        bind(function, arguments)
    return str(caught.value)


def test_a_tool_without_parameters_has_an_empty_object() -> None:
    schema = parameters_of(lambda: None).schema

    assert ("object", {}) == (schema["type"], schema["properties"])
    assert "title" not in schema


def test_the_schema_tells_types_texts_defaults_and_what_is_required() -> None:
    def tool(
        path: Annotated[str, "Where it is"], depth: Annotated[int, Field(ge=1)] = 3, kind: Literal["a", "b"] = "a"
    ) -> None:
        """Body of no interest."""

    schema = parameters_of(tool).schema

    assert ["path"] == schema["required"]
    assert "Where it is" == schema["properties"]["path"]["description"]
    assert {"type": "integer", "minimum": 1, "default": 3}.items() <= schema["properties"]["depth"].items()
    assert ["a", "b"] == schema["properties"]["kind"]["enum"]
    assert False is schema["additionalProperties"]


def test_a_default_without_a_json_form_is_not_shown_and_still_used() -> None:
    marker = object()

    def tool(a: Any = marker) -> object:
        return a

    assert "default" not in parameters_of(tool).schema["properties"]["a"]
    assert ([], {}) == bind(tool, {})


def test_an_unannotated_parameter_takes_anything() -> None:
    def tool(a, b=2):  # type: ignore[no-untyped-def]  # that is the point
        return a, b

    assert ([], {"a": [1, {"x": None}]}) == bind(tool, {"a": [1, {"x": None}]})


def test_G4_positional_only_and_keyword_only_are_passed_as_they_must_be() -> None:
    def tool(a: int, b: int = 2, /, c: int = 3, *, d: int) -> tuple[int, ...]:
        return a, b, c, d

    args, kwargs = bind(tool, {"d": 4, "a": 1})

    assert (1, 2, 3, 4) == tool(*args, **kwargs)
    args, kwargs = bind(tool, {"a": 1, "b": 9, "c": 8, "d": 4})
    assert (1, 9, 8, 4) == tool(*args, **kwargs)


def test_G3_var_keywords_take_the_rest_and_var_positionals_are_no_parameter() -> None:
    def tool(a: int, *rest: int, **more: Any) -> tuple[Any, ...]:
        return a, rest, more

    parameters = parameters_of(tool)
    args, kwargs = parameters.validate(parse({"a": 1, "x": [2], "rest": 3}))

    assert {"a"} == set(parameters.schema["properties"])
    assert (1, (), {"x": [2], "rest": 3}) == tool(*args, **kwargs)


def test_F14_the_validated_parameter_wins_over_the_open_end() -> None:
    def tool(*, opt: int = 1, **kw: Any) -> tuple[int, dict[str, Any]]:
        return opt, kw

    args, kwargs = bind(tool, {"opt": "5", "other": 1})

    assert (5, {"other": 1}) == tool(*args, **kwargs)
    assert "opt" in refusal(tool, {"opt": "x"})


def test_a_positional_only_name_inside_the_open_end_stays_the_parameters() -> None:
    def tool(x: int, /, **kw: Any) -> tuple[int, dict[str, Any]]:
        return x, kw

    args, kwargs = bind(tool, {"x": 1, "y": 2})

    assert (1, {"y": 2}) == tool(*args, **kwargs)


@pytest.mark.parametrize(
    "name", ["self", "cls", "schema", "model_config", "model_fields", "json", "copy", "validate", "title", "items"]
)
def test_a_parameter_may_have_any_name(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def tool({name}: int): return {name}", namespace)

    args, kwargs = bind(namespace["tool"], {name: "7"})

    assert 7 == namespace["tool"](*args, **kwargs)
    assert [name] == parameters_of(namespace["tool"]).schema["required"]


def test_F9_null_for_a_defaulted_parameter_that_cannot_be_null_means_left_out() -> None:
    def tool(n: int = 5, m: int | None = 5, xs: list[str] | None = None) -> None: ...

    assert {"m": None, "xs": None} == bind(tool, {"n": None, "m": None, "xs": None})[1]


def test_F9_null_for_a_required_parameter_is_a_fault() -> None:
    def tool(n: int, m: int | None) -> None: ...

    assert "n: " in refusal(tool, {"n": None, "m": None})
    assert "m: required" in refusal(tool, {"n": 1})


def test_F13_all_faults_are_told_at_once_with_their_paths() -> None:
    def tool(a: int, b: int, user: User, c: int = 0) -> None: ...

    text = refusal(tool, {"c": "many", "user": {"name": 1}, "extra": 1, "parameters": {}})

    for part in ["a: required", "b: required", "c: ", "user.name: ", "extra: not a parameter", "parameters: not a"]:
        assert part in text
    assert "(expected: a, b, user, c; supplied: c, user, extra, parameters)" in text


def test_a_fault_shows_what_was_sent_in_a_few_words_and_what_it_should_be() -> None:
    def tool(path: str, count: int = 1, tags: list[str] = []) -> None: ...  # noqa: B006 - as users write it

    text = refusal(tool, {"paht": "x", "count": "many " * 100, "tags": {"a": 1}})

    assert "paht: not a parameter of this tool; did you mean 'path'?" in text
    assert "path: required, and not supplied" in text
    assert 'count: should be a valid integer, not the text "many many' in text
    assert "tags: should be a valid array, not an object" in text
    assert len(text) < 600


def test_a_flood_of_faults_is_answered_at_once() -> None:
    def tool(numbers: list[int]) -> None: ...

    assert "300000 faults, too many to tell" in refusal(tool, {"numbers": ["x"] * 300_000})
    assert "and 8981 more (expected: numbers" in refusal(tool, {f"k{n}": n for n in range(9_000)})


def test_many_faults_are_not_all_told() -> None:
    def tool(numbers: list[int]) -> None: ...

    text = refusal(tool, {"numbers": ["x"] * 1000})

    assert "; and 980 more (expected: numbers" in text


class Login(pydantic.BaseModel):
    user: str
    password: pydantic.SecretStr


def test_the_value_of_a_secret_is_never_shown() -> None:
    def tool(key: pydantic.SecretStr, login: Login, keys: list[pydantic.SecretStr]) -> None: ...

    text = refusal(tool, {"key": 12345, "login": {"user": 77777, "password": ["hunter2"]}, "keys": [54321]})

    for value in ("12345", "hunter2", "77777", "54321"):
        assert value not in text
    for path in ("key: ", "login.user: ", "login.password: ", "keys.0: "):
        assert path in text


def test_nor_is_one_in_an_open_end_or_in_what_cannot_be_read() -> None:
    def tool(key: pydantic.SecretStr, **more: pydantic.SecretStr) -> None: ...

    parameters = parameters_of(tool)
    for sent in ('{"key": "hunter2', '"hunter2"', {"key": "a", "other": 54321}, '{"key": "hunter2", "key": "x"}'):
        with pytest.raises(tx.ArgumentsError) as caught:
            parameters.take(sent, {})
        shown = "".join(traceback.format_exception(caught.value))
        assert "hunter2" not in str(caught.value)
        assert "54321" not in shown


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


def test_what_was_converted_and_still_does_not_fit_is_told_as_it_was_sent() -> None:
    def tool(user: User) -> None: ...

    text = refusal(tool, {"user": '{"age": 3}'})

    assert 'not the text "{' in text
    assert "user.name" not in text


def test_without_coercion_only_the_right_kind_is_taken() -> None:
    def tool(a: int, b: list[int] | None = None) -> None: ...

    parameters = Parameters("t", params_of("t", tool), tx.Json(coerce=False))

    assert {"a": 1} == parameters.validate(parse({"a": 1}))[1]
    with pytest.raises(tx.ArgumentsError, match="a: should be a valid integer"):
        parameters.validate(parse({"a": "1"}))


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


def test_G11_a_mutable_default_is_fresh_for_every_call() -> None:
    def tool(
        kept: Annotated[int, Field(default=4)],
        a: list[int] = [1],  # noqa: B006 - as users write it
        box: Box = Box(1),  # noqa: B008 - as users write it
        made: list[int] = Field(default_factory=list),  # noqa: B008 - as users write it
    ) -> None: ...

    one, two = bind(tool, {})[1], bind(tool, {})[1]

    assert ({"a": [1], "box": Box(1), "made": [], "kept": 4}, one) == (one, two)
    assert one["a"] is not two["a"]
    assert one["box"] is not two["box"]
    assert one["made"] is not two["made"]
    assert "required" not in parameters_of(tool).schema


def test_two_defaults_are_one_too_many() -> None:
    def tool(a: Annotated[int, Field(default=4)] = 5) -> None: ...

    with pytest.raises(tx.DeclarationError, match="'fetch', parameter 'a': it has two defaults, 5 and 4"):
        parameters_of(tool, "fetch")


def test_G6_texts_and_constraints_are_kept_wherever_they_stand() -> None:
    def tool(
        a: Annotated[int, "how many", Field(ge=1)],
        b: Annotated[int, Field(ge=1), "how many"],
        c: list[Annotated[str, "a word", Field(min_length=1)]],
        d: Annotated[int, Field(le=3)] | None = None,
    ) -> None: ...

    shown = parameters_of(tool).schema["properties"]

    for name in "ab":
        assert {"type": "integer", "minimum": 1, "description": "how many"} == shown[name]
    assert {"type": "string", "minLength": 1, "description": "a word"} == shown["c"]["items"]
    assert {"type": "integer", "maximum": 3} in shown["d"]["anyOf"]
    assert "c.0: " in refusal(tool, {"a": 1, "b": 1, "c": [""]})
    assert "d: " in refusal(tool, {"a": 1, "b": 1, "c": [], "d": 4})


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ([int], r"\[<class 'int'>\] is a value, and no type; write list\[...\]"),
        (3, "3 is a value, and no type"),
        ((int, str), "is a value, and no type"),
        ({"a": int}, "is a value, and no type"),
        (any, r"any is a function, and no type; write typing\.Any"),
        (LIST[any], r"write typing\.Any"),
        (Callable[[int], str] | None, r"no JSON form \(.*CallableSchema\); annotate with one that has"),
        (LITERAL[()], "no JSON form .*cannot be empty"),
        (LITERAL["a", object()], "no JSON form .*unknown type"),
        (object(), "no JSON form"),
        (LIST[int, str], r"list\[int, str\] has 2 types in its brackets, and list takes 1; write A \| B"),
        (Annotated[DICT[str, int, int], "text"], "dict takes 2"),
    ],
)
def test_what_is_no_type_is_refused_naming_tool_and_parameter(annotation: Any, text: str) -> None:
    def tool(fine: int, a: Any) -> None: ...

    tool.__annotations__["a"] = annotation
    with pytest.raises(tx.DeclarationError, match=rf"^tool 't', parameter 'a': .*{text}"):
        parameters_of(tool)


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


@pytest.mark.parametrize(
    ("annotation", "default", "text"),
    [
        (int, "x", "its default 'x' is no int, which is its type"),
        (Annotated[int, "text"] | None, "x", "its default 'x' is no int"),
        (bool, 0, "its default 0 is no bool"),
        (float, True, "its default True is no float"),
        (list[int], 5, None),
        (list, 5, "its default 5 is no list"),
        (Literal["a", "b"], "c", "its default 'c' is none of 'a', 'b'"),
        (Annotated[int, Field(default="x")], inspect.Parameter.empty, "its default 'x' is no int"),
        (float, 1, None),
        (int, None, None),
        (str, object(), None),
        (int | str, 1.5, None),
    ],
)
def test_a_default_that_is_not_of_its_plain_type_is_refused(annotation: Any, default: Any, text: str | None) -> None:
    def tool(a: Any = default) -> None: ...

    tool.__annotations__["a"] = annotation
    if text is None:
        assert ([], {}) == bind(tool, {})
        return
    with pytest.raises(tx.DeclarationError, match=f"^tool 't', parameter 'a': {text}"):
        parameters_of(tool)


def test_an_unknown_key_below_the_arguments_is_told_with_the_closest_that_is_there() -> None:
    def tool(box: Box, spots: list[Spot] | None = None, by: dict[str, Box] | None = None) -> None: ...

    told = "not a key of this object; did you mean 'width'?"
    assert f"box.widht: {told}" in refusal(tool, {"box": {"widht": 1}})
    assert "box.widht: not a key of this object (" in refusal(tool, {"box": {"width": 1, "widht": 1}})
    assert f"by.a.widht: {told}" in refusal(tool, {"box": {"width": 1}, "by": {"a": {"widht": 1}}})
    spots = [{"lat": 1.0}, {"lot": 1.0, "box": {"widht": 1}}]
    text = refusal(tool, {"box": {"width": 1}, "spots": spots})
    assert "spots.1.lot: not a key of this object; did you mean 'lat'?" in text
    assert f"spots.1.box.widht: {told}" in text


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


def test_G1_postponed_annotations_are_resolved_from_the_functions_own_module() -> None:
    """This file postpones all of its own, so every test here shows it; this one looks at the schema."""

    def tool(user: User) -> None: ...

    assert {"name", "age"} == set(parameters_of(tool).schema["$defs"]["User"]["properties"])


def test_an_annotation_that_cannot_be_found_names_tool_and_name() -> None:
    class Local: ...

    def tool(a: Local) -> None: ...

    with pytest.raises(tx.DeclarationError, match=r"'fetch'.*'Local'"):
        parameters_of(tool, "fetch")


@pytest.mark.parametrize("annotation", ["not valid!", "enum.Missing", "dataclasses.field.nothing"])
def test_an_annotation_that_cannot_be_evaluated_is_a_fault_of_the_declaration(annotation: str) -> None:
    def tool(a: int) -> None: ...

    tool.__annotations__["a"] = annotation

    with pytest.raises(tx.DeclarationError, match="'fetch'"):
        parameters_of(tool, "fetch")


def test_a_type_without_a_json_form_names_tool_and_parameter() -> None:
    class Odd: ...

    def tool(a: int, b: Any) -> None: ...

    tool.__annotations__["b"] = Odd

    with pytest.raises(tx.DeclarationError, match=r"'fetch', parameter 'b'"):
        parameters_of(tool, "fetch")


def test_a_callable_without_a_signature_says_what_to_do() -> None:
    with pytest.raises(tx.DeclarationError, match="wrap it in a function"):
        parameters_of(type, "fetch")


def test_the_receiver_of_a_method_is_no_parameter() -> None:
    class Tool:
        def call(self, a: int) -> None: ...

    assert {"a"} == set(parameters_of(Tool.call, skip_first=True).schema["properties"])
    assert {"a"} == set(parameters_of(Tool().call).schema["properties"])


# Held to wherever it stands: in a model, behind an alias, in a union


class Bit(enum.IntEnum):
    OFF = 0
    ON = 1


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


def test_telling_ten_thousand_faults_of_what_was_converted_takes_linear_time() -> None:
    def tool(a: list[Annotated[int, Field(ge=100_000)]]) -> None: ...

    begun = time.process_time()
    assert "and 9980 more" in refusal(tool, {"a": [str(n) for n in range(10_000)]})
    assert time.process_time() - begun < 1  # it was 3 s


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


def test_each_fault_is_told_by_its_own_name() -> None:
    def tool(
        held: pydantic.Json[list[int]], count: Annotated[int, Field(alias="Count")] = 1, other: Any = None, **more: Any
    ) -> None: ...

    assert "held: Invalid JSON: EOF while parsing a list at line 1 column 4" in refusal(tool, {"held": "[1,2"})
    assert "(expected: held, Count, other; " in refusal(tool, {"held": "[1]", "Count": "x"})
    assert {"held": [1], "count": 2, "free": 3} == bind(tool, {"held": "[1]", "Count": 2, "free": 3})[1]
    huge = 10**5000
    assert huge == parameters_of(tool).take({"held": "[]", "Count": huge, "other": object()}, {})[1]["count"]
    assert "not a number of thousands of digits" in refusal(tool, {"held": huge, "other": object()})
    with pytest.raises(tx.ArgumentsError, match="an integer has too many digits"):
        bind(tool, {"held": "[]", "other": [huge]})


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
