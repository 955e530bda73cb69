"""Reading the file of calls."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from toolexec._cli._calls import read_calls
from toolexec._cli._refusal import Refusal


@pytest.mark.parametrize("content", [b'[{"name": "\xc3\x9f"}]', b'\xef\xbb\xbf[{"name": "\xc3\x9f"}]'])
def test_it_is_utf_8_with_or_without_a_mark(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calls.json"
    path.write_bytes(content)

    assert [{"name": "ß"}] == read_calls(str(path))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[]")))

    assert [] == read_calls("-")


def test_there_may_be_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(Refusal) as caught:
        read_calls("-")

    assert "there is no standard input to read the calls from" == caught.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[1,", "is no JSON: Expecting value, line 1 column 4"),
        (b"", "is no JSON: Expecting value, line 1 column 1"),
        (b"\xff", "is no JSON: byte 0 is not UTF-8"),
        (b"[" * 200_000, "is nested too deeply to be read"),
    ],
    ids=["cut off", "empty", "no text", "too deep"],
)
def test_what_is_no_json_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "calls.json"
    path.write_bytes(content)

    with pytest.raises(Refusal) as caught:
        read_calls(str(path))

    assert f"{path} {said}" == caught.value.message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        read_calls(str(tmp_path))

    assert f"cannot read {tmp_path}: Is a directory" == caught.value.message
