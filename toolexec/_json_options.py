"""Json: how a tool's arguments are decoded, and how its results become text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Json:
    """How one tool's arguments are read and its results are written; ``json=Json(...)`` of a tool.

    Attributes:
        ignore_unknown: Whether arguments that the tool does not have are dropped; else they are refused.
        coerce: Whether a value of the wrong kind is converted where nothing is lost by it: ``"3"`` or
            ``3.0`` for an integer, JSON text for a list.  The page on declaring tools has the table.
        encode: Makes of a result what is rendered in its place: a str as it is, all else as JSON.  It
            runs in the host whenever the result is rendered; ``Return.value`` stays what the tool returned.
    """

    ignore_unknown: bool = False
    coerce: bool = True
    encode: Callable[[Any], Any] | None = None


AS_WRITTEN = Json()
