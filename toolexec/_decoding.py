"""Decoding: from the pieces of an HTTP body to the events in it."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from toolexec._arguments import excerpt
from toolexec._errors import FormatError

_LINE_END = re.compile(r"\r\n|\r|\n")
# What servers send last that is no JSON; OpenAI's began it.
_DONE = "[DONE]"
_FIELDS = ("data:", "event:", "id:", "retry:", ":")


class Decoder:
    """Reads server-sent events, or lines of JSON, wherever the pieces are cut.

    The rules of server-sent events are those of
    https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation, but for the
    end: an event that lacks only its last blank line counts if it is whole JSON, since many servers end so.
    """

    __slots__ = ("_are_lines", "_bytes", "_data", "_rest", "_skip_newline")

    def __init__(self) -> None:
        self._bytes = codecs.getincrementaldecoder("utf-8-sig")()
        self._rest: list[str] = []  # of a line whose end has not come; joined once, or long lines would take for ever
        self._skip_newline = False  # the piece before ended in the first half of \r\n
        self._data: list[str] = []  # lines of the event under way
        self._are_lines: bool | None = None  # are the pieces lines without their ends?  The second one shows it

    def feed(self, piece: str | bytes | bytearray) -> list[Any]:
        """The events that are whole by this piece of the body, or this line of it.

        Raises:
            FormatError: A line is neither; the text shows it.
        """
        try:
            text = piece if isinstance(piece, str) else self._bytes.decode(piece)
        except UnicodeDecodeError as exc:
            raise FormatError(f"a stream that is no UTF-8 ({exc.reason}): {excerpt(repr(piece))}") from None
        if self._are_lines:
            text = f"{text}\n"
        elif self._are_lines is None and self._rest and text:
            end = self._end_before(text)
            self._are_lines = bool(end)
            if end:
                text = f"{end}{text}\n"
        if self._skip_newline and text:
            text = text.removeprefix("\n")
            self._skip_newline = False
        *lines, rest = _LINE_END.split(text)
        events: list[Any] = []
        if lines:
            self._are_lines = bool(self._are_lines)
            self._skip_newline = text.endswith("\r")
            lines[0] = "".join((*self._rest, lines[0]))
            self._rest.clear()
        for line in lines:
            events += self._take(line)
        if rest:
            self._rest.append(rest)
        return events

    def _end_before(self, text: str) -> str:
        """What is missing before the second piece if they are lines, as many clients' ``iter_lines`` gives them.

        Then what is there can only be a line: a whole JSON object takes nothing more, and no field's name stands
        in the value of a field that is not data.
        """
        line = "".join(self._rest)
        if not text.startswith(("{", *_FIELDS)):
            return ""
        if line.startswith(_FIELDS[1:]):
            return "\n" if text.startswith(_FIELDS) else ""
        try:
            json.loads(line.removeprefix("data:"))
        except (ValueError, RecursionError):
            return ""
        return "\n\n"  # the event is over, and a blank line, which is an empty piece, has left no trace

    def _data_is_whole(self) -> bool:
        try:
            return isinstance(json.loads("\n".join(self._data)), dict)
        except (ValueError, RecursionError):
            return False

    def finish(self) -> list[Any]:
        """The events that only their end was missing of; half a one is none."""
        last = "".join(self._rest)
        self._rest.clear()
        try:
            return [*self._take(last), *self._take("")]
        except FormatError:
            return []

    def _take(self, line: str) -> list[Any]:
        if not line:
            data = "\n".join(self._data)
            self._data.clear()
            return _parsed(data)
        field, colon, value = line.removeprefix("\ufeff").partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
            # Among lines the blank ones may have been left out, as many readers do: whole JSON is an event then.
            return self._take("") if self._are_lines and self._data_is_whole() else []
        if (colon and not field) or field in ("event", "id", "retry"):
            return []
        return _parsed(line)


def _parsed(text: str) -> list[Any]:
    text = text.strip()
    if not text or text == _DONE:
        return []
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise FormatError(f"a stream that holds no JSON ({exc}): {excerpt(repr(text))}") from None
    if not isinstance(event, dict):
        raise FormatError(
            f"a stream of {type(event).__name__} {excerpt(repr(text))}: it has to be of server-sent events, or one "
            "JSON object a line"
        )
    return [event]
