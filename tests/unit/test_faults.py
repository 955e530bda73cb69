"""Parameters: how what is wrong with a call is told."""

from __future__ import annotations

import time
import traceback
from typing import Annotated, Any

import pydantic
import pytest
import typing_extensions
from pydantic import Field

import toolexec as tx
from bound_arguments import Box, User, bind, parameters_of, refusal


class Spot(typing_extensions.TypedDict):
    lat: float
    box: typing_extensions.NotRequired[Box]


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


def test_what_was_converted_and_still_does_not_fit_is_told_as_it_was_sent() -> None:
    def tool(user: User) -> None: ...

    text = refusal(tool, {"user": '{"age": 3}'})

    assert 'not the text "{' in text
    assert "user.name" not in text


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


def test_telling_ten_thousand_faults_of_what_was_converted_takes_linear_time() -> None:
    def tool(a: list[Annotated[int, Field(ge=100_000)]]) -> None: ...

    begun = time.process_time()
    assert "and 9980 more" in refusal(tool, {"a": [str(n) for n in range(10_000)]})
    assert time.process_time() - begun < 1  # it was 3 s


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
