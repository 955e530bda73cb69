"""Factories: tools, and dependencies, that are made anew for every call."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, get_type_hints

from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._inject import Make, check_deps
from toolexec._runner import Factory, is_async
from toolexec._tool import class_definition


@contextmanager
def _managed() -> Generator[None]:
    yield


# What is behind every function that ``contextmanager`` makes.
_MANAGER: Any = getattr(_managed, "__code__", None)


def factory(make: Callable[[], Any], *, tool: type | None = None) -> Function:
    """A tool whose instances are made by ``make``, a fresh one for every call; or a dependency that is.

    As ``Context(deps={Connection: factory(connect)})`` it is no tool: ``make`` runs where the body does, right
    before it, and what it makes is passed to the parameter.

    Args:
        make: Takes nothing, returns the instance.
        tool: The class that declares name, description, options and parameters.  Without it the
            return annotation of ``make`` says, or ``make`` itself where it is that class; or else one instance
            is made, and dropped, when the tool is first looked at.

    Raises:
        DeclarationError: What it makes is no tool; where an instance has to tell, not before it is used as one.
    """
    if not callable(make):
        raise DeclarationError(
            f"factory takes a function that makes an instance, not {make!r}; an instance is given as it is"
        )
    if inspect.isgeneratorfunction(make) or getattr(make, "__code__", None) is _MANAGER:
        raise DeclarationError(
            f"factory: {make!r} is a generator, or a context manager made of one; it takes a function that returns the "
            "instance: nothing would run what comes after the yield"
        )
    declared = tool if tool is not None else _said_of(make)
    return _MadeBy(make) if declared is None else Function._of(_definition(make, declared))


class _MadeBy(Function):
    """What is a tool only if its instances are: one is made once that is asked for."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__("made")
        self._make = make
        del self._definition

    def __getattr__(self, name: str) -> Any:
        if name != "_definition":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        instance: object = self._make()
        self._definition = made = _definition(self._make, type(instance))
        return made

    def __repr__(self) -> str:
        return f"factory({self._make!r})"


def dependencies(deps: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """``Context(deps=...)``, those that are made for every call among them as ``Make``.

    Raises:
        DeclarationError: It is no mapping from types, or what makes one is async.
    """
    given = check_deps(deps)
    for kind, value in given.items():
        make = _make_of(value)
        if make is not None and is_async(make):
            raise DeclarationError(
                f"deps: what makes {kind!r} is async; it takes a plain function, which is not awaited"
            )
        if make is None and _is_unmade(kind, value):
            raise DeclarationError(
                f"deps: {kind.__name__} is a class, and {value!r} no instance of it but a function; where that makes "
                f"one for each call, write  {kind.__name__}: tx.factory({value.__name__})"
            )
        given[kind] = value if make is None else Make(make)
    return given


def _is_unmade(kind: Any, value: Any) -> bool:
    """Whether a plain function stands where an instance of an ordinary class belongs."""
    if type(kind) is not type or type(value) not in (types.FunctionType, types.MethodType):
        return False  # a Protocol, an ABC or Any have a class of their own, and may be what a function is
    return not isinstance(value, kind)


def _make_of(value: Any) -> Callable[[], Any] | None:
    # Not isinstance: that may ask a stand-in of the user's for its __class__.
    if issubclass(type(value), _MadeBy):
        make: Callable[[], Any] = value._make
        return make
    source = value._definition.source if issubclass(type(value), Function) else None
    return source.make if isinstance(source, Factory) else None


def _said_of(make: Callable[[], Any]) -> type | None:
    """The class of tools that ``make`` says it makes."""
    try:
        said = make if isinstance(make, type) else get_type_hints(make).get("return")
    except (NameError, TypeError):
        return None
    return said if isinstance(said, type) and hasattr(said, "call") else None


def _definition(make: Callable[[], Any], declared: Any) -> Any:
    if not callable(getattr(declared, "call", None)):
        raise DeclarationError(f"factory: {declared.__name__} has no method named 'call'")
    return class_definition(declared, Factory(make, declared))
