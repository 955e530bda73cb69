"""Parameters: the schema of a signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import toolexec as tx
from bound_arguments import Box, User, bind, parameters_of, refusal
from toolexec._arguments import parse

# Such as a type checker does not know them, for what it would refuse.
LIST: Any = list
DICT: Any = dict
LITERAL: Any = Literal


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
