"""A bound for unions that can be read in more ways than anybody has time for.

Where two members of a union take an object, and hold the same union again, pydantic tries each member at
each level: of twenty levels that is a million ways.  Such a union counts how often it is looked at.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from toolexec._json import is_dict, is_sequence

_Schema: TypeAlias = Any

COUNTED = "toolexec_counted"
"""The kind of the fault that counting leaves behind; it says nothing."""

# Ways that are looked at whatever the arguments; with their faults some half a second.  A guess.
_WAYS = 10_000
# And for each of their values, so that many plain ones are no reason to stop.  A guess.
_WAYS_PER_VALUE = 4

_OBJECTS = frozenset(("dict", "model", "typed-dict", "dataclass"))
_ARRAYS = frozenset(("list", "set", "frozenset", "tuple", "generator"))


class TooManyWays(Exception):
    """More than there is time for."""


class Branching:
    """Which unions of a type are to count, by the definitions that they are in a circle with."""

    def __init__(self, core: _Schema) -> None:
        held = core if is_dict(core) and core.get("type") == "definitions" else {}
        self._definitions: dict[str, _Schema] = {part["ref"]: part for part in held.get("definitions", ())}
        self._refs = {ref: _refs_in(part) for ref, part in self._definitions.items()}
        self.found = False

    def count(self, schema: dict[str, Any]) -> _Schema:
        """The schema, counting if it is such a union."""
        if schema["type"] != "union" or not self._branches(schema):
            return schema
        from pydantic_core import core_schema

        self.found = True
        counting = core_schema.with_info_plain_validator_function(_count)
        return {**schema, "choices": [counting, *schema["choices"]]}

    def _branches(self, union: dict[str, Any]) -> bool:
        # A member may stand with its name.
        members: list[_Schema] = [member[0] if is_sequence(member) else member for member in union["choices"]]
        returning = [self._kind(member) for member in members if self._returns(_refs_in(member))]
        return any(returning.count(kind) > 1 for kind in ("object", "array"))

    def _returns(self, refs: set[str]) -> bool:
        """Whether a definition that is referred to, at however many removes, refers to itself."""
        seen: set[str] = set()
        ahead = list(refs)
        while ahead:
            ref = ahead.pop()
            if ref not in seen:
                seen.add(ref)
                ahead.extend(self._refs.get(ref, ()))
        return any(ref in self._reached_from(ref) for ref in seen)

    def _reached_from(self, ref: str) -> set[str]:
        reached: set[str] = set()
        ahead = list(self._refs.get(ref, ()))
        while ahead:
            there = ahead.pop()
            if there not in reached:
                reached.add(there)
                ahead.extend(self._refs.get(there, ()))
        return reached

    def _kind(self, schema: _Schema) -> str:
        for _ in range(20):  # as deep as anybody wraps a type
            kind = schema.get("type")
            if kind in _OBJECTS or kind in _ARRAYS:
                return "object" if kind in _OBJECTS else "array"
            inner = self._definitions.get(schema.get("schema_ref", "")) or schema.get("schema")
            if not is_dict(inner):
                break
            schema = inner
        return ""


def ways_for(text: str | None) -> dict[str, int]:
    """The context of one validation: how many ways may be looked at."""
    values = 0 if text is None else sum(map(text.count, ",[{"))
    return {"ways": _WAYS + _WAYS_PER_VALUE * values}


def _count(_: Any, info: Any) -> Any:
    from pydantic_core import PydanticCustomError

    info.context["ways"] -= 1
    if info.context["ways"] < 0:
        raise TooManyWays
    raise PydanticCustomError(COUNTED, "counted")


def _refs_in(schema: _Schema) -> set[str]:
    found: set[str] = set()
    if is_sequence(schema):
        return found.union(*map(_refs_in, schema))
    if not is_dict(schema):
        return found
    found = found.union(*(_refs_in(part) for key, part in schema.items() if key not in ("metadata", "serialization")))
    return found | {schema["schema_ref"]} if schema.get("type") == "definition-ref" else found
