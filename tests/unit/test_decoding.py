"""Server-sent events and lines of JSON, however the pieces are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

import toolexec as tx
from toolexec._decoding import Decoder

EVENTS = [{"a": "ü€😀"}, {"b": '{"c": [1, 2]}'}, {"d": {}}, {"e": "data: x\r\n"}]


def read(pieces: Iterable[str | bytes]) -> list[Any]:
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


def sse(newline: str = "\n", *, head: str = "") -> str:
    lines = [line for event in EVENTS for line in (f"{head}data: {json.dumps(event, ensure_ascii=False)}", "")]
    return newline.join([*lines, "data: [DONE]", "", ""])


BODIES = {
    "sse": sse(),
    "crlf": sse("\r\n"),
    "cr": sse("\r"),
    "named": sse(head="event: delta\nid: 1\nretry: 10\n"),
    "comments": sse(head=": a comment\n\n:\n"),
    "no space": sse().replace("data: {", "data:{"),
    "bom": f"\ufeff{sse()}",
    "split": "".join(f"data: {json.dumps(event)}\n\n".replace(": {", ": {\ndata:") for event in EVENTS),
    "lines": "".join(f"{json.dumps(event)}\n" for event in EVENTS),
    "blank lines": "".join(f"\n{json.dumps(event)}\r\n" for event in EVENTS),
    "no last end": "\n".join(json.dumps(event) for event in EVENTS),
    "no last blank line": sse().removesuffix("\n\ndata: [DONE]\n\n"),
}


@pytest.mark.parametrize("form", BODIES)
def test_every_cut_gives_the_same_events(form: str) -> None:
    text = BODIES[form]
    body = text.encode()

    assert EVENTS == read([text])
    assert EVENTS == read(body[n : n + 1] for n in range(len(body)))
    assert EVENTS == read(text[n : n + 1] for n in range(len(text)))
    for cut in range(len(body) + 1):
        assert EVENTS == read([body[:cut], body[cut:]])
    for cut in range(len(text) + 1):
        assert EVENTS == read([text[:cut], "", text[cut:]])


@pytest.mark.parametrize("form", sorted(BODIES.keys() - {"split"}))
def test_lines_without_their_ends_are_lines(form: str) -> None:
    lines = BODIES[form].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")

    assert EVENTS == read(lines)
    assert EVENTS == read(line.encode() for line in lines)
    assert EVENTS == read(line for line in lines if line)  # as who filters blank ones gives them


@pytest.mark.parametrize("form", BODIES)
def test_an_early_end_gives_no_half_event(form: str) -> None:
    body = BODIES[form].encode()
    for end in range(len(body)):
        events = read([body[:end]])
        assert EVENTS[: len(events)] == events


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (b"data: \xff\n\n", "no UTF-8"),
        ("data: {'a': 1}\n\n", "holds no JSON"),
        ("<html>\n", "holds no JSON"),
        ('[{"candidates": []}]\n', "one JSON object a line"),
        ("data: 3\n\n", "one JSON object a line"),
        ("data: " + "[" * 200_000 + "\n\n", "holds no JSON"),
    ],
)
def test_what_is_neither_is_shown(piece: str | bytes, said: str) -> None:
    with pytest.raises(tx.FormatError, match=said) as caught:
        Decoder().feed(piece)
    assert len(str(caught.value)) < 700


def test_a_long_line_in_small_pieces_takes_its_length_once() -> None:
    event = {"a": "{}" * 500_000}
    text = f"data: {json.dumps(event)}\n\n"

    assert [event] == read(text[n : n + 7] for n in range(0, len(text), 7))
