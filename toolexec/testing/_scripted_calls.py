"""What a test has a model say, and the ids that are made up for its calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolexec import FormatError

# ("add", {"a": 1}), or with an id of one's own; None as the id is a call that came without one.
ScriptedCall: TypeAlias = tuple[str, Mapping[str, Any]] | tuple[str, Mapping[str, Any], str | None]

# What the ids that an API makes up begin with, for those whose API gives every call one.
_BEGINS = {"openai": "call", "openai-responses": "call", "anthropic": "toolu", "bedrock": "tooluse"}


class Asked(NamedTuple):
    """One call, with the id that it is sent under.

    Attributes:
        name: The tool's.
        arguments: As an object.
        id: None where the API sends none.
    """

    name: str
    arguments: Mapping[str, Any]
    id: str | None = None


class Spoken(NamedTuple):
    """What a model says.

    Attributes:
        calls: What it asks for.
        text: What it says beside that, or None.
        thought: What it thinks first, or None.
    """

    calls: Sequence[Asked]
    text: str | None = None
    thought: str | None = None


def asked(provider: str, calls: Iterable[ScriptedCall], *, first: int = 1) -> list[Asked]:
    """The calls with ids, where the provider's API gives them.

    Args:
        provider: The name.
        calls: As the test has written them.
        first: The number that made up ids begin with.

    Raises:
        TypeError: One is no call; the text shows how to write it.
    """
    begins = _BEGINS.get(provider)
    made: list[Asked] = []
    for number, call in enumerate(calls, first):
        name, arguments, *own = _checked(call)
        generated = None if begins is None else f"{begins}_{number}"
        made.append(Asked(name, arguments, own[0] if own else generated))
    return made


def _checked(call: Any) -> Any:
    parts: list[Any] = [*call] if isinstance(call, tuple) else []
    if (
        len(parts) in (2, 3)
        and isinstance(parts[0], str)
        and isinstance(parts[1], Mapping)
        and (len(parts) == 2 or isinstance(parts[2], str | None))
    ):
        return parts
    raise TypeError(f'a call is ("name", {{arguments}}) or ("name", {{arguments}}, "id"), and not {call!r}')


def unknown_format(provider: object, there: Iterable[str]) -> FormatError:
    """What is raised for a provider that a test cannot have answers of."""
    return FormatError(f"no answers can be made up in the format of {provider!r}; they can of: {', '.join(there)}")
