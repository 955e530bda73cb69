"""Rendering: how much of a Return a model gets to read."""

from __future__ import annotations

import inspect
import logging
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from toolexec._errors import DeclarationError, ToolError
from toolexec._json import class_name, is_dict
from toolexec._json_options import Json
from toolexec._parts import File, Part, Text, parts_of
from toolexec._return import Return, render
from toolexec._runner import is_async

_log = logging.getLogger("toolexec")

Reveal = Literal["message", "type"]

# Less has no room for the words that say how much was cut.
_LEAST_BYTES = 100

_JOINER = "\u200d"


class Rendering:
    """What a Context lets models read of Returns."""

    __slots__ = ("_max_bytes", "_redact", "_reveal")

    def __init__(
        self, reveal: Reveal = "message", redact: Callable[[str], str] | None = None, max_bytes: int | None = None
    ) -> None:
        if reveal not in get_args(Reveal):
            raise DeclarationError(f"reveal is {reveal!r}; it takes 'message' or 'type'")
        if redact is not None and not callable(redact):
            raise DeclarationError(f"redact is {redact!r}; it takes a function from text to text")
        if redact is not None and is_async(redact):
            raise DeclarationError(
                f"redact is {redact!r}, which is async; it takes a function that gives the text at once"
            )
        if max_bytes is not None and (isinstance(max_bytes, bool) or not isinstance(max_bytes, int)):
            raise DeclarationError(f"max_result_bytes is {max_bytes!r}; it takes a whole number of bytes")
        if max_bytes is not None and max_bytes < _LEAST_BYTES:
            raise DeclarationError(f"max_result_bytes is {max_bytes}; it takes {_LEAST_BYTES} or more")
        self._reveal = reveal
        self._redact = redact
        self._max_bytes = max_bytes

    @property
    def tells_all(self) -> bool:
        """Whether nothing is hidden, taken out or cut."""
        return self._reveal == "message" and self._redact is None and self._max_bytes is None

    def shown(self, ret: Return, json: Json, kept: str | None = None) -> list[Part]:
        """What is sent of a Return; never empty.

        Args:
            ret: The Return.
            json: The tool's own options.
            kept: Its text, where that is known already.
        """
        parts = parts_of(ret.value) if ret.ok else None
        if parts is None or not any(str(part).strip() for part in parts):
            parts = [Text(self.text(ret, json) if kept is None else kept)]
        return self._cut(parts)

    def text(self, ret: Return, json: Json) -> str:
        """The same in words, whole."""
        if self._reveal == "type" and ret.status == "raised" and not isinstance(ret.exception, ToolError):
            ret = replace(ret, value={**_form(ret), "message": "the tool failed"})
        text = render(ret, json=json)
        return text if ret.ok else self.redacted(text)

    def redacted(self, text: str) -> str:
        """Words of an error as they may be told; never empty."""
        if self._redact is None:
            return text
        try:
            redacted: object = self._redact(text)
        except Exception:  # noqa: BLE001 - the user's code; what it should have taken out must not be told
            _log.exception("toolexec: redact raised; the error that it was given is withheld")
            return "(this error is withheld)"
        if not isinstance(redacted, str):
            if inspect.iscoroutine(redacted):
                redacted.close()
            _log.error("toolexec: redact gave a %s; the error that it was given is withheld", class_name(redacted))
            return "(this error is withheld)"
        return redacted if redacted.strip() else "(this error is withheld)"

    def _cut(self, parts: Sequence[Part]) -> list[Part]:
        """The parts of a result: its texts together no larger than they may be, its pictures and files likewise."""
        limit = self._max_bytes
        if limit is not None:
            parts = _fitting(parts, limit)
        whole = sum(len(_utf8(part.text)) for part in parts if isinstance(part, Text))
        if limit is None or whole <= limit:
            return list(parts)
        # The words take less than _LEAST_BYTES, for any size there is.
        note = f"\n[cut: the result has {whole} bytes, of which the last {{}} are left out]"
        left = limit - len(note.format(whole))
        shown = 0
        kept: list[Part] = []
        last = max(place for place, part in enumerate(parts) if isinstance(part, Text))
        for place, part in enumerate(parts):
            if not isinstance(part, Text):
                kept.append(part)
                continue
            text = cut_text(part.text, left - shown)
            shown += len(_utf8(text))
            if place == last:
                text += note.format(whole - shown)
            if text:
                kept.append(Text(text))
            if len(text) < len(part.text):
                left = shown  # what comes after the cut is not shown, though it might be short
        return kept


def _fitting(parts: Sequence[Part], limit: int) -> list[Part]:
    """The same, with words in place of the pictures and files for which there is no room; each in its turn."""
    left = limit
    fitting: list[Part] = []
    for part in parts:
        size = 0 if isinstance(part, Text) else len(part.data)
        if size > left and not isinstance(part, Text):
            named = f"the file {part.name!r}" if isinstance(part, File) else "an image"
            fitting.append(Text(f"[cut: {named}, {part.media_type}, {size} bytes, is left out]"))
        else:
            left -= size
            fitting.append(part)
    return fitting


def cut_text(text: str, limit_bytes: int) -> str:
    """As much of a text's beginning as fits; no character is split, and no accent, mark or joined picture torn off."""
    kept = _utf8(text)[: max(0, limit_bytes)].decode("utf-8", "ignore")
    end = len(kept)
    while 0 < end < len(text) and (_continues(text[end], text[end - 1]) or _is_in_flag(text, end)):
        end -= 1
    return text[:end]


def _continues(char: str, before: str) -> bool:
    """Whether a character belongs to the one before it: an accent, a mark of how it looks, a joined picture."""
    marks = unicodedata.category(char) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= char <= "\U0001f3ff"  # colours of skin
    return marks or unicodedata.combining(char) != 0 or _JOINER in (char, before)


def _is_in_flag(text: str, place: int) -> bool:
    """Whether a flag, which two letters of its own kind make, would be cut in two there."""
    first = place
    while first and "\U0001f1e6" <= text[first - 1] <= "\U0001f1ff":
        first -= 1
    return "\U0001f1e6" <= text[place] <= "\U0001f1ff" and (place - first) % 2 == 1


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _form(ret: Return) -> dict[str, Any]:
    value: Any = ret.value
    return value if is_dict(value) else {}
