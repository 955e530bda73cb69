"""What is told a model about arguments that do not fit: all of it at once, in words it can act on."""

from __future__ import annotations

import difflib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from toolexec._arguments import excerpt, kind_of
from toolexec._branching import COUNTED
from toolexec._coercion import at, locate
from toolexec._errors import ArgumentsError
from toolexec._shape import keys_at

# So that a model that got everything wrong is not told more than it can use.  A guess.
_SHOWN = 20
# Of a value; enough to recognise it.  A guess.
_VALUE_CHARS = 60
# Of what it should be; a long list of values still helps.  A guess.
_TEXT_CHARS = 500
# An integer of that many bits is as long as Python writes one.
_LONG_BITS = 10_000


class Fault(NamedTuple):
    """One thing that is wrong.

    Attributes:
        path: Where, from the arguments down; with the key that is missing there, if one is.
        kind: pydantic's name for it, or one of ours.
        text: What it should be.
    """

    path: tuple[int | str, ...]
    kind: str
    text: str


def faults_in(exc: Any, values: Mapping[str, Any]) -> list[Fault]:
    """Pydantic's errors as faults, each at the place in ``values`` that it is about."""
    faults: list[Fault] = []
    for error in exc.errors(include_url=False, include_input=False):
        loc, kind, text = error["loc"], error["type"], error["msg"]
        path = locate(values, loc)
        if kind == COUNTED:
            continue
        if kind == "unexpected_keyword_argument":  # what a dataclass says of an unknown key
            kind = "extra_forbidden"
        if kind in ("missing", "missing_keyword_only_argument", "missing_argument", "missing_positional_only_argument"):
            path = (*locate(values, loc[:-1]), loc[-1])
        if kind == "union_tag_invalid":  # pydantic's text has in it what was sent, of any length
            tag, tags = error["ctx"]["discriminator"], error["ctx"]["expected_tags"]
            holder, path = path, locate(values, (*loc, tag.strip("'")))
            text = f"Input should {f'have as {tag}' if path == holder else 'be'} one of {tags}"
        faults.append(Fault(path, kind, text))
    return faults


def unfit(
    faults: Sequence[Fault],
    values: Mapping[str, Any],
    *,
    supplied: Iterable[str],
    expected: Sequence[str],
    schema: Mapping[str, Any] | None = None,
    secret: Container[object] = (),
    secret_keys: Container[object] = (),
) -> ArgumentsError:
    """The refusal that tells all faults.

    Args:
        faults: What is wrong.
        values: What the faults' paths are in.
        supplied: The names of the arguments.
        expected: The names of the tool's parameters.
        schema: What they are held to, for the names of the keys below them.
        secret: Those of them whose values are never shown.
        secret_keys: Those of them of which not even a key is.
    """
    grouped: dict[tuple[int | str, ...], list[Fault]] = {}
    for fault in faults:
        if len(fault.path) > 1 and fault.path[0] in secret_keys:
            fault = Fault(fault.path[:1], "inside", fault.text)  # noqa: PLW2901 - nothing else is told of it
        grouped.setdefault(fault.path, []).append(fault)
    first = list(grouped.items())[:_SHOWN]
    told = [_tell(path, there, values, expected, schema or {}, secret) for path, there in first]
    shown = "; ".join(told) + (f"; and {len(grouped) - _SHOWN} more" if len(grouped) > _SHOWN else "")
    return ArgumentsError(f"{shown} (expected: {_list(expected)}; supplied: {_list(supplied)})")


def _tell(
    path: tuple[int | str, ...],
    faults: Sequence[Fault],
    values: Mapping[str, Any],
    expected: Sequence[str],
    schema: Mapping[str, Any],
    secret: Container[object],
) -> str:
    where = ".".join(excerpt(str(step)) for step in path) or "the arguments"
    kinds = {fault.kind for fault in faults}
    if kinds == {"extra_forbidden"}:
        what = "a parameter of this tool" if len(path) == 1 else "a key of this object"
        there = expected if len(path) == 1 else keys_at(schema, values, path[:-1])
        return f"{where}: not {what}{_closest(path[-1], there, at(values, path[:-1]))}"
    if any(kind.startswith("missing") for kind in kinds):
        return f"{where}: required, and not supplied"
    texts = list(dict.fromkeys(_lowered(fault.text) for fault in faults if fault.kind != "extra_forbidden"))
    hidden = bool(path) and path[0] in secret
    got = "" if hidden else f", not {_value(at(values, path))}"
    return f"{where}: {' or '.join(texts)}{got}"


def _lowered(text: str) -> str:
    lowered = text.replace("Input should", "should", 1)
    return lowered if len(lowered) <= _TEXT_CHARS else f"{lowered[:_TEXT_CHARS]}..."


def _closest(name: object, expected: Iterable[str], supplied: Container[str]) -> str:
    free = [name for name in expected if name not in supplied]
    close = difflib.get_close_matches(str(name)[:_VALUE_CHARS], free, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _value(value: Any) -> str:
    """A value in few words; what is in a container is not for the text, and may be a secret."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int) and value.bit_length() > _LONG_BITS:
        return "a number of thousands of digits"
    if isinstance(value, int | float):
        return f"the number {excerpt(repr(value))}"
    if isinstance(value, str):
        shown = value if len(value) <= _VALUE_CHARS else f"{value[:_VALUE_CHARS]}..."
        return f"the text {json.dumps(shown, ensure_ascii=False)}"
    return kind_of(value)


def _list(names: Iterable[str]) -> str:
    shown = [excerpt(name) for name in names]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (", ".join(shown[:_SHOWN]) + more) or "none"
