"""The written table of what is converted where nothing is lost by it.

A model that means the right thing often writes it in the wrong kind.  Validation is strict; where
it finds a fault, and only there, these conversions are tried:

=====================================  =============  ==================================
what the type asks for                 what was sent  what it becomes
=====================================  =============  ==================================
an integer (also a Literal's, Enum's)  whole float    that integer, up to 2**53
an integer, a number, a boolean        JSON text      the number or boolean that it is
an array (list, set, tuple)            JSON text      the array that it is
an object (dict, model, dataclass...)  JSON text      the object that it is
=====================================  =============  ==================================

Nothing becomes a text, no number a boolean and no boolean a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolexec._arguments import decoded
from toolexec._errors import ArgumentsError
from toolexec._json import is_dict, is_list

NOTHING: Any = object()
"""What ``converted`` gives where the table has nothing."""

# Beyond it not every integer has a float of its own, so which one was meant is not known.
_EXACT = 2**53

_INTEGERS = {"int_type", "int_from_float"}
_NUMBERS = {"float_type"}
_MEMBERS = {"literal_error", "enum"}
_ARRAYS = {"list_type", "set_type", "frozen_set_type", "tuple_type", "iterable_type"}
_OBJECTS = {
    "dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type",
    "dict_attributes_type",
}  # fmt: skip
# A NamedTuple takes either.
_EITHER = {"arguments_type"}


def converted(fault: str, value: Any) -> Any:
    """What the table makes of ``value``, which has this fault by pydantic's name, or NOTHING."""
    if isinstance(value, float) and fault in _INTEGERS | _MEMBERS:
        return int(value) if value.is_integer() and abs(value) <= _EXACT else NOTHING
    if not isinstance(value, str):
        return NOTHING
    kinds = _wanted(fault)
    if kinds is None:
        return NOTHING
    try:
        meant = decoded(value)
    except ArgumentsError:
        return NOTHING
    if not isinstance(meant, kinds) or (isinstance(meant, bool) and fault != "bool_type"):
        return NOTHING
    if fault in _INTEGERS and isinstance(meant, float):
        return converted(fault, meant)
    return meant


def _wanted(fault: str) -> tuple[type, ...] | None:
    if fault in _INTEGERS | _NUMBERS:
        return (int, float)
    if fault == "bool_type":
        return (bool,)
    if fault in _ARRAYS:
        return (list,)
    if fault in _OBJECTS:
        return (dict,)
    return (list, dict) if fault in _EITHER else None


def locate(values: Any, loc: Sequence[int | str]) -> tuple[int | str, ...]:
    """The path in ``values`` that a fault of pydantic's is about.

    Its ``loc`` also has steps that are none in the data: the member of a union, a key that is looked at.
    """
    path: list[int | str] = []
    here = values
    for step in loc:
        inside = _inside(here, step)
        if inside is not NOTHING:
            here = inside
            path.append(step)
    return tuple(path)


def _inside(value: Any, step: int | str) -> Any:
    if is_dict(value):
        return value.get(step, NOTHING)
    if is_list(value) and isinstance(step, int) and step < len(value):
        return value[step]
    return NOTHING


def at(values: Any, path: Sequence[int | str]) -> Any:
    """What stands at a path."""
    for step in path:
        values = values[step]
    return values
