"""Parameters that are declared one by one: for a class, inline, by a schema, by a function."""

from __future__ import annotations

import enum
import json
import pickle
import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import toolexec as tx


class Colour(enum.Enum):
    RED = "red"


def schema_of(fn: tx.Function) -> dict[str, Any]:
    return fn.params["properties"]  # type: ignore[no-any-return]  # a JSON Schema


def refused(fn: tx.Function, **arguments: Any) -> str:
    ret = tx.run(fn, arguments)
    assert "bad_arguments" == ret.status
    return str(ret.value["message"])


# The class form


class Search(tx.Tool):
    name = "search"
    description = "Looks things up"
    parameters = (
        tx.parameter("query", str, "What to look for"),
        tx.parameter("engine", str, "Where", enum=["web", "docs"], default="docs"),
        tx.parameter("tags", list[str], "Only these", default=[]),
    )

    def call(self, query, engine, tags, limit: int = 3) -> Any:  # type: ignore[no-untyped-def]  # declared above
        tags.append(query)
        return [query, engine, tags, limit]


def test_anc_T7_a_class_declares_names_types_texts_defaults_and_values() -> None:
    (function,) = tx.Context(tools=[Search]).functions.values()
    schema = function.params

    assert ["query"] == schema["required"]
    assert {"type": "string", "description": "What to look for"} == schema["properties"]["query"]
    assert {
        "type": "string",
        "enum": ["web", "docs"],
        "default": "docs",
        "description": "Where",
    } == schema["properties"]["engine"]
    assert {"type": "integer", "default": 3}.items() <= schema["properties"]["limit"].items()


def test_what_a_call_leaves_out_is_its_default_fresh_every_time() -> None:
    ctx = tx.Context(tools=[Search])
    calls = [{"name": "search", "arguments": {"query": "x"}}] * 2

    assert [["x", "docs", ["x"], 3]] * 2 == [ret.value for ret in ctx.receive(calls).call()]


def test_a_value_that_is_none_of_those_is_refused() -> None:
    (ret,) = (
        tx.Context(tools=[Search]).receive([{"name": "search", "arguments": {"query": "x", "engine": "print"}}]).call()
    )

    assert "engine: should be 'web' or 'docs', not the text \"print\"" in ret.value["message"]


def test_a_declaration_that_does_not_fit_the_signature_is_refused_with_the_class() -> None:
    with pytest.raises(tx.DeclarationError, match=r"'broken', parameter 'pth': .* takes no such parameter.*: path"):

        class Broken(tx.Tool):
            name = "broken"
            parameters = [tx.parameter("pth", str)]  # noqa: RUF012 - as users write it

            def call(self, path: str) -> None: ...

    with pytest.raises(tx.DeclarationError, match="'path': it is declared twice"):

        class Twice(tx.Tool):
            name = "twice"
            parameters = (tx.parameter("path", str), tx.parameter("path", int))

            def call(self, path: str) -> None: ...

    with pytest.raises(tx.DeclarationError, match="parameters has 'path'"):

        class Odd(tx.Tool):
            name = "odd"
            parameters = ("path",)  # type: ignore[assignment]  # that is the point

            def call(self, path: str) -> None: ...


def test_a_base_class_declares_for_those_that_bring_the_call() -> None:
    class Base(tx.Tool):
        parameters = (tx.parameter("path", str, "Where"),)

    class Reads(Base):
        name = "reads"

        def call(self, path) -> Any:  # type: ignore[no-untyped-def]  # declared by the base
            return path

    (ret,) = tx.Context(tools=[Reads]).receive([{"name": "reads", "arguments": {"path": "p"}}]).call()
    assert "p" == ret.value


