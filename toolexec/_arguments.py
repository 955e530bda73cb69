"""From what a model sent as arguments to a mapping of our own, or to an error the model can act on."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Never

from toolexec._errors import ArgumentsError
from toolexec._json import is_dict, is_list, is_object, legal_text

# Enough to recognise what was sent, too little to flood a prompt with it.  A guess.
_EXCERPT_CHARS = 120
HALF_A_PAIR = "arguments have half of a surrogate pair, which is no character"
# Far more than a model writes in one call, and read in about a second.  A guess.
_LIMIT_CHARS = 64 * 1024 * 1024


class Plain(NamedTuple):
    """Arguments that Python code has passed: for the body as they are, and no model's to get wrong.

    Attributes:
        args: By position.
        kwargs: By keyword.
    """

    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class Arguments(NamedTuple):
    """What a model sent, read.

    Attributes:
        values: By name; shares no container with what was sent.
        text: The same as JSON text; None where there are objects in it that only Python code can pass.
    """

    values: dict[str, Any]
    text: str | None


def excerpt(text: str) -> str:
    """The beginning of ``text``, marked where it was cut."""
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}... ({len(text)} characters)"


def parse(raw: object, show: Callable[[str], str] = excerpt) -> Arguments:
    """Read arguments.

    Empty, blank, null and absent mean no arguments.  An object that was encoded twice is peeled
    once.

    Args:
        raw: What was sent.
        show: Makes of it what an error shows.

    Raises:
        ArgumentsError: It is not a JSON object, or beyond a limit; the text shows a short excerpt.
    """
    if isinstance(raw, str):
        return _read(raw, show)
    if raw is None:
        return Arguments({}, "{}")
    if is_object(raw):
        return _copy_of(raw)
    if isinstance(raw, bytes | bytearray):
        return _read(bytes(raw).decode("utf-8", "replace"), show)
    raise ArgumentsError(f"arguments must be a JSON object, not {kind_of(raw)}")


def as_json(values: Mapping[str, Any]) -> str | None:
    """JSON text for plain data, or None where something in it has no JSON form of its own.

    Raises:
        ArgumentsError: A number in it has none.
    """
    try:
        return json.dumps(values, allow_nan=False)
    except TypeError:
        return None
    except ValueError as exc:
        digits = "digits" in str(exc)
    # Not in the except clause, here and below: json's error holds the text, in which there may be a secret.
    raise ArgumentsError("an integer has too many digits" if digits else "NaN and the infinities are no JSON numbers")


def decoded(text: str, show: Callable[[str], str] = excerpt) -> Any:
    """The JSON value that ``text`` is.

    Raises:
        ArgumentsError: It is none, or beyond a limit.
    """
    if len(text) > _LIMIT_CHARS:
        raise ArgumentsError(f"arguments are too long: {len(text)} characters, and {_LIMIT_CHARS} are read")
    try:
        return _decoder.decode(text)
    except RecursionError:
        why = "nested too deeply"
    except ValueError as exc:  # json.JSONDecodeError, and what the functions below refuse, which show a part of it
        shown = isinstance(exc, json.JSONDecodeError) or show is not hidden
        why = f"not valid JSON ({exc})" if shown else "not valid JSON"
    raise ArgumentsError(f"arguments are {why}: {show(text)}")


def hidden(text: str) -> str:
    """What is shown of arguments among which there may be a secret."""
    return f"({len(text)} characters, not shown)"


def kind_of(value: object) -> str:
    """What JSON calls a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if is_list(value):
        return "an array"
    if is_dict(value):
        return "an object"
    return f"a {type(value).__name__}"


def _read(text: str, show: Callable[[str], str]) -> Arguments:
    value = at_once(text)
    return _with_care(text, show) if value is None else Arguments(value, text)


def at_once(text: str) -> dict[str, Any] | None:
    """What nearly every text is, read in a tenth of the time; None where one has to look closer."""
    from_json, to_json = _fast()
    if "\\" in text and "\\u003" in text:
        return None  # an escaped colon: written again it would stand for one that a key has lost
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):
        return None
    if not is_dict(value):
        return None
    # It takes the last of two equal keys, and a number beyond a float as infinite, without a word.  Written
    # again, the one has lost a colon, and the other is no number.
    written: bytes = to_json(value)
    if written.count(b":") != text.count(":"):
        return None
    # The one letter first: that is a tenth of the time, and few texts have it.
    return None if _CAPITAL_I in written and b"Infinity" in written else value


_CAPITAL_I = ord("I")


@functools.cache
def _fast() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from pydantic_core import from_json, to_json  # on first use: importing toolexec stays light

    return from_json, to_json


def _with_care(text: str, show: Callable[[str], str]) -> Arguments:
    if not text.strip():
        return Arguments({}, "{}")
    value = decoded(text, show)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        text, value = value, decoded(value, show)
    if value is None:
        return Arguments({}, "{}")
    if not is_dict(value):
        raise ArgumentsError(f"arguments must be a JSON object, not {kind_of(value)}: {show(text)}")
    return Arguments(value, text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {excerpt(key)!r} is there twice")
            seen.add(key)
    return values


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {excerpt(text)} is too large")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python's own limit against texts that take for ever to convert
        raise ValueError(f"an integer of {len(text)} digits") from None


# One for all: json.loads makes a new one per call as soon as an option is given, which takes longer
# than decoding.
_decoder = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_unique
)


_SCALARS = frozenset((str, int, bool, float, type(None)))


class _Copier:
    """Copies the containers JSON knows; anything else (an object of the caller's, say) is passed as it is.

    Attributes:
        plain: Whether there was nothing else.
    """

    def __init__(self) -> None:
        self.plain = True

    def copy(self, value: Any) -> Any:
        if type(value) is str:
            return _whole_text(value)
        if type(value) in _SCALARS:
            return value
        if is_dict(value):
            return self.items(value.items())
        if is_list(value):
            return [self.copy(item) for item in value]
        self.plain = False
        return value

    def items(self, items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
        copied: dict[Any, Any] = {}
        for key, value in items:
            if type(key) is not str:
                self.plain = False
            else:
                _whole_text(key)
            copied[key] = self.copy(value)
        return copied


def _whole_text(text: str) -> str:
    if not text.isascii() and legal_text(text) != text:
        raise ArgumentsError(HALF_A_PAIR)
    return text


def copied(values: Any) -> Any:
    """A copy that shares no container with ``values``; what is none is the same."""
    return _Copier().copy(values)


def _copy_of(raw: Mapping[Any, Any]) -> Arguments:
    copier = _Copier()
    try:
        values = copier.items((str(key), value) for key, value in raw.items())
        return Arguments(values, as_json(values) if copier.plain else None)
    except RecursionError:  # or it contains itself
        pass
    raise ArgumentsError("arguments are nested too deeply")
