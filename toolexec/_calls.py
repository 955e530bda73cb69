"""The calls that a response asks for, whatever its format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from toolexec._arguments import excerpt
from toolexec._errors import FormatError
from toolexec._json import is_object, legal_text


class CallRecord(NamedTuple):
    """One call as a response has it.

    Attributes:
        id: As the model sent it, or None.
        name: The tool's name, possibly empty or made up.
        arguments: A dict, JSON text or None.
    """

    id: str | None
    name: str
    arguments: Any

    @classmethod
    def of(cls, id: object, name: object, arguments: object) -> CallRecord:
        """From what stands in a response, whatever that is."""
        return cls(None if id is None else str(id), name if isinstance(name, str) else "", arguments)


# What CallRecord(...) comes to; that itself takes as long as all else that is done to read a call.
_record: Any = vars(tuple)["__new__"]


def call_dict(entry: object, position: int) -> CallRecord:
    """One call of a plain list: ``{"id", "name", "arguments"}``, or as OpenAI nests it.

    Raises:
        FormatError: It names no tool.
    """
    if not is_object(entry):
        raise FormatError(f"call {position} is a {type(entry).__name__}: a call is a dict with name and arguments")
    given = entry
    nested = entry.get("function")
    if nested is not None and is_object(nested) and isinstance(nested.get("name"), str) and nested["name"]:
        given = nested
    name, own = given.get("name"), entry.get("id")
    if not isinstance(name, str):
        raise FormatError(
            f"call {position} has no name: {excerpt(repr(entry))}; a call is {{'name': ..., 'arguments': ...}}"
        )
    made: CallRecord = _record(CallRecord, (own if own is None else str(own), name, given.get("arguments")))
    return made


def unique_ids(given: Iterable[str | None], takes: re.Pattern[str] | None, *, needed: bool) -> list[str | None]:
    """The ids to render: a call's own, unless another before it has it already or the provider does not take it.

    Args:
        given: As the model sent them.
        takes: What the provider takes as an id; None takes all.
        needed: Whether a call without an id gets one.
    """
    seen: set[str] = set()
    unique: list[str | None] = []
    for own in given:
        if not own and not needed:
            unique.append(None)
            continue
        text = legal_text(own or "")
        fits = text and text not in seen and (takes is None or takes.fullmatch(text) is not None)
        wanted = text if fits else f"call_{os.urandom(12).hex()}"
        seen.add(wanted)
        unique.append(wanted)
    return unique
