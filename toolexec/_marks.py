"""Marks: which ``@tool`` in a class, or above it, counts for a method."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

from toolexec._tool import DecoratedFunction, Kind, is_decorated, kind_of


def mark_of(method: types.MethodType) -> DecoratedFunction[..., Any] | None:
    """Of a bound method."""
    if is_decorated(method.__func__):
        return method.__func__
    cls = class_for(method.__self__)
    place = place_of(cls, method.__func__)
    return None if place is None else mark_in(cls.__mro__[place[0] :], place[1])


def mark_of_static(function: Any) -> DecoratedFunction[..., Any] | None:
    """Of a static method; None for other functions, which belong to no class."""
    inner = _inside(function)
    if is_decorated(inner):
        return inner
    cls = class_of(inner)
    place = None if cls is None else place_of(cls, inner)
    return None if cls is None or place is None else mark_in(cls.__mro__, place[1])


def mark_in(bases: Sequence[type], attribute: str) -> DecoratedFunction[..., Any] | None:
    """The mark on the first of these classes that marks its attribute of this name."""
    for base in bases:
        raw = vars(base).get(attribute)
        inner = _inside(raw)
        if is_decorated(inner):
            return inner
    return None


# What a callable is


def needs_receiver(function: Any, this: Any) -> bool:
    """Whether it is a method, taken from its class."""
    if is_decorated(function):
        return function._is_method or function._kind == "class"
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return True
    if not inspect.isfunction(function):
        return False
    cls = class_for(this) if this is not None else class_of(function)
    place = None if cls is None else place_of(cls, function)
    if cls is not None and place is not None:
        return kind_in_class(vars(cls.__mro__[place[0]])[place[1]]) != "static"
    # Of a class that its name does not lead to, such as one inside a function: by custom, then.
    parent = function.__qualname__.rpartition(".")[0]
    return bool(parent) and not parent.endswith("<locals>") and function.__code__.co_varnames[:1] == ("self",)


def place_of(cls: type, function: Any) -> tuple[int, str] | None:
    """Where in the MRO of a class a plain function stands, and under which name."""
    name = getattr(function, "__name__", None)
    for position, base in enumerate(cls.__mro__):
        found = [attribute for attribute, raw in vars(base).items() if plain_of(raw) is function]
        if found:
            return position, (name if name in found else found[0])
    return None


def class_of(function: Any) -> type | None:
    """The class in whose body a function was written, if its name leads there."""
    found: Any = getattr(function, "__objclass__", None)
    if found is None:
        found = sys.modules.get(getattr(function, "__module__", None) or "")
        for part in str(getattr(function, "__qualname__", "")).split(".")[:-1]:
            found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def plain_of(raw: Any) -> Any:
    """The function itself, without what stands around it in a class."""
    inner = _inside(raw)
    return inner.__wrapped__ if is_decorated(inner) else inner


def _inside(raw: Any) -> Any:
    return raw.__func__ if kind_of(raw) else raw


def is_method(raw: Any) -> bool:
    """Whether what stands in a class is a method of any kind."""
    return bool(kind_of(raw)) or (callable(raw) and not isinstance(raw, type))


def kind_in_class(raw: Any) -> Kind:
    """Whether what stands in a class is a static or a class method, also where ``@tool`` stands above that."""
    if is_decorated(raw):
        return raw._kind
    return kind_of(raw)


def class_for(this: Any) -> type:
    """The class whose methods an object, or a class itself, has."""
    return this if isinstance(this, type) else type(this)
