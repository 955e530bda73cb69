"""Rendering for a model: any value becomes text that any request body can hold."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import itertools
import json
import pathlib
import uuid
from typing import Any

import pydantic
import pytest

import toolexec as tx
from toolexec._json import encode, to_plain
from toolexec._return import error_form


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Model(pydantic.BaseModel):
    name: str
    tags: set[str]


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def render(value: Any, **fields: Any) -> str:
    return tx.render(tx.Return(id="c", name="t", value=value, **fields))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), ("", '""'), ("  \n", '"  \\n"'), ([], "[]"), ({}, "{}"), (False, "false"), (0, "0")],
    ids=repr,
)
def test_A9_an_empty_result_is_told_from_none_and_never_renders_empty(value: object, text: str) -> None:
    assert text == render(value)


@pytest.mark.parametrize("value", ["plain", '{"a": 1}', " leading", "12", "true", '"quoted"', "ünï", "line\nbreak"])
def test_a_text_goes_unquoted_and_unchanged(value: str) -> None:
    assert value == render(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC), "2026-05-01T12:00:00Z"),
        (dt.date(2026, 5, 1), "2026-05-01"),
        (b"caf\xc3\xa9", "caf\u00e9"),
        (b"\xff\xfe", "__4="),
        ({1}, [1]),
        ((1, "b"), [1, "b"]),
        (decimal.Decimal("1.10"), "1.10"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Point(1, dt.date(2026, 5, 1)), {"x": 1, "when": "2026-05-01"}),
        (Model(name="m", tags={"a"}), {"name": "m", "tags": ["a"]}),
        (pathlib.Path("/tmp/x"), "/tmp/x"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ({"a": [float("nan")]}, {"a": ["NaN"]}),
        (
            {"deep": {"when": dt.date(2026, 5, 1), "raw": b"\xff"}},
            {"deep": {"when": "2026-05-01", "raw": "_w=="}},
        ),
        (2**70, 2**70),
    ],
    ids=lambda value: type(value).__name__,
)
def test_A10_a_rich_value_has_its_documented_json(value: object, shown: object) -> None:
    """Never the bare token NaN, which no JSON parser but Python's accepts."""

    def refuse(token: str) -> None:
        raise AssertionError(f"bare {token}")

    assert shown == json.loads(render(value), parse_constant=refuse)


def self_containing() -> list[object]:
    ring: list[object] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (self_containing(), "list"),
        (object(), "object"),
        (Unshowable(), "Unshowable"),
        ({"in": Unshowable()}, "dict"),
        (itertools.count(), "count"),
        ((n for n in (1, 2)), "generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_A10_what_has_no_json_becomes_an_error_that_names_the_type(value: object, type_name: str) -> None:
    shown = json.loads(render(value))

    assert True is shown["error"]
    assert "UnsendableError" == shown["type"]
    assert type_name in shown["message"]


def test_an_iterator_is_not_used_up_by_rendering() -> None:
    """Read once, it would be empty when the messages are asked for again; and it may have no end."""
    parts = iter([1, 2])

    assert render(parts) == render(parts)
    assert [1, 2] == list(parts)


@pytest.mark.parametrize("value", ["bad \ud800 end", {"k": "\udfff"}, ["\ud83d"]], ids=["text", "dict", "list"])
def test_a_lone_surrogate_can_be_sent(value: object) -> None:
    """Legal in a str, in no request body: encoding it is what an HTTP client does next."""
    assert render(value).encode()


def test_a_surrogate_keeps_its_neighbours() -> None:
    assert {"k": "\udfff", "ü": "é"} == json.loads(encode({"k": "\udfff", "ü": "é"}))


def test_A14_five_megabytes_of_long_characters_come_through_whole() -> None:
    text = "\U0001f4a1" * (5 * 1024 * 1024 // 4)

    assert text == render(text)
    assert [text] == json.loads(render([text]))


def test_the_backtrace_is_for_the_model_only_when_asked() -> None:
    form = error_form(ValueError("x"))
    ret = tx.Return(id="c", name="t", value=form, status="raised")

    assert {"error", "type", "message"} == set(json.loads(tx.render(ret)))
    assert form == json.loads(tx.render(ret, backtrace=True))


def test_a_tools_own_key_named_backtrace_stays() -> None:
    assert {"backtrace": [1]} == json.loads(render({"backtrace": [1]}))


def test_to_plain_is_what_a_reader_of_the_text_gets() -> None:
    assert {"a": [1, "2026-05-01"]} == to_plain({"a": (1, dt.date(2026, 5, 1))})
