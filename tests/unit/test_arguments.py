"""From what a model sent as arguments to a mapping, or to an error it can act on."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest

from toolexec import ArgumentsError, _arguments
from toolexec._arguments import excerpt


def parse(raw: object) -> dict[str, Any]:
    return _arguments.parse(raw).values


@pytest.mark.parametrize("raw", [None, "", "  \n", "null", " null ", {}, "{}", b"{}", bytearray(b""), '"{}"'], ids=repr)
def test_F1_nothing_means_no_arguments(raw: object) -> None:
    assert {} == parse(raw)


@pytest.mark.parametrize(
    "raw",
    ['{"path": "a", "text": "hel', '{"a": 1,}', "{'a': 1}", "{", "not json", '{"a": }', '{"a": undefined}', b"\xff{}"],
)
def test_F2_broken_json_is_refused_with_an_excerpt(raw: str | bytes) -> None:
    with pytest.raises(ArgumentsError, match="not valid JSON") as caught:
        parse(raw)

    assert (raw if isinstance(raw, str) else raw.decode("utf-8", "replace")) in str(caught.value)


def test_the_excerpt_of_a_long_text_is_short_and_says_how_long_it_was() -> None:
    with pytest.raises(ArgumentsError) as caught:
        parse('{"text": "' + "x" * 100_000)

    assert len(str(caught.value)) < 300
    assert "(100010 characters)" in str(caught.value)
    assert "short" == excerpt("short")


@pytest.mark.parametrize("raw", ['{"q":"a"}{"q":"b"}', '{"q":"a"} thanks', '{"q":"a"}\n{"q":"b"}'])
def test_F8_glued_objects_are_refused_and_never_cut(raw: str) -> None:
    with pytest.raises(ArgumentsError, match="Extra data"):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("[1]", "an array"),
        ('"x"', "a string"),
        ("3", "a number"),
        ("3.5", "a number"),
        ("true", "a boolean"),
        ([1], "an array"),
        (3, "a number"),
        (True, "a boolean"),
        ({1, 2}, "a set"),
    ],
    ids=repr,
)
def test_F3_what_is_no_object_is_refused_by_its_kind(raw: object, kind: str) -> None:
    with pytest.raises(ArgumentsError, match=f"must be a JSON object, not {kind}"):
        parse(raw)


def encoded(value: object, times: int) -> str:
    text = json.dumps(value)
    for _ in range(times - 1):
        text = json.dumps(text)
    return text


def test_F4_one_layer_of_double_encoding_is_peeled() -> None:
    assert {"a": 1} == parse(encoded({"a": 1}, 2))


@pytest.mark.parametrize("raw", [encoded({"a": 1}, 3), encoded([1], 2), encoded("x", 2), json.dumps('{"a": ')])
def test_F4_deeper_layers_and_other_insides_are_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError):
        parse(raw)


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_the_tokens_that_are_not_json_are_refused(token: str) -> None:
    with pytest.raises(ArgumentsError, match=f"{token} is not JSON"):
        parse(f'{{"x": {token}}}')


def test_an_integer_of_too_many_digits_is_refused_and_a_large_one_is_not() -> None:
    assert {"n": 2**200} == parse(f'{{"n": {2**200}}}')
    with pytest.raises(ArgumentsError, match="not valid JSON"):
        parse('{"n": ' + "9" * 10_000 + "}")


def test_text_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ArgumentsError, match="nested too deeply"):
        parse('{"a": ' + "[" * 200_000)


def test_a_dict_that_contains_itself_is_refused() -> None:
    ring: dict[str, Any] = {}
    ring["ring"] = ring

    with pytest.raises(ArgumentsError, match="nested too deeply"):
        parse(ring)


def test_the_callers_containers_are_copied_and_its_objects_are_not() -> None:
    """A tool may pop from a nested dict; an object with a lock in it cannot be copied at all."""
    held = object()
    raw = {"opts": {"k": [1, {"deep": 2}]}, "held": held}
    before = json.dumps(raw["opts"])

    got = parse(raw)
    got["opts"]["k"][1].pop("deep")
    got["opts"]["k"].append(3)
    got.pop("held")

    assert before == json.dumps(raw["opts"])
    assert held is parse(raw)["held"]


def test_any_mapping_will_do_and_its_keys_become_text() -> None:
    assert {"1": "a"} == parse(types.MappingProxyType({1: "a"}))


# In the third, an escaped colon stands in for the one that went with the lost key.
@pytest.mark.parametrize(
    "raw", ['{"a": 1, "a": 2}', '{"x": {"b": 1, "b": 1}}', '{"a": 1, "a": "\\u003a"}', '{"a": 1, "a": "\\u003A"}']
)
def test_a_key_that_is_there_twice_is_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError, match="is there twice"):
        parse(raw)


def test_one_of_very_many_keys_is_found_at_once() -> None:
    """Looked for anew for each key, it would take minutes, and the limit of this test."""
    keys = ", ".join(f'"k{number}": 1' for number in range(150_000))

    with pytest.raises(ArgumentsError, match="'k149999' is there twice"):
        parse(f'{{{keys}, "k149999": 2}}')


@pytest.mark.parametrize("raw", ['{"x": 1e400}', '{"x": [-1e999]}'])
def test_a_number_beyond_every_float_is_refused(raw: str) -> None:
    with pytest.raises(ArgumentsError, match="too large"):
        parse(raw)


def test_a_text_beyond_the_limit_is_refused_at_once() -> None:
    with pytest.raises(ArgumentsError, match="too long"):
        parse(" " * 10 + "x" * (64 * 1024 * 1024))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_without_json_are_refused_in_a_dict_too(value: object) -> None:
    with pytest.raises(ArgumentsError, match="no JSON numbers"):
        parse({"x": value})


def test_plain_data_has_its_text_and_foreign_objects_have_none() -> None:
    assert '{"a": [1, null]}' == _arguments.parse({"a": [1, None]}).text
    assert None is _arguments.parse({"a": object()}).text
    assert None is _arguments.parse({"a": {1: 2}}).text
