"""Parameters: the schema of a signature, and the validation of a call against it."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import Field

import toolexec as tx
from toolexec._schema import Parameters


class User(pydantic.BaseModel):
    name: str
    age: int = 0


@dataclasses.dataclass
class Box:
    width: int


class Colour(enum.Enum):
    RED = "red"


def bind(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return Parameters("t", function).validate(arguments)


def refusal(function: Any, arguments: dict[str, Any]) -> str:
    with pytest.raises(tx.ArgumentsError) as caught:
        bind(function, arguments)
    return str(caught.value)


def test_a_tool_without_parameters_has_an_empty_object() -> None:
    schema = Parameters("t", lambda: None).schema

    assert ("object", {}) == (schema["type"], schema["properties"])
    assert "title" not in schema


def test_the_schema_tells_types_texts_defaults_and_what_is_required() -> None:
    def tool(
        path: Annotated[str, "Where it is"], depth: Annotated[int, Field(ge=1)] = 3, kind: Literal["a", "b"] = "a"
    ) -> None:
        """Body of no interest."""

    schema = Parameters("t", tool).schema

    assert ["path"] == schema["required"]
    assert "Where it is" == schema["properties"]["path"]["description"]
    assert {"type": "integer", "minimum": 1, "default": 3}.items() <= schema["properties"]["depth"].items()
    assert ["a", "b"] == schema["properties"]["kind"]["enum"]
    assert False is schema["additionalProperties"]


def test_a_default_without_a_json_form_is_not_shown_and_still_used() -> None:
    marker = object()

    def tool(a: Any = marker) -> object:
        return a

    assert "default" not in Parameters("t", tool).schema["properties"]["a"]
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

    parameters = Parameters("t", tool)
    args, kwargs = parameters.validate({"a": 1, "x": [2], "rest": 3})

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
    assert [name] == Parameters("t", namespace["tool"]).schema["required"]


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


def test_a_fault_never_shows_the_values() -> None:
    def tool(a: int) -> None: ...

    assert "hunter2" not in refusal(tool, {"a": "hunter2"})


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

    assert {"name", "age"} == set(Parameters("t", tool).schema["$defs"]["User"]["properties"])


def test_an_annotation_that_cannot_be_found_names_tool_and_name() -> None:
    class Local: ...

    def tool(a: Local) -> None: ...

    with pytest.raises(tx.DeclarationError, match=r"'fetch'.*'Local'"):
        Parameters("fetch", tool)


@pytest.mark.parametrize("annotation", ["not valid!", "enum.Missing", "dataclasses.field.nothing"])
def test_an_annotation_that_cannot_be_evaluated_is_a_fault_of_the_declaration(annotation: str) -> None:
    def tool(a: int) -> None: ...

    tool.__annotations__["a"] = annotation

    with pytest.raises(tx.DeclarationError, match="'fetch'"):
        Parameters("fetch", tool)


def test_a_type_without_a_json_form_names_tool_and_parameter() -> None:
    class Odd: ...

    def tool(a: int, b: Any) -> None: ...

    tool.__annotations__["b"] = Odd

    with pytest.raises(tx.DeclarationError, match=r"'fetch', parameter 'b'"):
        Parameters("fetch", tool)


def test_a_callable_without_a_signature_says_what_to_do() -> None:
    with pytest.raises(tx.DeclarationError, match="wrap it in a function"):
        Parameters("fetch", type)


def test_the_receiver_of_a_method_is_no_parameter() -> None:
    class Tool:
        def call(self, a: int) -> None: ...

    assert {"a"} == set(Parameters("t", Tool.call, skip_first=True).schema["properties"])
    assert {"a"} == set(Parameters("t", Tool().call).schema["properties"])