# One parameter


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tx.parameter("", str), "a parameter's name is ''"),
        (lambda: tx.parameter(3, str), "a parameter's name is 3"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.parameter("a", "strng"), r"'a': 'strng' is no type of JSON; these are: string, integer"),
        (lambda: tx.parameter("a", ["x"]), r"\['x'\] is no type; of values there are, write enum="),
        (lambda: tx.parameter("a", str, 5), "its description is 5"),  # type: ignore[arg-type]  # that is the point
        (lambda: tx.parameter("a", str, enum=[]), r"enum is \[\]"),
        (lambda: tx.parameter("a", str, enum="ab"), "enum is 'ab'"),
        (lambda: tx.parameter("a", enum=["x", 1]), "all texts, all numbers or all booleans"),
        (lambda: tx.parameter("a", enum=[1, True]), "all texts, all numbers or all booleans"),
        (lambda: tx.parameter("a", int, enum=["x"]), "'x' of its enum is no int"),
        (lambda: tx.parameter("a", int, enum=[1, 1.5]), r"1\.5 of its enum is no int"),
        (lambda: tx.parameter("a", list, enum=["x"]), "enum goes with str, int, float or bool"),
        (lambda: tx.parameter("a", lambda: str, enum=["x"]), "enum goes with a type such as str"),
        (lambda: tx.parameter("a", enum=["x"], default="y"), "its default 'y' is none of its enum"),
        (lambda: tx.parameter("a", enum=[1, 2], default=True), "its default True is none of its enum"),
        (lambda: tx.parameter("a", str, default=3), "its default 3 is no str"),
        (lambda: tx.parameter("a", int, default=True), "its default True is no int"),
        (lambda: tx.parameter("a", str, required=False), "required=False needs a default"),
        (lambda: tx.parameter("a", str, default="x", required=True), "it is required and has a default"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_at_once(make: Any, text: str) -> None:
    with pytest.raises(tx.DeclarationError, match=text):
        make()


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        ("integer", {"type": "integer"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (list[int | str], {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}),
        ({"const": 3}, {"const": 3}),
    ],
    ids=repr,
)
def test_anc_T8_the_types_there_are(kind: Any, schema: dict[str, Any]) -> None:
    fn = tx.Function("f")
    fn.param("a", kind)

    assert schema == schema_of(fn)["a"]


@pytest.mark.parametrize(
    ("values", "fits", "not_"),
    [
        (["a", "b"], "a", "A"),
        ([1, 2], 2.0, 3),
        ([0.5, 1], 1, 0.6),
        ([True], True, 1),
        ([1], 1, True),
    ],
)
def test_the_values_there_are_are_compared_by_kind_and_value(values: list[Any], fits: Any, not_: Any) -> None:
    fn = tx.Function("f")
    fn.param("a", enum=values)
    fn.define(lambda a: a)

    assert fits == tx.run(fn, {"a": fits}).value
    assert "a: should be" in refused(fn, a=not_)


def test_an_enum_of_floats_keeps_its_type() -> None:
    fn = tx.Function("f")
    fn.param("a", float, enum=[0.5, 1])
    fn.define(lambda a: a)

    assert {"type": "number", "enum": [0.5, 1], "description": "a"} == schema_of(fn)["a"]
    assert (1.0, float) == ((got := tx.run(fn, {"a": 1}).value), type(got))


def test_an_enum_class_is_a_type_and_the_body_gets_its_member() -> None:
    fn = tx.Function("f")
    fn.param("a", Colour)
    fn.define(lambda a: a)

    assert Colour.RED is tx.run(fn, {"a": "red"}).value


# Inline


def test_param_and_define_are_decorators_too() -> None:
    fn = tx.Function("run-command", "Runs a shell command")

    @fn.define
    @fn.param("command", str, "The command line")
    @fn.param("timeout", int, "Seconds", default=3)
    def run(command: str, timeout: int) -> str:
        return f"{command} {timeout}"

    assert "ls 3" == run("ls", 3)
    assert "ls 3" == tx.run(fn, {"command": "ls"}).value
    assert ["command"] == fn.params["required"]


def test_a_parameter_is_declared_once_and_named_by_the_body() -> None:
    fn = tx.Function("f")
    fn.define(lambda a: a)

    with pytest.raises(tx.DeclarationError, match=r"'f', parameter 'b': .* it takes: a"):
        fn.param("b", str)
    fn.param("a", str)
    with pytest.raises(tx.DeclarationError, match="'f', parameter 'a': it is declared twice"):
        fn.param("a", int)
    with pytest.raises(tx.DeclarationError, match="'f', parameter 'a'"):
        fn.define(lambda b: b)
    assert "x" == tx.run(fn, {"a": "x"}).value


def test_params_merge_by_name_and_read_they_are_never_none() -> None:
    fn = tx.Function("f")
    assert {} == fn.params["properties"]
    fn.params({"a": str, "b": int})
    fn.params({"type": "object", "properties": {"b": {"type": "boolean"}, "c": {"type": "null"}}, "required": ["b"]})
    fn.params({"d": tx.parameter("d", float, "how much", default=1.5)})

    schema = fn.params
    assert ["a", "b", "c", "d"] == list(schema["properties"])
    assert {"type": "boolean"} == schema["properties"]["b"]
    assert ["a", "b"] == schema["required"]
    assert schema == json.loads(json.dumps(schema))
    assert dict is type(pickle.loads(pickle.dumps(schema)))
    schema["properties"].clear()
    assert 4 == len(schema_of(fn))


@pytest.mark.parametrize("given", [3, None, ["a"], str])
def test_params_takes_a_schema_a_mapping_or_a_function(given: Any) -> None:
    with pytest.raises(tx.DeclarationError, match="'f', params takes a JSON Schema"):
        tx.Function("f").params(given)


def test_what_a_schema_lets_a_call_leave_out_is_left_out_or_defaulted() -> None:
    fn = tx.Function("f")
    fn.params({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}}})
    fn.define(lambda **given: given)

    assert {"b": 2} == tx.run(fn).value
    assert {"a": 1, "b": 3} == tx.run(fn, {"a": 1, "b": 3}).value
    with pytest.raises(tx.DeclarationError, match="'a': its schema lets a call leave it out"):
        fn.define(lambda a, b: (a, b))
    fn.define(lambda a=0, b=0: (a, b))
    assert (0, 2) == tx.run(fn).value


