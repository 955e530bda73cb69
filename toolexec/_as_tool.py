"""as_tool and as_tools: tools made of functions and objects that know nothing of tools, or little."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, overload

from toolexec._as_function import unbound
from toolexec._definition import Definition
from toolexec._docstrings import doc_of, summary_of, texts_of
from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._marks import (
    class_for,
    class_of,
    is_method,
    kind_in_class,
    mark_in,
    mark_of,
    mark_of_static,
    needs_receiver,
    place_of,
    plain_of,
)  # fmt: skip
from toolexec._runner import stated
from toolexec._signature import params_of, shape_of, with_texts
from toolexec._tool import LAMBDA, DecoratedFunction, first_given, is_decorated, kind_of

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_MISSING: Any = object()


class _Found(NamedTuple):
    """What a tool is made of.

    Attributes:
        body: What runs a call; nothing is left to be bound.
        mark: The ``@tool`` that counts for it, its own or the nearest ancestor's, or None.
        receiver: What the mark's hook is told on, or _MISSING where the hook has it already or needs none.
    """

    body: Any
    mark: DecoratedFunction[..., Any] | None = None
    receiver: Any = _MISSING


@overload
def as_tool(
    function: Callable[Concatenate[S, P], R],
    *,
    this: S,
    name: str | None = None,
    description: str | None = None,
    json: Json = AS_WRITTEN,
) -> DecoratedFunction[P, R]: ...
@overload
def as_tool(
    function: classmethod[Any, P, R],
    *,
    this: object,
    name: str | None = None,
    description: str | None = None,
    json: Json = AS_WRITTEN,
) -> DecoratedFunction[P, R]: ...
@overload
def as_tool(
    function: Callable[P, R],
    *,
    this: None = None,
    name: str | None = None,
    description: str | None = None,
    json: Json = AS_WRITTEN,
) -> DecoratedFunction[P, R]: ...
def as_tool(
    function: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    this: Any = None,
    json: Json = AS_WRITTEN,
) -> DecoratedFunction[..., Any]:
    """Make a tool of a function that was written without one in mind; sync or async.

    It takes functions, methods of an instance, class and static methods, what ``functools.partial``
    makes (what it has bound is not the model's to say), objects that can be called, and builtins that
    tell their signature.  A method that overrides one marked with ``@tool`` needs no mark: the name,
    the texts and the options are then those of the nearest marked one above it.  A method with a mark
    of its own has nothing from above.

    Called directly, what comes out is still the function.

    Args:
        function: It, or what ``@tool`` made of it.
        name: The name the model uses; by default the mark's, or else the function's.
        description: The text the model reads; by default the mark's, or else the docstring's first
            paragraph, or else the function's name.
        this: The instance (for a class method the class) that a method taken from its class is called on.
        json: How arguments are read and results written; by default as the mark says.

    Raises:
        DeclarationError: It is nothing of these, has no name, needs ``this`` or has no use for it, or the type of
            a parameter has no JSON form.
    """
    found = _found(function, this)
    return _made(found, name, description, json)


def as_tools(obj: object, interface: type | None = None) -> list[Function]:
    """The tools of an object: every method that ``@tool`` marks, in its class or above it, by order of their names.

    Args:
        obj: An instance; or a class, of which only class and static methods can be tools.
        interface: A class, a Protocol or an ABC: the tools are those marked in it or above it, under the names
            and with the texts that they have there, and no others.

    Raises:
        DeclarationError: There are none; or see ``as_tool``.
    """
    cls = obj if isinstance(obj, type) else type(obj)
    shown: Any = cls if interface is None else interface
    if not isinstance(shown, type):
        raise DeclarationError(f"as_tools: interface is {shown!r}; it takes a class")
    tools: list[Function] = []
    for attribute in dict.fromkeys(name for base in shown.__mro__ for name in vars(base)):
        mark = mark_in(shown.__mro__, attribute)
        if mark is None or not is_method(inspect.getattr_static(shown, attribute)):
            continue
        raw = inspect.getattr_static(cls, attribute, None)
        if not is_method(raw):
            raise DeclarationError(f"as_tools: {cls.__name__} has no method {attribute!r}, a tool of {shown.__name__}")
        tools.append(_made(_bound(raw, obj, mark), None, None, AS_WRITTEN))
    if not tools:
        where = f"{shown.__name__}, or above it," if interface is not None else f"{cls.__name__}, or above it,"
        raise DeclarationError(
            f"as_tools: no method of {where} is marked with @tx.tool; mark those that are for the model, or give "
            "single ones to tx.as_tool"
        )
    return sorted(tools, key=lambda function: function.name)


def _made(found: _Found, name: str | None, description: str | None, json: Json) -> DecoratedFunction[..., Any]:
    body, mark = found.body, found.mark
    if mark is None:
        own = _name_of(body)
        if name is None and not own:
            raise DeclarationError("a lambda has no name of its own: write tx.as_tool(function, name=...)")
        called = own if name is None else name
        text = first_given(description, _summary(body), own, called)
        tool = DecoratedFunction(body, Definition(called, text, body, json=json))
    elif mark.__wrapped__ is body and name is None and json is AS_WRITTEN and not first_given(description):
        tool = mark
    else:
        marked = mark._definition
        hook = marked.hook
        if hook is not None and found.receiver is not _MISSING:
            hook = functools.partial(hook, found.receiver)
        definition = marked.variant(
            name=marked.name if name is None else name,
            description=first_given(description, marked.description),
            source=body,
            hook=hook,
            json=marked.json if json is AS_WRITTEN else json,
            texts=marked.texts or _texts_from_above(mark, body),
        )
        tool = DecoratedFunction(body, definition)
    _ = tool.params  # types that have no JSON form are found here, never at a call
    return tool


# What it is made of


def _found(function: Any, this: Any) -> _Found:
    if _is_partial(function):
        return _of_partial(function, this)
    if kind_of(function) == "class" or needs_receiver(function, this):
        if this is None:
            raise DeclarationError(unbound(_path(function)))
        return _on(function, this)
    if this is not None:
        raise DeclarationError(
            f"{_path(function)} takes no this= ({_a(this)}): it is no method of a class, or it is bound already; leave "
            "this= out"
        )
    if is_decorated(function):
        return _Found(function.__wrapped__, function)
    if isinstance(function, Function):
        raise DeclarationError(f"tool {function.name!r} is a tool already; give it to the Context as it is")
    if isinstance(function, types.MethodType):
        plain = plain_of(function.__func__)  # it may be a tool: ``classmethod`` above ``@tool``
        return _Found(types.MethodType(plain, function.__self__), mark_of(function), function.__self__)
    if isinstance(function, type) or not (callable(function) or kind_of(function)):
        raise DeclarationError(
            f"as_tool takes functions, methods and objects that can be called, not {_a(function)}; a Tool class, and "
            "an instance of one, go to the Context as they are"
        )
    if not inspect.isroutine(function) and callable(stated(function, "call")):
        raise DeclarationError(f"{_a(function)} is a tool already; give it to the Context as it is")
    return _Found(plain_of(function), mark_of_static(function))


def _of_partial(function: Any, this: Any) -> _Found:
    inner: Any = function.func
    if function.args and needs_receiver(inner, None):
        if this is not None:
            raise DeclarationError(f"{_path(inner)} has its receiver already, from the partial; leave this= out")
        bound = types.MethodType(plain_of(inner), function.args[0])
        mark = inner if is_decorated(inner) else mark_of(bound)
        return _Found(functools.partial(bound, *function.args[1:], **function.keywords), mark, bound.__self__)
    found = _found(inner, this)
    return found._replace(body=functools.partial(found.body, *function.args, **function.keywords))


def _is_partial(function: Any) -> bool:
    return isinstance(function, functools.partial)


def _on(function: Any, this: Any) -> _Found:
    """A method taken from its class, on an instance: what the instance's own class has in its place runs."""
    cls, plain = class_for(this), plain_of(function)
    place = place_of(cls, plain)
    if place is not None:
        bases, attribute = cls.__mro__[place[0] :], place[1]
    else:  # perhaps of an interface that the class follows without inheriting from it
        bases, attribute = getattr(class_of(plain), "__mro__", ()), str(getattr(plain, "__name__", ""))
    raw = inspect.getattr_static(cls, attribute, None)
    if not bases or not is_method(raw):
        raise DeclarationError(f"{_path(function)} is no method of {_a(this)}; this= takes an instance of its class")
    return _bound(raw, this, mark_in(bases, attribute) or mark_in(cls.__mro__, attribute))


def _bound(raw: Any, this: Any, mark: DecoratedFunction[..., Any] | None) -> _Found:
    """What stands in a class, bound to an instance, or to the class where it is a class method."""
    plain = plain_of(raw)
    kind = kind_in_class(raw)
    if kind == "static":
        return _Found(plain, mark)
    if kind == "class":
        return _Found(types.MethodType(plain, class_for(this)), mark, class_for(this))
    if isinstance(this, type):
        raise DeclarationError(unbound(_path(plain)))
    return _Found(plain.__get__(this, type(this)) if hasattr(plain, "__get__") else plain, mark, this)


def _texts_from_above(mark: DecoratedFunction[..., Any], body: Any) -> dict[str, str]:
    """What the marked method says of its parameters, where ``body`` is another that overrides it."""
    if _innermost(mark.__wrapped__) is _innermost(body):
        return {}
    marked: Any = mark.__wrapped__
    try:
        params = with_texts(params_of(mark.name, marked), {}, doc_of(marked))
    except DeclarationError:
        # A type that only the module of the override can resolve; a docstring asks for no types.
        return texts_of(doc_of(marked), [parameter.name for parameter in shape_of(marked)])
    return {param.name: param.description for param in params if param.description}


# What it is called


def _name_of(body: Any) -> str:
    """The function's name; of an object that of its class; "" for a lambda."""
    inner = _innermost(body)
    name = getattr(inner, "__name__", None)
    if not isinstance(name, str):
        name = type(inner).__name__
    return "" if name == LAMBDA else name


def _summary(body: Any) -> str:
    inner = _innermost(body)
    told = summary_of(doc_of(inner))
    return told if told or inspect.isroutine(inner) else summary_of(vars(class_for(inner)).get("__doc__"))


def _innermost(body: Any) -> Any:
    while isinstance(body, functools.partial):
        body = body.func
    return body.__func__ if isinstance(body, types.MethodType) else body


def _path(function: Any) -> str:
    inner = _innermost(plain_of(function))
    return str(getattr(inner, "__qualname__", type(inner).__name__))


def _a(value: Any) -> str:
    return f"class {value.__name__}" if isinstance(value, type) else f"an object of type {type(value).__name__}"
