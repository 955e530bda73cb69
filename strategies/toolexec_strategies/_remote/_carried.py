"""Context variables that go along with each call to a worker."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from contextvars import Context, ContextVar
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

# The program that was started, and what multiprocessing calls it in its children: a worker does not
# run it again.
_PROGRAMS: Final = ("__main__", "__mp_main__")


class Place(NamedTuple):
    """Where a worker finds a variable: a module, and a name in it."""

    module: str
    name: str


# What a variable is set to, after its place.  A plain tuple: a worker would have to import any other class.
Value = tuple[str, str, Any]


class Carried:
    """The variables that a strategy takes along.

    Args:
        carry: Which, as a user gave them.

    Raises:
        TypeError: It is no list of ContextVars.
        ValueError: One of them is where no worker finds it; the text names it.
    """

    def __init__(self, carry: object) -> None:
        # Not any iterable: a string, or a ContextVar that stands alone, is a slip.
        if not isinstance(carry, list | tuple | set | frozenset):
            raise TypeError(f"carry is {carry!r}: it takes a list of ContextVars")
        self._places: list[tuple[ContextVar[Any], Place]] = []
        for item in cast("Iterable[Any]", carry):
            if not isinstance(item, ContextVar):
                raise TypeError(f"carry has {item!r} in it: it takes a list of ContextVars")
            var = cast("Any", item)
            place = find_place(var)
            if place is None:
                raise ValueError(_unfound(var))
            self._places.append((var, place))

    def values(self, context: Context) -> Sequence[Value]:
        """Those that are set in a context."""
        return [(place.module, place.name, context[var]) for var, place in self._places if var in context]


def put_in_place(values: Iterable[Value]) -> None:
    """In a worker: set them in the current context; raises whatever importing their modules raises."""
    for module, name, value in values:
        found: Any = getattr(importlib.import_module(module), name)
        if not isinstance(found, ContextVar):
            raise TypeError(f"{module}.{name} is no ContextVar here, but of type {type(found).__name__}")
        cast("Any", found).set(value)


def find_place(var: ContextVar[Any]) -> Place | None:
    """A global of a module that others can import; one of the variable's own name, if there is one."""
    modules = [(name, vars(module)) for name, module in list(sys.modules.items()) if _importable(name, module)]
    for module_name, names in modules:
        if names.get(var.name) is var:
            return Place(module_name, var.name)
    for module_name, names in modules:
        for name, value in list(names.items()):
            if value is var:
                return Place(module_name, name)
    return None


def _importable(name: str, module: object) -> bool:
    # A module that some code has made and put there has no spec.
    return name not in _PROGRAMS and isinstance(module, ModuleType) and getattr(module, "__spec__", None) is not None


def _unfound(var: ContextVar[Any]) -> str:
    for name in _PROGRAMS:
        program = sys.modules.get(name)
        if program is not None and any(value is var for value in list(vars(program).values())):
            return (
                f"carry: the context variable {var.name!r} belongs to the program itself ({name}), which a worker does "
                "not run again; define it in a module of its own, and import it from there"
            )
    return (
        f"carry: the context variable {var.name!r} is no global of any module, so a worker has no name to find it by; "
        "define it at the top level of a module"
    )
