"""The ways to declare a tool: a subclass of Tool, and the ``@tool`` decorator."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeGuard,
    TypeVar,
    Unpack,
    overload,
)  # fmt: skip

from toolexec._declared import check_names
from toolexec._definition import OPTIONS, Definition, Deliver
from toolexec._docstrings import doc_of, summary_of
from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._loop_kind import LoopKind
from toolexec._registry import Registry
from toolexec._runner import declared_entry
from toolexec._signature import Param, shape_of

LAMBDA = (lambda: None).__name__
Kind: TypeAlias = Literal["", "static", "class"]
P = ParamSpec("P")
P2 = ParamSpec("P2")
R2 = TypeVar("R2")
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
        description: The text the model reads; without one, the first paragraph of the class's docstring,
            or else of ``call``'s.
        parameters: What is declared of them beside the signature of ``call``; see ``toolexec.parameter``.
        strategy: The tool's own strategy, or None.
        timeout: Seconds each call has, from the start of its body; then its Return is a ``timeout``.
        idle_timeout: Seconds a call may go without reporting progress.
        max_in_flight: How many of its calls may run at once in this process, or None.
        exclusive: Whether its calls run alone in their Group.
        idempotent: Whether a body may run again for one call, because twice does no harm.
        start_early: Whether a call may start while the response that asks for it still streams in.
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
    idempotent: ClassVar[bool] = False
    start_early: ClassVar[bool] = True
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
        _warn_of_misspelt(cls)
        # In a worker, a class that came by value passes here still empty: it is then no tool to find.
        if cls.parameters:
            _check_declared(cls)
        if isinstance(cls.__dict__.get("name"), str) and cls.__dict__["name"]:
            Registry.register(cls)


def _warn_of_misspelt(cls: type[Tool]) -> None:
    """Warn of attributes that are nearly ours.  No error, for they may be the author's own after all."""
    ours = [name for name in vars(Tool) if not name.startswith("_")] + ["name", "description"]
    for name, value in vars(cls).items():
        if name.startswith("_") or name in ours or callable(value) or hasattr(value, "__get__"):
            continue
        import difflib  # few classes have attributes of their own

        close = difflib.get_close_matches(name, ours, n=1, cutoff=0.9)
        if close and name != f"{close[0]}s":  # ``resources``, say, is likely another thing
            warnings.warn(
                f"tool class {cls.__qualname__}: toolexec knows no attribute {name!r}; did you mean {close[0]!r}?  If "
                "not, begin its name with an underscore",
                stacklevel=3,
            )


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
    check_names(name, cls.parameters, shape if kind_of(call) else shape[1:])


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
        idempotent: Whether a body may run again for one call, because twice does no harm: see ``Retry``.
        start_early: Whether a call may start while the response that asks for it still streams in
            (see ``Context.stream``); False for what cannot be taken back if the stream breaks.
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
    idempotent: bool
    start_early: bool
    resource: str | None
    loop: LoopKind
    deliver: Deliver
    json: Json