def test_anc_T9_unions_nested_schemas_references_and_what_follows_from_const_and_enum() -> None:
    fn = tx.Function("f")
    schema = {
        "type": "object",
        "properties": {
            "either": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]},
            "both": {"type": ["string", "null"]},
            "nested": {"type": "object", "properties": {"box": {"$ref": "#/$defs/Box"}}, "required": ["box"]},
            "kind": {"const": "k"},
            "level": {"enum": ["low", 3, None]},
            "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number", "maximum": 5}}},
        },
        "required": ["either", "both", "nested", "kind", "level", "rows"],
        "$defs": {"Box": {"properties": {"width": {"type": "integer", "minimum": 1}}, "required": ["width"]}},
    }
    fn.params(schema)
    fn.define(lambda **given: given)
    good = {
        "either": "ab",
        "both": None,
        "nested": {"box": {"width": 1}},
        "kind": "k",
        "level": 3,
        "rows": [[1.5], []],
    }

    assert good == tx.run(fn, good).value
    assert {"type": "integer", "minimum": 1} == (schema_of(fn)["nested"]["properties"]["box"]["properties"]["width"])
    told = refused(
        fn, **{**good, "nested": {"box": {"width": 0}}, "kind": "x", "level": "3", "rows": [[9]], "either": "a"}
    )
    for path in ("either: ", "nested.box.width: ", "kind: ", "level: ", "rows.0.0: "):
        assert path in told


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "date"}, "'date' is no type of JSON"),
        ({"$ref": "#/$defs/None"}, "leads nowhere"),
        ({"$ref": "http://elsewhere"}, "leads nowhere"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "allOf of several"),
        ({"enum": []}, r"enum is \[\]"),
        ({"enum": [[1]]}, "enum of lists"),
        ({"anyOf": []}, r"anyOf is \[\]"),
        ({"type": "array", "items": 3}, "3 is no JSON Schema"),
        ({"$ref": "#/$defs/Node"}, "contains itself"),
    ],
    ids=repr,
)
def test_anc_T9_a_schema_that_cannot_be_held_to_is_a_type_error_at_declaration(schema: Any, text: str) -> None:
    fn = tx.Function("f")
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}

    with pytest.raises(TypeError, match=rf"'f', parameter 'a': .*{text}"):
        fn.params({"type": "object", "properties": {"a": schema}, "$defs": {"Node": node}})


# Types that a function tells


def test_a_type_given_as_a_function_is_asked_anew_at_every_rendering() -> None:
    fruits = ["apple"]
    fn = tx.Function("pick")
    fn.param("fruit", lambda: Literal[tuple(fruits)])
    fn.define(lambda fruit: fruit)

    assert "apple" == schema_of(fn)["fruit"]["const"]
    fruits.append("pear")
    assert ["apple", "pear"] == schema_of(fn)["fruit"]["enum"]


def test_a_call_is_held_to_what_its_own_context_rendered_last() -> None:
    fruits = ["apple"]

    def kinds() -> Any:
        return Literal[tuple(fruits)]

    class Pick(tx.Tool):
        name = "pick"
        parameters = (tx.parameter("fruit", kinds),)

        def call(self, fruit: str) -> str:
            return fruit

    pear = [{"name": "pick", "arguments": {"fruit": "pear"}}]
    early = tx.Context(tools=[Pick])
    fruits.append("pear")
    late = tx.Context(tools=[Pick])

    assert "bad_arguments" == early.receive(pear).call()[0].status
    assert "pear" == late.receive(pear).call()[0].value
    early.declarations()
    assert "pear" == early.receive(pear).call()[0].value


