"""Validation: strict first, and where something does not fit, again with what the table makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolexec._arguments import HALF_A_PAIR, as_json, copied
from toolexec._branching import TooManyWays, ways_for
from toolexec._coercion import NOTHING, at, converted
from toolexec._core_schema import Held
from toolexec._errors import ArgumentsError
from toolexec._faults import Fault, faults_in
from toolexec._json import is_dict
from toolexec._shape import may_be_left_out

# A text in a text in a text; each round of repair opens one.  An admitted guess.
_ROUNDS = 8
# Of faults; telling them apart takes some 5 µs each, and no model means so many.  A guess.
_LIMIT = 10_000

_Path = tuple[int | str, ...]


class Misfit(Exception):
    """Values that do not fit.

    Attributes:
        faults: What is wrong.
        values: What the faults' paths are in.
    """

    def __init__(self, faults: Sequence[Fault], values: dict[str, Any]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults: Sequence[Fault] = faults
        self.values: dict[str, Any] = values


class Validator:
    """Holds an object to a type."""

    __slots__ = ("_coerce", "_held", "_invalid", "_schema", "_validate_json")

    def __init__(self, held: Held, schema: Mapping[str, Any], *, coerce: bool) -> None:
        """Take the validators of the type.

        Args:
            held: They.
            schema: The type's JSON Schema.
            coerce: Whether to convert by the table.
        """
        from pydantic_core import ValidationError

        self._invalid = ValidationError  # an import statement costs more than what it is here to catch
        self._held = held
        self._validate_json = held.text.validate_json
        self._schema = schema
        self._coerce = coerce

    def read(self, given: dict[str, Any], text: str | None) -> dict[str, Any]:
        """The values, of the types that were asked for; ``given`` is left alone.

        Args:
            given: What was sent.
            text: The same as JSON; None where it has objects that only Python code can pass.

        Raises:
            Misfit: They do not fit.
            ArgumentsError: They cannot be read at all, or have too many faults.
        """
        found, faults = self._try(given, text)
        if not faults:
            return found
        plain = text is not None
        values: dict[str, Any] = copied(given)
        changed: dict[_Path, Any] = {}
        for _ in range(_ROUNDS):
            if not self._repair(values, faults, changed):
                break
            found, faults = self._again(values, plain=plain)
            if not faults:
                return found
        if changed:
            # What was converted and still does not fit is put back: the model is told about what it sent.
            wrong = {fault.path[:length] for fault in faults for length in range(1, len(fault.path) + 1)}
            for path in sorted(changed, key=len, reverse=True):
                if path in wrong:
                    _put(values, path, changed[path])
            found, faults = self._again(values, plain=plain)
            if not faults:
                return found
        raise Misfit(faults, values)

    def _again(self, values: dict[str, Any], *, plain: bool) -> tuple[dict[str, Any], list[Fault]]:
        return self._try(values, as_json(values) if plain else None)

    def _try(self, values: dict[str, Any], text: str | None) -> tuple[dict[str, Any], list[Fault]]:
        ways = ways_for(text) if self._held.branching else None
        misfit: Any = None
        try:
            if text is None:
                return self._held.passed.validate_python(values, context=ways), []
            return self._validate_json(text, strict=True, context=ways), []
        except self._invalid as exc:
            misfit = exc
        except TooManyWays:
            pass
        # Not in the except clause: pydantic's error shows what was sent, and would be the context of ours.
        if misfit is None:
            raise ArgumentsError("arguments can be read in too many ways; nest them less")
        if misfit.error_count() > _LIMIT:
            raise ArgumentsError(f"the arguments have {misfit.error_count()} faults, too many to tell")
        faults = faults_in(misfit, values)
        for fault in faults:
            if fault.kind == "json_invalid" and not fault.path:
                raise _unreadable(fault.text)
        return {}, faults

    def _repair(self, values: dict[str, Any], faults: Sequence[Fault], changed: dict[_Path, Any]) -> bool:
        """Change what the table has something for, once each; whether anything was changed."""
        before = len(changed)
        for fault in faults:
            path = fault.path
            if not path or path in changed or fault.kind == "extra_forbidden" or fault.kind.startswith("missing"):
                continue
            holder = at(values, path[:-1])
            sent = holder[path[-1]]
            if sent is None and is_dict(holder) and may_be_left_out(self._schema, values, path):
                # null where it cannot be: the model means that it leaves this out.
                holder.pop(path[-1])
            elif self._coerce and (meant := converted(fault.kind, sent)) is not NOTHING:
                holder[path[-1]] = meant
            else:
                continue
            changed[path] = sent
        return len(changed) > before


def _unreadable(why: str) -> ArgumentsError:
    if "recursion" in why:
        return ArgumentsError("arguments are nested too deeply")
    if "surrogate" in why or "hex escape" in why:
        return ArgumentsError(HALF_A_PAIR)
    return ArgumentsError(f"arguments are not valid JSON ({why.removeprefix('Invalid JSON: ')})")


def _put(values: Any, path: _Path, value: Any) -> None:
    try:
        at(values, path[:-1])[path[-1]] = value
    except (KeyError, IndexError, TypeError):  # what it stood in was put back already
        return
