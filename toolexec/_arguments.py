"""From what a model sent as arguments to a mapping of our own, or to an error the model can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Never, TypeGuard

from toolexec._errors import ArgumentsError
from toolexec._json import is_object

# Enough to recognise what was sent, too little to flood a prompt with it.  A guess.
_EXCERPT_CHARS = 120


class Plain(NamedTuple):
    """Arguments that Python code has passed: for the body as they are, and no model's to get wrong.

    Attributes:
        args: By position.
        kwargs: By keyword.
    """

    args: Sequence[Any]
    kwargs: Mapping[str, Any]


def excerpt(text: str) -> str:
    """The beginning of ``text``, marked where it was cut."""
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}... ({len(text)} characters)"


def parse(raw: object) -> dict[str, Any]:
    """The arguments as a dict that shares no container with ``raw``.

    Empty, blank, null and absent mean no arguments.  An object that was encoded twice is peeled
    once.

    Raises:
        ArgumentsError: It is not a JSON object; the text shows a short excerpt.
    """
    if raw is None:
        return {}
    if is_object(raw):
        try:
            return {str(key): _copy(value) for key, value in raw.items()}
        except RecursionError:  # or it contains itself
            raise ArgumentsError("arguments are nested too deeply") from None
    if isinstance(raw, bytes | bytearray):
        raw = bytes(raw).decode("utf-8", "replace")
    if not isinstance(raw, str):
        raise ArgumentsError(f"arguments must be a JSON object, not {_kind(raw)}")
    if not raw.strip():
        return {}
    value: Any = _loads(raw)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _loads(value)
    if value is None:
        return {}
    if not is_object(value):
        raise ArgumentsError(f"arguments must be a JSON object, not {_kind(value)}: {excerpt(raw)}")
    return dict(value)


def _loads(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise ArgumentsError(f"arguments are nested too deeply: {excerpt(text)}") from None
    except ValueError as exc:  # json.JSONDecodeError, and an integer of too many digits
        raise ArgumentsError(f"arguments are not valid JSON ({exc}): {excerpt(text)}") from None


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


# One for all: json.loads makes a new one per call as soon as an option is given, which takes longer
# than decoding.
_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def _copy(value: Any) -> Any:
    """Copy the containers JSON knows; anything else (an injected object, say) is passed as it is."""
    if _is_dict(value):
        return {key: _copy(item) for key, item in value.items()}
    if _is_list(value):
        return [_copy(item) for item in value]
    return value


def _is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "an array"
    return f"a {type(value).__name__}"