def test_params_given_as_a_function_are_asked_anew_too() -> None:
    known = {"a": str}
    fn = tx.Function("f")
    fn.params(lambda: known)
    fn.define(lambda **given: given)

    assert ["a"] == list(schema_of(fn))
    known["b"] = str
    assert ["a", "b"] == list(schema_of(fn))
    assert {"a": "x", "b": "y"} == tx.run(fn, {"a": "x", "b": "y"}).value


def test_a_function_that_fails_to_tell_a_type_names_tool_and_parameter() -> None:
    fn = tx.Function("f")
    fn.param("a", lambda: 1 / 0)

    with pytest.raises(tx.DeclarationError, match=r"'f', parameter 'a': the function .* raised ZeroDivisionError"):
        _ = fn.params


# Declared to a provider


def test_adapt_asks_the_provider() -> None:
    class Provider:
        def adapt_function(self, function: tx.Function) -> dict[str, Any]:
            return {"called": function.name}

    fn = tx.Function("f", "Does it")
    fn.param("a", str, default="x")
    fn.param("b", int)

    assert {"called": "f"} == fn.adapt(Provider())
    told = fn.adapt("openai")
    assert ("function", "f", "Does it") == (told["type"], told["function"]["name"], told["function"]["description"])
    assert fn.params == told["function"]["parameters"]
    strict = fn.adapt(tx.OpenAI(strict=True))["function"]
    assert (True, ["a", "b"]) == (strict["strict"], strict["parameters"]["required"])
    with pytest.raises(tx.FormatError, match="no provider named 'nobody'; installed: anthropic, "):
        fn.adapt("nobody")
    with pytest.raises(tx.FormatError, match="declares no tools"):
        fn.adapt(object())
    for use in (fn.adapt, tx.Context().declarations, lambda given: tx.Context(provider=given)):
        with pytest.raises(tx.FormatError, match=r"; of this class an instance, such as OpenAI\(\)"):
            use(tx.OpenAI)


def test_anc_R10_a_tool_without_parameters_is_declared_with_an_empty_object() -> None:
    assert {"type": "object", "properties": {}, "additionalProperties": False} == (
        tx.Function("f").adapt()["function"]["parameters"]
    )


@pytest.mark.parametrize("name", ["read file", "a.b", "é", "x" * 80])
def test_G13_a_name_the_provider_does_not_take_is_declared_under_one_it_takes(name: str) -> None:
    told = tx.Function(name).adapt()["function"]["name"]

    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", told)
    assert told == tx.Function(name).adapt()["function"]["name"] != tx.Function(name + "?").adapt()["function"]["name"]


def test_the_strict_form_that_cannot_be_is_refused_naming_the_tool() -> None:
    fn = tx.Function("f")
    fn.param("a", dict[str, int])

    with pytest.raises(tx.DeclarationError, match=r"'f' cannot be declared to openai: .* keys of any name"):
        fn.adapt(tx.OpenAI(strict=True))


