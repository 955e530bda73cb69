"""Finding the part of an object for which it cannot be pickled, by trying the parts."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from toolexec.lowlevel import Factory

# Bounds for odd objects only; a person reads the text, and the deepest place helps nobody.
_DEEPEST = 6
_MOST_TRIES = 300
_MOST_ITEMS = 50


class Culprit(NamedTuple):
    """What cannot be pickled, in words.

    Attributes:
        where: The way to it from the outside, or "" when it is the whole object.
        type_name: Its type.
        why: What pickling it raised.
    """

    where: str
    type_name: str
    why: str

    def __str__(self) -> str:
        named = f"{self.where}, of type {self.type_name}" if self.where else f"of type {self.type_name}"
        return f"{named} ({self.why})"


def find_culprit(obj: Any, attempt: Callable[[Any], object]) -> Culprit | None:
    """Descend to what cannot be pickled.

    Args:
        obj: The whole object.
        attempt: Pickles something; raises if that cannot be.

    Returns:
        The innermost part found, or None when ``obj`` can be pickled.
    """
    tries = itertools.count()

    def failure(part: Any) -> BaseException | None:
        next_try = next(tries)
        if next_try > _MOST_TRIES:
            return None
        try:
            attempt(part)
        except BaseException as exc:  # noqa: BLE001 - pickling runs the object's own code
            return exc
        return None

    reason = failure(obj)
    if reason is None:
        return None
    way: list[str] = []
    seen = {id(obj)}
    for _ in range(_DEEPEST):
        for label, part in itertools.islice(_parts(obj), _MOST_ITEMS):
            if id(part) in seen:
                continue
            seen.add(id(part))
            deeper = failure(part)
            if deeper is not None:
                way.append(label)
                obj, reason = part, deeper
                break
        else:
            break
    return Culprit(" of ".join(reversed(way)), type_name(obj), _text(reason))


def type_name(obj: Any) -> str:
    """The type of an object as a person writes it."""
    module, name = type(obj).__module__, type(obj).__qualname__
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def runner_name(source: Any) -> str:
    """What a tool was declared with, as a person writes it."""
    while isinstance(source, functools.partial):
        source = source.func
    if isinstance(source, Factory):
        source = source.make
    name: object = getattr(source, "__qualname__", None)
    if not isinstance(name, str):
        return f"an instance of {type_name(source)}"
    module = getattr(source, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) else name


def _text(reason: BaseException) -> str:
    try:
        text = str(reason)
    except BaseException:  # noqa: BLE001 - a broken __str__
        text = ""
    return f"{type(reason).__name__}: {text}" if text else type(reason).__name__


def _parts(obj: Any) -> Iterator[tuple[str, Any]]:
    """What an object consists of, each with words for it; never raises."""
    try:
        yield from _parts_of(obj)
    except Exception:  # noqa: BLE001 - an object that resists being looked into is its own culprit
        return


def _parts_of(obj: Any) -> Iterator[tuple[str, Any]]:
    same = obj  # which type checkers do not narrow to a type with unknown parameters
    if isinstance(obj, types.FunctionType):
        yield from _parts_of_function(obj)
    elif isinstance(obj, types.MethodType):
        yield "its instance", obj.__self__
        yield "its function", obj.__func__
    elif isinstance(obj, functools.partial):
        yield "its function", obj.func
        yield from ((f"bound argument {place}", value) for place, value in enumerate(obj.args))
        yield from ((f"bound argument {name!r}", value) for name, value in obj.keywords.items())
    elif isinstance(obj, Factory):
        yield "what makes it", obj.make
        yield "its tool class", obj.tool
    elif isinstance(obj, Mapping):
        for key, value in same.items():
            yield f"the value under {key!r:.60}", value
            yield f"the key {key!r:.60}", key
    elif isinstance(obj, list | tuple | set | frozenset):
        yield from ((f"item {place}", value) for place, value in enumerate(same))
    elif isinstance(obj, type):
        yield from ((f"attribute {name!r}", _plain(value)) for name, value in vars(obj).items() if name[:2] != "__")
        yield from ((f"base {base.__qualname__!r}", base) for base in obj.__bases__ if base is not object)
    else:
        yield from _parts_of_instance(obj)


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"captured {name!r}", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    for name, value in zip(positional[len(positional) - len(defaults) :], defaults, strict=False):
        yield f"the default of {name!r}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"the default of {name!r}", value
    for name in sorted(_names(code)):
        if name in function.__globals__:
            yield f"captured global {name!r}", function.__globals__[name]
    yield from ((f"attribute {name!r}", value) for name, value in function.__dict__.items())


def _names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _parts_of_instance(obj: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(obj, BaseException):
        yield from ((f"argument {place}", value) for place, value in enumerate(obj.args))
    yield from ((f"attribute {name!r}", value) for name, value in getattr(obj, "__dict__", {}).items())
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(obj, name):
                yield f"attribute {name!r}", getattr(obj, name)


def _plain(value: Any) -> Any:
    same = value
    return same.__func__ if isinstance(value, staticmethod | classmethod) else value
