"""Injection: parameters that the engine fills, and no model ever sees."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin

from toolexec._errors import DeclarationError, ToolexecError, UnsendableError
from toolexec._runner import is_async, yields_parts

if TYPE_CHECKING:
    from toolexec._signature import Param


class Inject:
    """Marks a parameter that the Context fills: ``db: Annotated[Database, Inject]``.

    Its value is ``Context(deps={Database: ...})``'s.  It is never in the schema and never taken from a
    model; what a model sends under its name is refused as any other unknown argument.
    """


class What(NamedTuple):
    """What one parameter is filled with.

    Attributes:
        kind: "call", "context", "tracer", or "dep".
        type: The class that ``deps`` is asked for; else None.
    """

    kind: str
    type: Any = None


class Later:
    """Stands for the CurrentCall of a call, until its worker has one to put in its place.

    Attributes:
        make: Makes that of the state of a call; it travels along, for a worker may not have loaded it.
    """

    __slots__ = ("make",)

    def __init__(self, make: _Make) -> None:
        self.make = make

    def __reduce__(self) -> Any:
        return Later, (self.make,)


class Given:
    """A dependency on its way to a worker.

    Attributes:
        name: Of the parameter.
        value: The dependency.
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name: str = name
        self.value: Any = value

    def __reduce__(self) -> Any:
        return Given, (self.name, self.value)


class Make:
    """Stands for a dependency that is made right before the body, where that runs.

    Attributes:
        make: Makes it.
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __reduce__(self) -> Any:
        return Make, (self.make,)


_Make: TypeAlias = Callable[[Any], Any]

_kinds: dict[type, str] = {}
_makers: list[_Make] = []


def injectable(cls: type, kind: str, make: _Make | None = None) -> None:
    """Parameters annotated with this class are the engine's to fill; told by the module that defines it.

    Args:
        cls: The class.
        kind: See ``What``.
        make: For "call": makes it of the state of a call.
    """
    _kinds[cls] = kind
    if make is not None:
        _makers.append(make)


def wanted(annotation: Any) -> What | None:
    """What the engine fills a parameter of this type with, or None for a model's."""
    if get_origin(annotation) is Annotated:
        base, *extras = get_args(annotation)
        if any(extra is Inject or isinstance(extra, Inject) for extra in extras):
            return What("dep", base)
        return wanted(base)
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return wanted(members[0]) if len(members) == 1 else None
    if isinstance(annotation, type):
        kind = _kinds.get(annotation)
        return None if kind is None else What(kind)
    return None


class Sources(NamedTuple):
    """Where the values for one call come from.

    Attributes:
        call: The state of the call.
        context: The Context it belongs to, or None.
        deps: What that Context's ``deps`` are.
        tracer: What its calls are told to.
        isolated: Whether its body runs where nothing of this process is reached.
    """

    call: Any
    context: Any
    deps: Mapping[Any, Any]
    tracer: Any
    isolated: bool


def injected_into(tool: str, params: Sequence[Param], sources: Sources) -> dict[str, Any]:
    """The values of the injected parameters, by name.

    Raises:
        UnsendableError: One of them cannot leave this process, and the body runs elsewhere.
    """
    values: dict[str, Any] = {}
    for param in params:
        what = param.inject
        if what is None or missing(param, sources.context, sources.deps) is not None:
            continue
        if what.kind == "call":
            values[param.name] = Later(_makers[0]) if sources.isolated else _makers[0](sources.call)
            continue
        if sources.isolated and what.kind != "dep":
            raise UnsendableError(
                f"tool {tool!r}: parameter {param.name!r} takes the {what.kind}, which stays in the process that holds "
                "it; use a strategy that runs in this process, such as thread"
            )
        if what.kind == "dep":
            value = sources.deps[what.type]
            travels = sources.isolated and type(value) is not Make
            values[param.name] = Given(param.name, value) if travels else value
        else:
            values[param.name] = sources.context if what.kind == "context" else sources.tracer
    return values


def missing(param: Param, context: Any, deps: Mapping[Any, Any]) -> str | None:
    """What there is no value from for an injected parameter, or None where there is one."""
    what = param.inject
    if what is None:
        return None
    if what.kind == "dep" and what.type not in deps:
        return f"Context(deps={{{_shown(what.type)}: ...}})"
    return "a Context" if what.kind == "context" and context is None else None


def check_injected(tool: str, params: Sequence[Param], context: Any, deps: Mapping[Any, Any]) -> None:
    """Refuse a tool, or a call that is in no Context, that has a parameter nothing can fill.

    Raises:
        ToolexecError: It names tool and parameter, and what would fill it.
    """
    for param in params:
        lacking = missing(param, context, deps)
        if lacking is not None and param.required:
            raise ToolexecError(
                f"tool {tool!r}: parameter {param.name!r} is filled from {lacking}, and there is none; "
                "give it to a Context that has"
            )


def check_deps(deps: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """A copy of ``Context(deps=...)``.

    Raises:
        DeclarationError: It is no mapping from types.
    """
    if deps is None:
        return {}
    if not isinstance(deps, Mapping):
        raise DeclarationError(f"deps is {deps!r}; it takes a dict: the type of a parameter, and its value")
    return dict(deps)


def put_in_place(
    body: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], call: Any
) -> tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]:
    """In a worker: body and arguments, with what was left for there or had to travel as what it is here."""
    values = (*args, *kwargs.values())
    if makes(values):
        body = with_made(body)
    if not any(type(value) is Later or type(value) is Given for value in values):
        return body, args, kwargs

    def arrived(value: Any) -> Any:
        return value.make(call) if type(value) is Later else value.value if type(value) is Given else value

    return body, [arrived(value) for value in args], {name: arrived(value) for name, value in kwargs.items()}


def makes(values: Iterable[Any]) -> bool:
    """Whether one of the values is still to be made."""
    return any(type(value) is Make for value in values)


def with_made(body: Callable[..., Any]) -> Callable[..., Any]:
    """A body that makes what is still to be made of its arguments, and is of the same kind: async, a generator."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return body(*map(_made, args), **{name: _made(value) for name, value in kwargs.items()})

    async def acall(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)  # in the loop: clients of a network ask for the one that runs

    def parts(*args: Any, **kwargs: Any) -> Any:
        yield from call(*args, **kwargs)

    async def aparts(*args: Any, **kwargs: Any) -> Any:
        async with aclosing(call(*args, **kwargs)) as made:
            async for part in made:
                yield part

    if is_async(body):
        return aparts if yields_parts(body) else acall
    return parts if yields_parts(body) else call


def _made(value: Any) -> Any:
    return value.make() if type(value) is Make else value


def _shown(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
