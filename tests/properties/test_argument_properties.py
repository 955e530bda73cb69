"""Whatever a model sends, a call has its Return, and a body only what it asked for."""

from __future__ import annotations

import json
import re
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its stubs are a package of their own
from pydantic import TypeAdapter

import toolexec as tx
from properties.signatures import FUNCTIONS, STRICT, TABLE, TOOLS, VALUES, names_of

# The same examples in every run: a new one that fails is for who looks for it (`nox -s fuzz`), and not for
# who changes something else.
settings = hypothesis.settings(
    derandomize=True, deadline=None, database=None, max_examples=6, suppress_health_check=list(hypothesis.HealthCheck)
)
signature = pytest.mark.parametrize(
    "number", range(len(TABLE)), ids=lambda n: f"{n}-{FUNCTIONS[n].__annotations__}"[:60]
)

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
JSON = st.recursive(
    st.sampled_from(VALUES) | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def near(number: int) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the parameters' names, and values that fit one or another."""
    return st.dictionaries(st.sampled_from(names_of(number)), JSON, max_size=4)


def outside(number: int, value: dict[str, Any]) -> list[str]:
    """The parameters whose value in the body is not of the type they were annotated with."""
    wrong = []
    for name, annotation in FUNCTIONS[number].__annotations__.items():
        kind = dict[str, annotation] if f"**{name}" in TABLE[number] else annotation  # type: ignore[valid-type]  # made at run time
        try:
            TypeAdapter(kind).validate_python(value[name], strict=True)
        except ValueError as exc:
            wrong.append(f"{name}: {value[name]!r} ({exc})")
    return wrong


def answered(number: int, sent: object) -> tx.Return:
    ret = tx.run(TOOLS[number], sent, "sequential")
    assert ret.status in ("ok", "bad_arguments"), (sent, ret)
    if ret.ok:
        assert [] == outside(number, ret.value), sent
    else:
        assert 0 == ret.attempts
        assert 0 < len(tx.render(ret)) < 10_000
    return ret


def fitting(number: int) -> dict[str, Any]:
    """Values for the required parameters, the first that the schema and pydantic accept."""
    schema = TOOLS[number].params
    found: dict[str, Any] = {}
    for name in schema.get("required", []):
        part = Draft202012Validator({**schema["properties"][name], "$defs": schema.get("$defs", {})})
        adapter = TypeAdapter(FUNCTIONS[number].__annotations__[name])
        found[name] = next(value for value in VALUES if part.is_valid(value) and is_valid(adapter, value))
    return found


def is_valid(adapter: TypeAdapter[Any], value: object) -> bool:
    try:
        adapter.validate_json(json.dumps(value), strict=True)
    except ValueError:
        return False
    return True


def mentions_null(value: object) -> bool:
    """Somewhere in it null stands, which may mean that something is left out."""
    return "null" in json.dumps(value)


# Where validation takes what the schema does not offer: a set from a list with an item twice, a NamedTuple from
# an object.
LENIENT = {number for number, row in enumerate(TABLE) if re.search(r"set\[|Pair", str(row))}


@signature
def test_every_value_in_every_place(number: int) -> None:
    """Schema and validation say the same of each of them, apart from what is converted."""
    schema = dict(TOOLS[number].params)
    validator = Draft202012Validator(schema)
    fits = fitting(number)
    assert answered(number, fits).ok, fits
    for name in names_of(number):
        for value in VALUES:
            sent = {**fits, name: value}
            ret = answered(number, sent)
            if not agreed(number, sent):
                continue
            legal = validator.is_valid(sent)
            if legal:
                assert ret.ok, (sent, ret.value)
            elif not mentions_null(value) and number not in LENIENT:
                assert not tx.run(STRICT[number], sent, "sequential").ok, sent


@signature
def test_objects_that_nearly_fit(number: int) -> None:
    @settings
    @given(near(number))
    def holds(sent: dict[str, Any]) -> None:
        before = json.dumps(sent)
        by_dict, by_text = answered(number, sent), answered(number, before)

        assert before == json.dumps(sent)
        assert (by_dict.status, by_dict.value if by_dict.ok else None) == (
            by_text.status,
            by_text.value if by_text.ok else None,
        )

    holds()


@signature
def test_any_json_and_any_text(number: int) -> None:
    texts = near(number).map(json.dumps)

    @settings
    @given(JSON.map(json.dumps) | JSON | st.text(max_size=20) | st.binary(max_size=20) | texts.flatmap(cut))
    def holds(sent: Any) -> None:
        answered(number, sent)

    holds()


def cut(text: str) -> st.SearchStrategy[str]:
    """A text with its end cut off, or with something between."""
    return st.integers(0, len(text)).map(lambda at: text[:at]) | st.tuples(
        st.integers(0, len(text)), st.sampled_from(['"', ",", "}", "[", "NaN", "1e999", "\\", "\x00"])
    ).map(lambda made: text[: made[0]] + made[1] + text[made[0] :])


# What a text has to look like beyond being one is pydantic's to say; jsonschema looks at formats only where
# other packages are installed.  And beyond 2**53 a whole float is converted to no integer.
FORMATTED = ("format", "pattern")
# A text that is a number; its schema has no word for that.
DECIMAL = next(number for number, row in enumerate(TABLE) if "Decimal" in str(row))


def agreed(number: int, sent: dict[str, Any]) -> bool:
    """Whether the two can be compared for what was sent."""
    text = json.dumps(TOOLS[number].params)
    return number != DECIMAL and not any(f'"{word}"' in text for word in FORMATTED) and "e+" not in json.dumps(sent)


@signature
def test_what_the_schema_accepts_the_validation_accepts(number: int) -> None:
    validator = Draft202012Validator(dict(TOOLS[number].params))

    @settings
    @given(near(number))
    def holds(sent: dict[str, Any]) -> None:
        if agreed(number, sent) and validator.is_valid(sent):
            ret = answered(number, sent)
            assert ret.ok, (sent, ret.value["message"])

    holds()


@signature
def test_what_is_accepted_without_conversions_the_schema_accepts(number: int) -> None:
    schema = dict(TOOLS[number].params)
    validator = Draft202012Validator(schema)

    @settings
    @given(near(number))
    def holds(sent: dict[str, Any]) -> None:
        told = {name: value for name, value in sent.items() if value is not None}  # null may mean "left out"
        if agreed(number, told) and number not in LENIENT and tx.run(STRICT[number], told, "sequential").ok:
            errors = [error.message for error in validator.iter_errors(told) if "None" not in error.message]
            assert [] == errors, told

    holds()


def test_there_are_fifty() -> None:
    assert 50 <= len(TABLE)