@pytest.mark.parametrize("given", [{"self": str}, lambda: {"self": str}], ids=["now", "at every rendering"])
def test_a_parameter_with_the_name_of_the_receiver_is_refused(given: Any) -> None:
    class Body:
        def call(self, **kw: Any) -> None: ...

    fn = tx.Function("open", "Takes anything")
    fn.define(Body)
    with pytest.raises(tx.DeclarationError, match=r"tool 'open', parameter 'self': what is called has that name"):
        fn.params(given)


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"type": "array", "items": {}, "uniqueItems": True}, [1, True, "1", [1]], [[1], [1]]),
        ({"type": "object", "minProperties": 1}, {"x": 1}, {}),
        ({"type": "object", "properties": {"x": {}, "y": {}}, "maxProperties": 1}, {"x": 1}, {"x": 1, "y": 1}),
        ({"type": "object", "required": ["x"]}, {"x": 1, "y": 2}, {"y": 2}),
        ({"type": "object", "properties": {"x": {}}, "required": ["y"]}, {"y": None}, {"x": 1}),
        ({"type": "object", "additionalProperties": False}, {}, {"x": 1}),
        ({"properties": {"x": {}}, "additionalProperties": {"type": "integer"}}, {"x": "", "y": 1}, {"y": ""}),
        ({"required": ["x"], "additionalProperties": {"type": "integer"}, "type": "object"}, {"x": 1}, {"x": ""}),
        (
            {"type": "object", "properties": {"x": {}, "y": {}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
            {"y": 1},
            {},
        ),
        ({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]}, 3, 4),
        ({"type": "string", "oneOf": [{"const": "a"}, {"minLength": 3}]}, "a", "b"),
        ({"type": ["string", "null"], "enum": ["a", None]}, None, "b"),
        ({"type": "string", "minimum": 3, "x-own": [], "format": "date"}, "a", 3),
    ],
    ids=repr,
)
def test_a_schema_is_held_to_wherever_it_is_shown(schema: Any, fits: Any, does_not: Any) -> None:
    fn = tx.Function("f")
    fn.params({"type": "object", "properties": {"a": schema}, "required": ["a"]})
    fn.define(lambda a: a)

    assert {**schema, "description": "a"} == schema_of(fn)["a"]
    assert fits == tx.run(fn, {"a": fits}, "sequential").value
    assert refused(fn, a=does_not).startswith("a")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "pattern": "(["}, "unclosed character class"),
        ({"type": "string", "pattern": "^(?!a)"}, "look-around"),
        ({"type": "string", "minLength": "3"}, "a limit of its type cannot be held to"),
        ({"type": "string", "maxLength": -1}, "a limit of its type cannot be held to"),
        ({"type": "integer", "minimum": "a"}, "a limit of its type cannot be held to"),
        ({"type": "number", "multipleOf": 0}, "a limit of its type cannot be held to"),
        ({"type": "array", "items": {"type": "array", "minItems": "x"}}, "a limit of its type cannot be held to"),
        ({"type": "integer", "enum": [1, "a"]}, "'a' of its enum is no integer"),
        ({"type": "string", "const": 1}, "1 of its enum is no string"),
        ({"type": "string", "enum": ["a"], "minLength": 3}, "enum beside 'minLength'"),
        ({"$ref": "#/$defs/Box", "minProperties": 1}, "beside 'minProperties'"),
        ({"type": "string", "anyOf": [{"type": "integer"}]}, "anyOf beside 'type'"),
        ({"additionalProperties": False, "anyOf": [{"properties": {"x": {}}}]}, "anyOf beside 'additionalProperties'"),
        ({"minimum": 3}, "'minimum' needs a 'type' beside it"),
        ({"type": "object", "required": ["x"], "additionalProperties": False}, "allows none of that name"),
        ({"type": "object", "required": "x"}, "required is 'x'"),
        ({"type": "object", "properties": []}, r"properties is \[\]"),
        *(
            ({"type": "array", "items": {word: {}}}, f"'{word}' cannot be held to")
            for word in ("not", "if", "patternProperties", "propertyNames", "prefixItems", "contains")
        ),
    ],
    ids=repr,
)
def test_what_cannot_be_held_to_is_refused_at_declaration(schema: Any, text: str) -> None:
    definitions = {"Box": {"type": "object"}}
    fn, other = tx.Function("f"), tx.Function("f")

    with pytest.raises(tx.DeclarationError, match=rf"'f', parameter 'a': .*{text}"):
        fn.params({"type": "object", "properties": {"a": schema}, "$defs": definitions})
    other.param("a", {**schema, "$defs": definitions})
    with pytest.raises(tx.DeclarationError, match=rf"'f', parameter 'a': .*{text}"):
        _ = other.params


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"anyOf": [{"required": ["a"]}]}, "'anyOf' of all arguments"),
        ({"minProperties": 2}, "'minProperties' of all arguments"),
        ({"required": ["b"]}, "required names 'b'"),
        ({"required": "a"}, "required is 'a'"),
    ],
)
def test_what_is_said_of_all_arguments_and_cannot_be_held_to_is_refused(schema: Any, text: str) -> None:
    with pytest.raises(tx.DeclarationError, match=f"tool 'f', params: {text}"):
        tx.Function("f").params({"type": "object", "properties": {"a": {}}, **schema})


def test_a_pattern_of_an_annotation_that_is_none_is_a_declaration_error_too() -> None:
    def tool(a: int, b: Annotated[str, Field(pattern="([")]) -> None: ...

    with pytest.raises(tx.DeclarationError, match="tool 'tool', parameter 'b': a limit of its type"):
        tx.as_tool(tool)
