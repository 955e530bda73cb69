"""The ways to declare a tool: a subclass of Tool, the ``@tool`` decorator, a factory."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypeAlias,
    TypedDict,
    TypeGuard,
    TypeVar,
    Unpack,
    cast,
    get_type_hints,
    overload,
)

from toolexec._declared import check_names
from toolexec._definition import OPTIONS, Definition, Deliver
from toolexec._docstrings import summary_of
from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._loop_kind import LoopKind
from toolexec._registry import Registry
from toolexec._runner import Factory
from toolexec._signature import Param, shape_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)


class Tool(Registry):
    """The class form of a tool: subclass it, name it, give it ``call``.

        class ReadFile(Tool):
            name = "read-file"
            description = "Read a file from disk"

            def call(self, path: str) -> dict: ...

    Given to a Context as a class, every call gets an instance of its own, made without arguments;
    given as an instance, that instance serves all its calls.  The options of ``@tool`` are class
    attributes here.  An ``on_cancel`` (or else ``on_interrupt``) method, where there is one, is the
    hook.  A subclass with a name is put into the registry.

    Attributes:
        name: The name the model uses.
        description: The text the model reads; without one, the class's docstring.
        parameters: What is declared of them beside the signature of ``call``; see ``toolexec.parameter``.
        strategy: The tool's own strategy, or None.
        timeout: Seconds each call has, from the start of its body; then its Return is a ``timeout``.
        idle_timeout: Seconds a call may go without reporting progress.
        max_in_flight: How many of its calls may run at once in this process, or None.
        exclusive: Whether its calls run alone in their Group.
        resource: Calls that name one resource never overlap.
        loop: The kind of loop an async ``call`` gets where it has to bring its own.
        deliver: "raise", or "poll": then nothing is raised in a thread that runs ``call``.
        json: How arguments are read and results written.
    """

    parameters: ClassVar[Sequence[Param]] = ()
    name: ClassVar[str]
    description: ClassVar[str]
    strategy: ClassVar[Any] = None
    timeout: ClassVar[float | None] = None
    idle_timeout: ClassVar[float | None] = None
    max_in_flight: ClassVar[int | None] = None
    exclusive: ClassVar[bool] = False
    resource: ClassVar[str | None] = None
    loop: ClassVar[LoopKind] = "asyncio"
    deliver: ClassVar[Deliver] = "raise"
    json: ClassVar[Json] = AS_WRITTEN
    skill: ClassVar[bool] = False
    mcp: ClassVar[bool] = False
    a2a: ClassVar[bool] = False

    call: Callable[..., Any]
    """What the tool does; the parameters of its signature are the tool's."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # In a worker, a class that came by value passes here still empty: it is then no tool to find.
        if cls.parameters:
            _check_declared(cls)
        if isinstance(cls.__dict__.get("name"), str) and cls.__dict__["name"]:
            Registry.register(cls)


def _check_declared(cls: type[Tool]) -> None:
    name = getattr(cls, "name", None) or cls.__name__
    wrong = next((item for item in cls.parameters if not isinstance(item, Param)), None)
    if wrong is not None:
        raise DeclarationError(f"tool {name!r}: parameters has {wrong!r}; it takes what toolexec.parameter(...) gives")
    call = inspect.getattr_static(cls, "call", None)
    if call is None:
        return  # a subclass will bring it
    try:
        shape = shape_of(cls.call)
    except (ValueError, TypeError):  # nothing to hold it against; the first rendering says so
        return
    check_names(name, cls.parameters, shape if isinstance(call, staticmethod | classmethod) else shape[1:])


