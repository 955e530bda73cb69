"""Names of a module that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(own: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module some of whose names stand in others.

    Args:
        own: The module's name.
        homes: By public name, the module below ``toolexec`` that has it under the same one.
    """
    names = vars(sys.modules[own])

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        found = names[name] = getattr(import_module(f"toolexec.{homes[name]}"), name)
        return found

    return find, lambda: sorted({*names, *homes})
