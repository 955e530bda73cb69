"""The single exceptions in one that a nursery or a task group may have wrapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(exc: BaseException) -> Iterator[BaseException]:
    """``exc`` itself, or what is in it where it is a group; runs none of the exceptions' own code."""
    if not issubclass(type(exc), BaseExceptionGroup):
        yield exc
        return
    # Neither ``exc.exceptions`` nor ``exc.split``: a subclass may define either.
    exceptions: Any = vars(BaseExceptionGroup)["exceptions"]
    for inner in exceptions.__get__(exc):
        yield from leaves(inner)
