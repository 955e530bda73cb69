"""as_tool and as_tools: tools made of functions and methods that are there already."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from toolexec._definition import Definition
from toolexec._docstrings import summary_of
from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._json_options import Json
from toolexec._tool import DecoratedFunction, is_decorated

P = ParamSpec("P")
R = TypeVar("R")


def as_tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    this: Any = None,
    json: Json | None = None,
) -> DecoratedFunction[P, R]:
    """A tool that calls a function, which itself stays as it is.

        tool = as_tool(connection.query)
        tool = as_tool(Connection.query, this=connection)

    Takes a function, sync or async, a method of an object, a class or static method, a partial, an
    object with ``__call__``, a builtin that has a signature, and what ``@tool`` made.  What a partial
    has bound is not the model's to send.  Called directly, the tool is the plain function.

    A method that is marked by ``@tool`` has what the mark says.  One that is not has it from the nearest
    class it inherits from whose method of that name is marked: name, description, options and the
    texts of its parameters.

    Args:
        function: What is called.
        name: The name the model uses; by default the mark's, or else the function's own.
        description: The text the model reads; by default the mark's, or else the first paragraph of the
            docstring, or else the function's name.
        this: The object to work on, for a method that was taken from its class; for nothing else.
        json: How arguments are read and results written.

    Raises:
        DeclarationError: It cannot be called, has no signature or name, lacks ``this`` or has no use for
            it, or a parameter has a type without a JSON form.
    """
    made: Any = _make(_find(function, this), name, description, json)
    _ = made._definition.parameters  # types that have no JSON form are found here, never at a call
    tool: DecoratedFunction[P, R] = made
    return tool


def as_tools(obj: object, interface: type | None = None) -> list[Function]:
    """All methods of an object that are marked by ``@tool``, by themselves or by what they inherit from.

    Args:
        obj: An object; or a class, for its class and static methods.
        interface: A class or Protocol that the object implements: then only what is marked there, or in
            what that inherits from.

    Returns:
        Tools, in the order of their names.

    Raises:
        DeclarationError: There is no marked method; the object does not implement the interface.
    """
    cls = obj if isinstance(obj, type) else type(obj)
    where = cls if interface is None else interface
    names = sorted({name for base in where.__mro__ for name in vars(base) if _mark_in(where, name) is not None})
    if not names:
        raise DeclarationError(f"{where.__name__} has no method that is marked as a tool: write @tx.tool above one")
    made: list[Function] = []
    for name in names:
        if isinstance(obj, type) and _is_plain_method(cls, name):
            continue  # there is no object it could work on
        method: Any = getattr(obj, name, None)
        if method is None:
            raise DeclarationError(f"{cls.__name__} does not implement {where.__name__}: it has no method {name!r}")
        if isinstance(method, types.MethodType) and not is_decorated(method.__func__):
            # A structural type is none of the object's ancestors, and its marks count all the same.
            found = _found_for(method, _mark_in(cls, name) or _mark_in(where, name))
        else:
            found = _find(method, None)
        made.append(_make(found, None, None, None))
        _ = made[-1].params
    return sorted(made, key=lambda tool: tool.name)


class _Found(NamedTuple):
    """What ``as_tool`` was given.

    Attributes:
        called: What a call calls.
        inner: What has the name and the texts.
        mark: The tool that ``@tool`` made of it, or of what it inherits from; or None.
        marked_itself: Whether the mark is its own.
        receiver: What it is bound to, or None.
        plain: The function without its receiver.
    """

    called: Any
    inner: Any
    mark: DecoratedFunction[..., Any] | None = None
    marked_itself: bool = False
    receiver: Any = None
    plain: Any = None


def _make(found: _Found, name: str | None, description: str | None, json: Json | None) -> DecoratedFunction[..., Any]:
    mark = found.mark
    own = str(getattr(found.inner, "__name__", "")) or type(found.inner).__name__
    if mark is None:
        if name is None and own == "<lambda>":
            raise DeclarationError("a lambda has no name of its own: write tx.as_tool(..., name=...)")
        text = summary_of(found.inner) or name or own
        parts: dict[str, Any] = {"name": own, "description": text, "source": found.called}
    else:
        made = mark if found.receiver is None else mark._bound(found.receiver, found.plain)
        parts = made._definition.parts()
        if not found.marked_itself:
            parts["documented"] = mark.__wrapped__
    given = {"name": name, "description": description, "json": json}
    parts.update({key: value for key, value in given.items() if value is not None})
    definition = Definition(**parts)
    if mark is not None:
        definition.strategy, definition.limits = mark._definition.strategy, mark._definition.limits
    return DecoratedFunction(found.called, definition, "static")


def _find(function: Any, this: Any) -> _Found:
    if isinstance(function, staticmethod):
        function = cast("Any", function).__func__
    if is_decorated(function):
        return _find_marked(function, this)
    if isinstance(function, Function):
        raise DeclarationError(f"as_tool takes a function; {function.name!r} is a tool already")
    if isinstance(function, type) or not callable(function):
        raise DeclarationError(f"as_tool takes a function, a method or an object that can be called, not {function!r}")
    if this is not None:
        function = _bind(function, this)
    if isinstance(function, types.MethodType):
        return _find_method(function)
    if _owner_of(function) is not None:
        raise _receiver_missing(function)
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    if is_decorated(inner):
        inner = inner.__wrapped__
    return _Found(function, inspect.unwrap(inner) if inspect.isroutine(inner) else inner)


def _bind(function: Any, this: object) -> Any:
    bound_to: object = getattr(function, "__self__", None)
    if bound_to is not None and not inspect.ismodule(bound_to):
        raise DeclarationError(f"{_shown(function)} is bound already, to {bound_to!r}: leave out this=")
    owner = _owner_of(function)
    if owner is None:
        raise DeclarationError(f"{_shown(function)} is no method that was taken from a class: leave out this=")
    _check_this(function, owner, this)
    return function.__get__(this, type(this))


def _check_this(function: Any, owner: object, this: object) -> None:
    if isinstance(owner, type) and not isinstance(this, owner):
        raise DeclarationError(f"this is {this!r}: {_shown(function)} works on a {owner.__name__}")


def _receiver_missing(function: Any) -> DeclarationError:
    return DeclarationError(
        f"{_shown(function)} is a method that was taken from its class, and has no object to work on: "
        "take it from an instance, or give this=..."
    )


def _find_marked(tool: DecoratedFunction[..., Any], this: Any) -> _Found:
    plain: Any = tool.__wrapped__
    if not tool._needs_receiver:
        if this is not None:
            raise DeclarationError(f"{_shown(plain)} needs no object to work on: leave out this=")
        return _Found(plain, inspect.unwrap(plain), tool, marked_itself=True)
    if this is None:
        raise _receiver_missing(plain)
    _check_this(plain, tool._owner, this)
    return _Found(plain.__get__(this, type(this)), plain, tool, marked_itself=True, receiver=this, plain=plain)


def _find_method(method: types.MethodType) -> _Found:
    receiver: Any = method.__self__
    plain: Any = method.__func__
    if is_decorated(plain):  # what ``@classmethod`` above ``@tool`` gives from 3.13 on
        inner: Any = plain.__wrapped__
        bound: Any = inner.__get__(receiver, type(receiver))
        return _Found(bound, inner, plain, marked_itself=True, receiver=receiver, plain=inner)
    return _found_for(method, _mark_in(receiver if isinstance(receiver, type) else type(receiver), method.__name__))


def _found_for(method: types.MethodType, mark: DecoratedFunction[..., Any] | None) -> _Found:
    return _Found(method, method.__func__, mark, receiver=method.__self__, plain=method.__func__)


def _mark_in(cls: type, name: str) -> DecoratedFunction[..., Any] | None:
    """The nearest mark of a method of that name, from the class up."""
    for base in cls.__mro__:
        there: Any = vars(base).get(name)
        if isinstance(there, classmethod | staticmethod):
            there = cast("Any", there).__func__
        if is_decorated(there):
            return there
    return None


def _is_plain_method(cls: type, name: str) -> bool:
    there: Any = inspect.getattr_static(cls, name)
    if is_decorated(there):
        return there._binding == "instance"
    return not isinstance(there, classmethod | staticmethod)


def _owner_of(function: Any) -> Any:
    """The class that a plain function is a method of, as far as can be told; True where it cannot be named."""
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return function.__objclass__
    qualname: str = getattr(function, "__qualname__", "")
    outer, _, name = qualname.rpartition(".")
    if not isinstance(function, types.FunctionType) or not outer or outer.endswith("<locals>"):
        return None
    found: Any = sys.modules.get(function.__module__)
    for part in outer.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type):
        return None if isinstance(inspect.getattr_static(found, name, None), staticmethod) else found
    # A class in a function: nothing leads to it.
    first = next(iter(inspect.signature(function).parameters), "")
    return True if first in ("self", "cls", "this") else None


def _shown(function: Any) -> str:
    return str(getattr(function, "__qualname__", "")) or repr(function)