class DecoratedFunction(Function, Generic[P, R_co]):
    """What ``@tool`` makes of a function: a tool, and still the function when called."""

    __wrapped__: Callable[P, R_co]
    __name__: str
    __qualname__: str
    _kind: Kind
    _is_method: bool  # it stands in a class body, and waits for an instance

    def __init__(self, function: Callable[P, R_co], definition: Definition, kind: Kind = "") -> None:
        self._init(definition)
        functools.update_wrapper(self, function)
        self._kind = kind
        self._is_method = False

    def __set_name__(self, owner: type, name: str) -> None:
        # Only where it was written there: a tool of elsewhere may be an attribute of any class.
        if not self._kind and getattr(self, "__qualname__", "") == f"{owner.__qualname__}.{name}":
            self._is_method = True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the plain function, past the engine."""
        return self.__wrapped__(*args, **kwargs)

    # Any: were the binding typed, both checkers would take a parameter off ``@tool`` above ``@staticmethod``,
    # which they see as a plain function, and mypy would refuse an unmarked method that overrides a tool.
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """On an instance: the same tool, bound to that instance; a class method is bound to the class."""
        if self._kind == "class":
            return self._bound(type(instance) if owner is None else owner)
        function: Any = self.__wrapped__
        bound_already = isinstance(function, types.MethodType | types.BuiltinFunctionType | functools.partial)
        if instance is None or self._kind == "static" or bound_already or not hasattr(function, "__get__"):
            return self
        return self._bound(instance)

    def _bound(self, receiver: Any) -> DecoratedFunction[..., Any]:
        function: Any = self.__wrapped__
        bound: Callable[..., Any] = function.__get__(receiver, type(receiver))
        hook = self._definition.hook
        own = None if hook is None else functools.partial(hook, receiver)
        return DecoratedFunction(bound, self._definition.variant(source=bound, hook=own))

    def __reduce__(self) -> Any:
        # By reference where the name leads back here, so that a worker gets its module's own tool.
        module = sys.modules.get(self.__module__)
        found: Any = module
        path = str(getattr(self, "__qualname__", ""))  # a partial has none
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is self and self.__module__ != "__main__":
            return path
        return _redecorate, (self.__wrapped__, self._definition.parts(), self._kind)


def is_decorated(value: object) -> TypeGuard[DecoratedFunction[..., Any]]:
    """Whether ``@tool`` made it."""
    return isinstance(value, DecoratedFunction)


def kind_of(raw: Any) -> Kind:
    """What ``staticmethod`` and ``classmethod`` make of a function; "" for all else."""
    return "static" if isinstance(raw, staticmethod) else "class" if isinstance(raw, classmethod) else ""


def _redecorate(function: Callable[..., Any], parts: dict[str, Any], kind: Any) -> DecoratedFunction[..., Any]:
    return DecoratedFunction(function, Definition(**parts), kind)


class _Decorate(Protocol):
    """What ``@tool(...)`` is put on with."""

    @overload
    def __call__(self, function: classmethod[Any, P2, R2], /) -> DecoratedFunction[P2, R2]: ...
    @overload
    def __call__(self, function: Callable[P2, R2], /) -> DecoratedFunction[P2, R2]: ...


@overload
def tool(function: classmethod[Any, P, R_co], /) -> DecoratedFunction[P, R_co]: ...
@overload
def tool(function: Callable[P, R_co], /) -> DecoratedFunction[P, R_co]: ...
@overload
def tool(*, name: str | None = None, description: str | None = None, **options: Unpack[ToolOptions]) -> _Decorate: ...
def tool(
    function: Any = None,
    /,
    *more: object,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Make a tool of a function, sync or async; plain, or with options.

    Called directly it is still the plain function.  In a class body, each instance's method is a
    tool of its own; there it stands above or below ``classmethod`` and ``staticmethod``.

    Args:
        function: The function.
        more: Nothing: all but the function goes by name.
        name: The name the model uses; the function's own by default, and where it is blank.
        description: The text the model reads; the docstring's first paragraph by default, or else
            the name of the function.
        **options: See :class:`ToolOptions`.

    Raises:
        DeclarationError: An option or value that cannot be.
    """
    unknown = [option for option in options if option not in OPTIONS]
    if unknown:
        raise DeclarationError(
            f"@tool takes no option {', '.join(map(repr, unknown))}; it takes name, description, {', '.join(OPTIONS)}"
        )
    if more or isinstance(function, str):
        raise DeclarationError(
            f"@tool has {', '.join(map(repr, (function, *more)))} by position, where only the function may be; write "
            "@tool(name=..., description=...)"
        )

    def decorate(function: Any) -> DecoratedFunction[..., Any]:
        kind = kind_of(function)
        inner: Any = function.__func__ if kind else function
        if isinstance(inner, type) or not callable(inner):
            raise DeclarationError(
                f"@tool decorates a function, not {inner!r}; a Tool class, an instance of one, and a Function are "
                "tools as they are"
            )
        own = "" if getattr(inner, "__name__", "") == LAMBDA else getattr(inner, "__name__", "")
        called = first_given(name, own)
        if not called:
            shown = "lambda" if inspect.isfunction(inner) else type(inner).__name__
            raise DeclarationError(f"a {shown} has no name of its own: write @tool(name=...)")
        text = first_given(description, summary_of(doc_of(inner)), own, called)
        return DecoratedFunction(inner, Definition(called, text, inner, **options), kind)

    return decorate if function is None else decorate(function)


def first_given(*values: Any) -> Any:
    """The first that is not None and no blank text; "" if there is none."""
    return next((value for value in values if value is not None and str(value).strip()), "")


def class_definition(cls: type, source: Any) -> Definition:
    """What a class says of the tool that it is, or that its instances are.

    Args:
        cls: It has a ``call``.
        source: What runs the calls: the class, an instance or a factory.

    Raises:
        DeclarationError: It has no name, or something of it cannot be.
    """
    name = getattr(cls, "name", None)
    if not isinstance(name, str) or not name:
        raise DeclarationError(
            f"class {cls.__name__} has no name for the model: write  name = {cls.__name__.lower()!r}"
        )
    texts = summary_of(vars(cls).get("__doc__")), summary_of(doc_of(declared_entry(source)))
    description = first_given(getattr(cls, "description", None), *texts, name)
    options = {option: value for option in OPTIONS if (value := getattr(cls, option, None)) is not None}
    return Definition(name, description, source, declared=getattr(cls, "parameters", ()), **options)
