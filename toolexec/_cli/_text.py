"""Text for a terminal out of what models and tools wrote."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from toolexec._return import Return, render

STYLES = {"ok": "green", "cancelled": "yellow", "denied": "yellow", "budget": "yellow", "deferred": "yellow"}

# More than any terminal is wide; the table cuts it to its own width.
_MOST_CHARACTERS = 500


def one_line(text: str, style: str = "") -> Text:
    """``text`` on one line, with nothing in it that a terminal would obey."""
    line = " ".join(text[: 2 * _MOST_CHARACTERS].split())[:_MOST_CHARACTERS]
    return Text("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line), style)


def status(ret: Return) -> Text:
    """The status, green, yellow or red."""
    return Text(ret.status, STYLES.get(ret.status, "red"))


def seconds(duration_s: float) -> Text:
    """A duration as people read it."""
    if duration_s < 0.0005:
        return Text("<1 ms")
    if duration_s < 0.9995:
        return Text(f"{duration_s * 1000:.0f} ms")
    return Text(f"{duration_s:.2f} s" if duration_s < 10 else f"{duration_s:.0f} s")


def duration(ret: Return) -> Text:
    """How long the body took, if it ever began."""
    return seconds(ret.duration_s) if ret.attempts else Text("-")


def answer(ret: Return) -> Text:
    """What the call came to: the value's text, cut where it is narrow, or in full why there is none."""
    if ret.ok:
        value = one_line(render(ret))
        value.no_wrap, value.overflow = True, "ellipsis"
        return value
    if ret.error:
        form: dict[str, Any] = ret.value  # the in-band error form
        return one_line(f"{form['type']}: {form['message']}")
    return one_line(ret.reason or render(ret))
