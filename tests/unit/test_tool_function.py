"""ToolFunction: declared parameter by parameter, called by position, told what was wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolexec as tx


def read(room: str, unit: str, digits: int) -> str:
    return f"{room} {unit} {digits}"


def thermometer() -> tx.ToolFunction:
    return (
        tx.ToolFunction("temperature", "Reads a sensor", read)
        .add_parameters("room", "string", "Which room", enum=["hall", "attic"])
        .add_parameters("unit", "string", "C or F", ["C", "F"], "C")
        .add_parameters("digits", "integer", "After the point", default=1)
    )


def call(arguments: Any, name: str = "temperature") -> dict[str, Any]:
    return {"id": "c1", "name": name, "arguments": arguments}


def test_without_added_parameters_it_has_none_whatever_its_handle_takes() -> None:
    tool = tx.ToolFunction("t", "d", read)

    assert {} == tool.params["properties"]
    assert "x: not a parameter" in tool.eval(call({"x": 1}, "t"))[0]


def test_what_was_added_is_what_the_model_is_told() -> None:
    schema = thermometer().params

    assert ["room"] == schema["required"]
    assert {
        "room": {"type": "string", "enum": ["hall", "attic"], "description": "Which room"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "C or F"},
        "digits": {"type": "integer", "default": 1, "description": "After the point"},
    } == schema["properties"]


def test_eval_gives_text_and_name() -> None:
    assert ("hall C 1", "temperature") == thermometer().eval(call({"room": "hall"}))


@pytest.mark.parametrize(
    "tool_call",
    [
        json.dumps(call({"room": "attic"})),
        call('{"room": "attic"}'),
        {"type": "function", "function": {"name": "temperature", "arguments": '{"room": "attic"}'}},
    ],
    ids=["text", "dict", "as OpenAI nests it"],
)
def test_eval_takes_a_call_as_text_or_as_a_dict(tool_call: Any) -> None:
    assert "attic C 1" == thermometer().eval(tool_call)[0]


def test_a_default_in_the_middle_is_filled_and_the_order_of_the_keys_does_not_matter() -> None:
    assert "hall C 3" == thermometer().eval(call('{"digits": 3, "room": "hall"}'))[0]


def test_a_call_that_does_not_fit_is_told_all_that_is_expected_and_supplied() -> None:
    called: list[object] = []
    tool = tx.ToolFunction("t", "d", lambda *given: called.append(given))
    tool.add_parameters("alpha", "string", "a").add_parameters("beta", "integer", "b")

    text, name = tool.eval(call({"alpa": "x", "beta": "many"}, "t")) or ("", "")

    assert "t" == name
    assert "expected: alpha, beta; supplied: alpa, beta" in text
    assert [] == called


def test_the_call_of_another_tool_gives_nothing_so_that_several_can_be_asked() -> None:
    tools = [thermometer(), tx.ToolFunction("other", "d", lambda: "mine")]

    assert "" == tools[0].eval(call({}, "other"))
    assert ("mine", "other") == next(filter(None, (tool.eval(call({}, "other")) for tool in tools)))


@pytest.mark.parametrize("tool_call", ["", "not json", "[]", "{}", {}, {"name": 3}, [1], None, "null"], ids=repr)
def test_what_names_no_tool_raises(tool_call: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        thermometer().eval(tool_call)


def test_a_handle_that_raises_gives_the_errors_text() -> None:
    tool = tx.ToolFunction("t", "d", lambda: 1 / 0)

    assert ("ZeroDivisionError: division by zero", "t") == tool.eval(call({}, "t"))


def test_a_result_that_is_no_text_becomes_json_as_the_tool_says() -> None:
    plain = tx.ToolFunction("t", "d", lambda: {"a": [1, None]})
    own = tx.ToolFunction("t", "d", lambda: {"a": 1}, json=tx.Json(encode=lambda value: f"a is {value['a']}"))

    assert '{"a": [1, null]}' == plain.eval(call({}, "t"))[0]
    assert "a is 1" == own.eval(call({}, "t"))[0]


@pytest.mark.parametrize(
    ("add", "text"),
    [
        ({"type": "text"}, "'text' is no type of JSON"),
        ({"type": "integer", "enum": ["a"]}, "'a' of its enum is no int"),
        ({"enum": ["a", 1]}, "all texts, all numbers or all booleans"),
        ({"enum": ["a"], "default": "b"}, "its default 'b' is none of its enum"),
        ({"name": "there"}, "it is added twice"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_at_once(add: dict[str, Any], text: str) -> None:
    tool = tx.ToolFunction("t", "d", lambda there: there).add_parameters("there", "string", "d")
    given: dict[str, Any] = {"name": "a", "type": "string", "description": "d", **add}

    with pytest.raises(tx.DeclarationError, match=f"'t', parameter '{given['name']}': .*{text}"):
        tool.add_parameters(**given)


def test_a_handle_has_to_be_callable() -> None:
    with pytest.raises(tx.DeclarationError, match="its handle is 3"):
        tx.ToolFunction("t", "d", 3)  # type: ignore[arg-type]  # that is the point


async def aread(room: str, unit: str, digits: int) -> str:
    return read(room, unit, digits)


@pytest.mark.parametrize("handle", [read, aread])
@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork"])
def test_it_is_a_tool_under_every_strategy_and_always_called_by_position(strategy: str, handle: Any) -> None:
    tool = tx.ToolFunction("temperature", "Reads a sensor", handle)
    for name in ("first", "second", "third"):
        tool.add_parameters(name, "string", "in order", default=name)

    (ret,) = tx.Context(tools=[tool]).receive([call({"second": "2"})]).wait(strategy)
    assert "first 2 third" == ret.unwrap()


def test_a_key_that_is_there_twice_is_refused_as_everywhere() -> None:
    doubled = '{"name": "temperature", "arguments": {"room": "hall", "room": "attic"}}'

    assert "the key 'room' is there twice" in thermometer().eval(doubled)[0]
    for call_text in (
        '{"name": "temperature", "name": "pressure"}',
        '{"name": "temperature", "arguments": {"room": "hall"}, "arguments": {"room": "attic"}}',
        '{"function": {"name": "temperature", "name": "pressure"}}',
    ):
        with pytest.raises(ValueError, match="a key is there twice"):
            thermometer().eval(call_text)


def test_what_params_adds_is_passed_by_position_too() -> None:
    tool = tx.ToolFunction("t", "d", lambda *places: list(places))
    tool.add_parameters("a", "array", "First", default=[])
    tool.params({"b": int})
    tool.param("c", int, "Third", default=3)
    tool.params(lambda: {"d": int})

    assert ("[[], 2, 3, 4]", "t") == tool.eval(call({"d": 4, "b": 2}, "t"))
    with pytest.raises(tx.DeclarationError, match=r"parameter 'e': its schema lets a call leave it out"):
        tool.params({"type": "object", "properties": {"e": {"type": "integer"}}})
