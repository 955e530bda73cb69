"""A tool over types that need no pydantic: its module loads in a subinterpreter."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from pathlib import Path

import toolexec as tx


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Box:
    width: int


@tx.tool
def kinds(
    box: Box, boxes: list[Box], colour: Colour, when: dt.datetime, path: Path, numbers: set[int], pair: tuple[int, str]
) -> list[str]:
    """Says what its arguments are."""
    assert all(type(item) is Box for item in boxes)
    return [type(value).__name__ for value in (box, boxes, colour, when, path, numbers, pair)]