class ToolOptions(TypedDict, total=False):
    """The options of a tool.

    Attributes:
        strategy: Its own strategy: a name, or what ``toolexec.strategy`` made.
        timeout: Seconds each call has, from the start of its body; then it is stopped, and its Return
            is a ``timeout``.
        idle_timeout: Seconds a call may go without reporting progress.
        max_in_flight: How many of its calls may run at once in this process.
        exclusive: Whether its calls run alone in their Group: after every call before them has
            settled, and before any after them starts.
        resource: Calls that name one resource never overlap.
        loop: "asyncio" or "trio": the loop of an async body where it has to bring its own.
        deliver: How an interrupt reaches a sync body on a thread: "raise" raises ``Interrupt`` in it,
            "poll" leaves it to ask (``checkpoint``, ``interrupted``).
        json: How arguments are read and results written.
    """

    strategy: Any
    timeout: float | None
    idle_timeout: float | None
    max_in_flight: int | None
    exclusive: bool
    resource: str | None
    loop: LoopKind
    deliver: Deliver
    json: Json


Binding: TypeAlias = Literal["instance", "class", "static"]


class DecoratedFunction(Function, Generic[P, R_co]):
    """What ``@tool`` makes of a function: a tool, and still the function when called."""

    __slots__ = ("__dict__",)

    __wrapped__: Callable[P, R_co]
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, R_co], definition: Definition, binding: Binding = "instance") -> None:
        self._init(definition)
        self._binding: Binding = binding
        self._owner: type | None = None  # the class in whose body it stands, as a method
        functools.update_wrapper(self, function)

    def __set_name__(self, owner: type, name: str) -> None:
        # Not where a tool that was made elsewhere is given a second name in some class.
        if getattr(self, "__qualname__", "") == f"{owner.__qualname__}.{getattr(self, '__name__', '')}":
            self._owner = owner

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the plain function, past the engine."""
        return self.__wrapped__(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: DecoratedFunction[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None
    ) -> DecoratedFunction[Q, R_co]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """On an instance: the same tool, bound to that instance."""
        if self._binding == "static" or (instance is None and self._binding == "instance"):
            return self
        receiver = instance if self._binding == "instance" else (owner or type(instance))
        return self._bound(receiver, self.__wrapped__)

    def _bound(self, receiver: object, function: Any) -> DecoratedFunction[..., Any]:
        """This tool with a function of ``receiver``'s as its body, and its hook bound alike."""
        own = self._definition
        hook = None if own.hook is None else functools.partial(own.hook, receiver)
        bound: Callable[..., Any] = function.__get__(receiver, type(receiver))
        parts: dict[str, Any] = {**own.parts(), "source": bound, "hook": hook}
        definition = Definition(**parts)
        definition.strategy = own.strategy
        definition.limits = own.limits  # max_in_flight is the tool's, not the instance's
        return DecoratedFunction(bound, definition)

    @property
    def _needs_receiver(self) -> bool:
        """Whether it is a method that was taken from its class, and has nothing to work on."""
        return self._owner is not None and self._binding != "static"

    def __reduce__(self) -> Any:
        # By reference where the name leads back here, so that a worker gets its module's own tool.
        qualname: str = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for part in qualname.split("."):
            found = getattr(found, part, None)
        if found is self and self.__module__ != "__main__":
            return qualname
        return _redecorate, (self.__wrapped__, self._definition.parts(), self._binding)


def is_decorated(value: object) -> TypeGuard[DecoratedFunction[..., Any]]:
    """``isinstance(value, DecoratedFunction)``, for both type checkers."""
    return isinstance(value, DecoratedFunction)


def _redecorate(
    function: Callable[..., Any], parts: dict[str, Any], binding: Binding = "instance"
) -> DecoratedFunction[..., Any]:
    return DecoratedFunction(function, Definition(**parts), binding)


