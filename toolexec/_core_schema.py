"""What a call is held to beyond what pydantic holds it to, written into pydantic's own core schema.

There it counts wherever a type stands: in a model's field, behind an alias, in a member of a union.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from toolexec._branching import Branching
from toolexec._json import is_dict, is_list, is_sequence

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Schema: TypeAlias = Any

# Where schemas stand in a schema; what else there is holds the user's own values.
_PARTS = frozenset(("choices", "definitions", "fields", "steps"))
_SCALARS = frozenset(("int", "float", "bool", "str"))
_TIMES = frozenset(("date", "datetime", "time"))


class Held:
    """A type's validators.

    Attributes:
        text: For JSON text, strict; and for a dict of plain scalars.
        branching: Whether a validation needs ``ways_for`` as its context.
    """

    __slots__ = ("_core", "_passed", "branching", "text")

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        unions = Branching(adapter.core_schema)
        self._core = _each(_each(adapter.core_schema, unions.count), _exact)
        self.branching = unions.found
        self._passed: Any = None
        self.text: Any = adapter.validator if self._core is adapter.core_schema else _built(self._core)

    @property
    def passed(self) -> Any:
        """For objects that Python code has passed, in a dict: what JSON has is taken as strictly as in a text.

        Built on first use: most tools are only ever sent text.
        """
        if self._passed is None:
            self._passed = _built(_each(self._core, _as_text_has_it))
        return self._passed


def _built(core: _Schema) -> Any:
    from pydantic_core import SchemaValidator

    try:
        # A model's own validator, which it would take otherwise, knows nothing of what was changed here.
        return SchemaValidator(core, _use_prebuilt=False)
    except TypeError:
        # No promise of pydantic's: without it, what was changed holds everywhere but inside models.
        return SchemaValidator(core)


def _each(schema: _Schema, change: Callable[[dict[str, Any]], Any]) -> _Schema:
    """The schema with each of its parts changed, from the inside out; itself where nothing was."""
    if is_sequence(schema):
        parts = [_each(part, change) for part in schema]
        return schema if all(map(_same, parts, schema)) else parts if is_list(schema) else tuple(parts)
    if not is_dict(schema):
        return schema
    typed = isinstance(schema.get("type"), str)  # else the fields of a model, or the members of a union, by name
    inner = {
        key: _each(part, change)
        for key, part in schema.items()
        if not typed or key in _PARTS or key.endswith("_schema") or key == "schema"
    }
    if not all(part is schema[key] for key, part in inner.items()):
        schema = {**schema, **inner}
    return change(schema) if typed else schema


def _same(one: object, other: object) -> bool:
    return one is other


def _exact(schema: dict[str, Any]) -> _Schema:
    kind = schema["type"]
    if kind == "generator":
        # It would hand its items to the body unseen, one by one, and could not leave this process.
        return {**schema, "type": "list"}
    if kind == "literal":
        return _told_apart(schema, schema["expected"], "literal_error")
    if kind == "enum":
        return _told_apart(schema, [member.value for member in schema["members"]], "enum")
    return schema


def _told_apart(schema: dict[str, Any], members: Sequence[Any], fault: str) -> _Schema:
    """Refuses true for the member 1, and 1 for true: to Python, and so to pydantic, they are equal."""
    alike = [member for member in members if isinstance(member, bool | int | float) and member in (0, 1)]
    if not alike:
        return schema
    shown = [repr(member) for member in members]
    expected = " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))

    def refused(value: Any) -> bool:
        if not isinstance(value, bool | int | float):
            return False
        kinds = {type(member) for member in alike if member == value}
        return bool(kinds) and type(value) not in kinds and (isinstance(value, bool) or bool in kinds)

    return _before(schema, refused, fault, {"expected": expected})


def _as_text_has_it(schema: dict[str, Any]) -> _Schema:
    kind = schema["type"]
    if kind in _SCALARS and "strict" not in schema:
        schema = {**schema, "strict": True}
        if kind == "str":
            # A text whose length is asked for is looked into, and half of a surrogate pair found.
            schema.setdefault("max_length", sys.maxsize)
    elif kind == "enum":
        return {key: value for key, value in schema.items() if key != "sub_type"}  # by which "1" would be a 1
    elif kind in _TIMES:
        return _before(schema, _is_number, f"{kind}_type", None)
    return schema


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _before(
    schema: dict[str, Any], refused: Callable[[Any], bool], fault: Any, context: Mapping[str, Any] | None
) -> _Schema:
    from pydantic_core import PydanticKnownError, core_schema

    def check(value: Any) -> Any:
        if refused(value):
            raise PydanticKnownError(fault, None if context is None else dict(context))
        return value

    # The name by which other places refer to it goes to the outside, for the check to be there too.
    inner = {key: value for key, value in schema.items() if key != "ref"}
    checked: Any = inner
    return core_schema.no_info_before_validator_function(check, checked, ref=schema.get("ref"))
