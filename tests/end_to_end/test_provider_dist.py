"""A provider of another distribution is found, recognised and used like those that come with the library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx

DIST = Path(__file__).parents[1] / "provider_dist"
RESPONSE = {
    "completion": 'I add them.\n<call name="add" id="1">{"a": 1, "b": 2}</call>\n'
    '<call name="echo" id="1">{"text": "1 &lt; 2 &amp;&amp; 3"}</call>\nThat is all.'
}


@tx.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tx.tool
def echo(text: str) -> list[Any]:
    """Say a text again, with a picture of it."""
    return [text, tx.Image(b"123")]


@pytest.fixture(autouse=True)
def _installed() -> None:
    try:
        tx.Context(provider="xml")
    except tx.FormatError:
        if os.environ.get("CI", "").lower() in ("", "0", "false"):
            pytest.skip("tests/provider_dist is not installed: python -m pip install ./tests/provider_dist")
        raise


def test_it_is_found_by_name() -> None:
    (declared,) = tx.Context([add]).declarations("xml")

    assert {"name": "add", "description": "Add two numbers.", "arguments": dict(add.params)} == declared


def test_a_whole_turn_with_nobody_naming_it() -> None:
    ctx = tx.Context([add, echo])
    calls = ctx.receive(RESPONSE)
    returns = ctx.wait()
    said, answered = ctx.turn()

    assert ["add", "echo"] == [call.name for call in calls]
    assert [("1", "ok"), ("1", "ok")] == [(ret.id, ret.status) for ret in returns]
    assert 3 == returns[0].value
    second = said["content"].split('id="')[2].split('"')[0]
    assert second not in ("", "1"), "the id that is there twice was replaced"
    head, between, tail = RESPONSE["completion"].partition('<call name="echo" id="1">')
    assert {
        "role": "assistant",
        "content": head + between.replace('"1"', f'"{second}"') + tail,
    } == said
    assert {
        "role": "user",
        "content": '<result id="1">3</result>\n'
        f'<result id="{second}">1 &lt; 2 &amp;&amp; 3\n'
        "(an image, image/png, 3 bytes, which cannot be shown here)</result>",
    } == answered
    assert [answered] == ctx.messages()


def test_what_went_wrong_is_marked() -> None:
    ctx = tx.Context([add], provider="xml")
    ctx.receive({"completion": '<call name="add" id="7">{"a": </call>'})
    (ret,) = ctx.wait()
    said, answered = ctx.turn()

    assert "bad_arguments" == ret.status
    assert {"role": "assistant", "content": '<call name="add" id="7">{"a":</call>'} == said
    assert answered["content"].startswith('<result id="7" error="true">')


def test_what_another_provider_gave_is_said_in_its_words() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    message = {"role": "assistant", "content": "I add.", "tool_calls": [call]}
    ctx = tx.Context([add])
    ctx.receive({"choices": [{"message": message}]})
    ctx.wait()

    assert [
        {"role": "assistant", "content": 'I add.\n<call name="add" id="c1">{"a": 1}</call>'},
        {"role": "user", "content": '<result id="c1">2</result>'},
    ] == ctx.turn("xml")


def test_it_takes_few_lines() -> None:
    sources = sorted(DIST.rglob("*.py"))

    assert ["__init__.py"] == [path.name for path in sources if "build" not in path.parts]
    assert 120 > sum(len(path.read_text("utf-8").splitlines()) for path in [*sources, DIST / "pyproject.toml"])
