"""Validation: strict first, and where something does not fit, again with what the table makes of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolexec._arguments import as_json
from toolexec._coercion import NOTHING, at, converted
from toolexec._errors import ArgumentsError
from toolexec._faults import Fault, faults_in
from toolexec._json import is_dict, is_list

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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

    __slots__ = ("_adapter", "_coerce", "_confusable", "_invalid", "_validate_json")

    def __init__(self, adapter: TypeAdapter[Any], *, coerce: bool, confusable: bool) -> None:
        """Take the adapter of the type.

        Args:
            adapter: pydantic's.
            coerce: Whether to convert by the table.
            confusable: Whether a Literal or an Enum in it has 1, 0, true or false as a member.
        """
        from pydantic_core import ValidationError

        self._invalid = ValidationError  # an import statement costs more than what it is here to catch
        self._adapter = adapter
        self._validate_json = adapter.validator.validate_json
        self._coerce = coerce
        self._confusable = confusable

    def read(self, given: dict[str, Any], text: str | None) -> dict[str, Any]:
        """The values, of the types that were asked for; ``given`` is left alone.

        Args:
            given: What was sent.
            text: The same as JSON; None where it has objects that only Python code can pass.

        Raises:
            Misfit: They do not fit.
            ArgumentsError: They cannot be read at all, or have too many faults.
        """
        found, faults = self._try(given, text, given)
        if not faults:
            return found
        plain = text is not None
        # An object that Python code has passed is not to be copied; what holds it may be.
        values = copy.deepcopy(given) if plain else dict(given)
        changed: dict[_Path, Any] = {}
        for _ in range(_ROUNDS):
            if not self._repair(values, faults, changed):
                break
            found, faults = self._again(values, given, plain=plain)
            if not faults:
                return found
        if changed:
            # What was converted and still does not fit is put back: the model is told about what it sent.
            for path in sorted(changed, key=len, reverse=True):
                if any(fault.path[: len(path)] == path for fault in faults):
                    _put(values, path, changed[path])
            found, faults = self._again(values, given, plain=plain)
            if not faults:
                return found
        raise Misfit(faults, values)

    def _again(
        self, values: dict[str, Any], given: dict[str, Any], *, plain: bool
    ) -> tuple[dict[str, Any], list[Fault]]:
        return self._try(values, as_json(values) if plain else None, given)

    def _try(
        self, values: dict[str, Any], text: str | None, given: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Fault]]:
        try:
            if text is None:
                return self._adapter.validate_python(values), []
            found: dict[str, Any] = self._validate_json(text, strict=True)
        except self._invalid as exc:
            misfit = exc
        else:
            return found, self._confused(found, values) if self._confusable else []
        # Not in the except clause: pydantic's error shows what was sent, and would be the context of ours.
        if misfit.error_count() > _LIMIT:
            raise ArgumentsError(f"the arguments have {misfit.error_count()} faults, too many to tell")
        faults = faults_in(misfit, values)
        for fault in faults:
            if fault.kind == "json_invalid":
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
            if sent is None and is_dict(holder):
                # null where it cannot be: the model means that it leaves this out.
                holder.pop(path[-1])
            elif self._coerce and (meant := converted(fault.kind, sent)) is not NOTHING:
                holder[path[-1]] = meant
            else:
                continue
            changed[path] = sent
        return len(changed) > before

    def _confused(self, found: dict[str, Any], sent: dict[str, Any]) -> list[Fault]:
        """Where true was taken for the member 1 of a Literal or Enum, or 1 for true: to Python they are equal."""
        try:
            dumped = self._adapter.dump_python(found, mode="json", warnings=False)
        except Exception:  # noqa: BLE001 - serialising runs the types' own code
            return []
        told = {True: "true", False: "false"}
        return [
            Fault(path, "literal_error", f"should be {told[meant] if isinstance(meant, bool) else repr(meant)}")
            for path, meant in _differences(dumped, sent)
        ]


def _unreadable(why: str) -> ArgumentsError:
    if "recursion" in why:
        return ArgumentsError("arguments are nested too deeply")
    if "surrogate" in why or "hex escape" in why:
        return ArgumentsError("arguments have half of a surrogate pair, which is no character")
    return ArgumentsError(f"arguments are not valid JSON ({why.removeprefix('Invalid JSON: ')})")


def _put(values: Any, path: _Path, value: Any) -> None:
    try:
        at(values, path[:-1])[path[-1]] = value
    except (KeyError, IndexError, TypeError):  # what it stood in was put back already
        return


def _differences(dumped: Any, sent: Any, path: _Path = ()) -> list[tuple[_Path, Any]]:
    """The places where one has a boolean and the other the number that equals it."""
    found: list[tuple[_Path, Any]] = []
    if is_dict(dumped) and is_dict(sent):
        for key, value in dumped.items():
            if key in sent:
                found += _differences(value, sent[key], (*path, key))
    elif is_list(dumped) and is_list(sent):
        for place, (value, item) in enumerate(zip(dumped, sent, strict=False)):
            found += _differences(value, item, (*path, place))
    elif isinstance(dumped, bool) != isinstance(sent, bool) and dumped == sent:
        found.append((path, dumped))
    return found