@overload
def tool(function: classmethod[Any, P, R_co], /) -> DecoratedFunction[P, R_co]: ...
@overload
def tool(function: Callable[P, R_co], /) -> DecoratedFunction[P, R_co]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, **options: Unpack[ToolOptions]
) -> Callable[[Callable[P, R_co]], DecoratedFunction[P, R_co]]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Make a tool of a function, sync or async; plain, or with options.

    Called directly it is still the plain function.  In a class body, each instance's method is a
    tool of its own.

    Args:
        function: The function.
        name: The name the model uses; the function's own by default.
        description: The text the model reads; the docstring's first paragraph by default, or else
            the name.
        **options: See :class:`ToolOptions`.

    Raises:
        DeclarationError: An option or value that cannot be.
    """
    unknown = [option for option in options if option not in OPTIONS]
    if unknown:
        raise DeclarationError(f"@tool takes no option {', '.join(map(repr, unknown))}; it takes {', '.join(OPTIONS)}")

    def decorate(function: Any) -> DecoratedFunction[..., Any]:
        binding: Binding = "instance"
        inner: Any = function
        if isinstance(function, staticmethod | classmethod):
            inner = cast("Any", function).__func__
            binding = "static" if isinstance(function, staticmethod) else "class"
        if not callable(inner):
            raise DeclarationError(f"@tool decorates a function, not {inner!r}")
        own: str = name or str(getattr(inner, "__name__", ""))
        if not own:
            raise DeclarationError(f"a {type(inner).__name__} has no name of its own: write @tool(name=...)")
        texts: str = description or summary_of(inner) or own
        return DecoratedFunction(inner, Definition(own, texts, inner, **options), binding)

    return decorate if function is None else decorate(function)


def factory(make: Callable[[], Any], *, tool: type | None = None) -> Function:
    """A tool whose instances are made by ``make``, a fresh one for every call.

    Args:
        make: Takes nothing, returns the instance.
        tool: The class that declares name, description, options and parameters.  Without it the
            return annotation of ``make`` says, or else one instance is made now and dropped.

    Raises:
        DeclarationError: What it makes is no tool.
    """
    if not callable(make):
        raise DeclarationError(f"factory takes a function that makes an instance, not {make!r}")
    declared = tool if tool is not None else _made_by(make)
    if not callable(getattr(declared, "call", None)):
        raise DeclarationError(f"factory: {declared.__name__} has no method named 'call'")
    return Function._of(_class_definition(declared, Factory(make, declared)))


def _made_by(make: Callable[[], Any]) -> type:
    try:
        annotated = get_type_hints(make).get("return")
    except (NameError, TypeError):
        annotated = None
    return annotated if isinstance(annotated, type) and hasattr(annotated, "call") else type(make())


def as_function(tool: object) -> Function:
    """The Function for anything that declares a tool.

    Raises:
        DeclarationError: It declares none.
    """
    behind: object = getattr(tool, "__func__", None)
    if is_decorated(behind):
        # What ``@classmethod`` above ``@tool`` gives from 3.13 on.
        tool = behind._bound(getattr(tool, "__self__", None), behind.__wrapped__)
    if is_decorated(tool) and tool._needs_receiver:
        raise DeclarationError(
            f"tool {tool.name!r} is a method that was taken from its class, and has no object to work on; "
            "take it from an instance, or write tx.as_tool(method, this=...)"
        )
    if isinstance(tool, Function):
        if tool._definition.source is None:
            raise DeclarationError(f"tool {tool.name!r} has no body; give it one with define()")
        return tool
    if isinstance(tool, type) and callable(getattr(tool, "call", None)):
        return Function._of(_class_definition(tool, tool))
    if not isinstance(tool, type) and callable(getattr(tool, "call", None)):
        return Function._of(_class_definition(type(tool), tool))
    raise DeclarationError(_no_tool(tool))


def _no_tool(value: Any) -> str:
    name = str(getattr(value, "__qualname__", "")) or f"a {type(value).__name__}"
    text = f"{name} declares no tool: give a Tool class, an instance or a Function"
    if callable(value):
        text = f"{name} is callable and declares no tool; make one of it with tx.as_tool({name})"
    if isinstance(value, type) and issubclass(value, Tool):
        text = f"tool class {name} has no method named 'call'"
    return text


def _class_definition(cls: type, source: Any) -> Definition:
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not name:
        raise DeclarationError(
            f"class {cls.__name__} has no name for the model: write  name = {cls.__name__.lower()!r}"
        )
    description = getattr(cls, "description", None) or summary_of(cls) or name
    options = {option: value for option in OPTIONS if (value := getattr(cls, option, None)) is not None}
    declared = getattr(cls, "parameters", ())
    return Definition(name, description, source, declared=declared, **options)
