"""Function: a named tool the model may call; with id and arguments set it is one call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from toolexec._by_hand import ByHand
from toolexec._declared import Schema, declare, declare_all
from toolexec._definition import Definition
from toolexec._errors import DeclarationError
from toolexec._registry import Registry
from toolexec._runner import Factory, resolve, stated
from toolexec._signature import EMPTY, Param

_ALONE: Mapping[str, Any] = MappingProxyType({})

T = TypeVar("T")
H = TypeVar("H", bound=Callable[..., Any])

if TYPE_CHECKING:
    from toolexec._outcome import Outcome
    from toolexec._parameters import Parameters
    from toolexec._return import Return
    from toolexec._task import Task
    from toolexec._tracer import Tracer


class Function(ByHand, Registry):
    """A tool, or one call of it.

    Most tools are declared with ``@tool`` or as a subclass of ``Tool``; this is what both become,
    and the form for tools put together at run time:

        fn = Function("run-command", "Runs a shell command")
        fn.define(run)

    A Function made by ``receive`` or ``bind`` is one call: it shares the definition with the tool
    it was made from, and nothing else.  Two calls are equal when both have an id and it is the same
    one; the engine itself goes by identity, never by id.

    Attributes:
        arguments: What the model sent: a dict, JSON text, or None.  Validated when the call starts.
        tracer: Told of this call, or None; a Context sets its own.
        model: The name of the model that asked, or None.
        intercept: Supervises this call, or None; a Context sets its own.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_admitted",
        "_called",
        "_definition",
        "_id",
        "_launching",
        "_rendered",
        "_runner",
        "arguments",
        "intercept",
        "model",
        "tracer",
    )

    def __init__(self, name: str, description: str = "", **options: Any) -> None:
        """Declare a tool without a body; ``define`` gives it one.

        Args:
            name: The name the model uses.
            description: The text the model reads.
            **options: As for ``@tool``; see ``ToolOptions``.

        Raises:
            DeclarationError: A name, option or value that cannot be.
        """
        try:
            definition = Definition(name, description, **options)
        except TypeError as exc:
            if isinstance(exc, DeclarationError):
                raise
            raise DeclarationError(f"tool {name!r}: {exc}; the options are those of @tool") from None
        self._init(definition)

    def _init(self, definition: Definition, id: str | None = None, arguments: Any = None) -> None:
        self._definition = definition
        self._id = id
        self.arguments: Any = arguments
        self.tracer: Tracer | None = None
        self.model: str | None = None
        self.intercept: Any = None
        self._admitted = False  # counted by its Context's guard and Budget
        self._runner: Any = None
        self._ahead = False
        self._called = self._cancelled = self._claimed = False
        self._return = self._task = None
        self._rendered: Parameters | None = None
        self._launching: Mapping[str, Any] = _ALONE  # what the Context that received it starts it with

    @classmethod
    def _of(cls, definition: Definition, id: str | None = None, arguments: Any = None) -> Function:
        self = Function.__new__(Function)
        self._init(definition, id, arguments)
        return self

    @classmethod
    def _unknown(cls, name: str, id: str | None, arguments: Any) -> Function:
        """A call of a tool that is not there; the name is whatever the model wrote."""
        definition = Definition("unknown")
        definition.name = name
        return cls._of(definition, id, arguments)

    def bind(self, arguments: Any = None, id: str | None = None) -> Function:
        """One call of this tool.

        Args:
            arguments: A dict, or JSON text as a model sent it.
            id: The call's id.
        """
        call = Function.__new__(Function)
        call._init(self._definition, id, arguments)
        call.tracer, call.model, call._rendered = self.tracer, self.model, self._rendered
        call.intercept = self.intercept
        return call

    # What it is

    @property
    def id(self) -> str | None:
        """The call's id; fixed once set."""
        return self._id

    @id.setter
    def id(self, value: str | None) -> None:
        if self._id is not None and value != self._id:
            raise ValueError(f"the id of this call is {self._id!r} and stays so; bind() makes another call")
        self._id = value

    @property
    def name(self) -> str:
        """The name the model uses."""
        return self._definition.name

    @property
    def description(self) -> str:
        """The text the model reads."""
        return self._definition.description

    @property
    def params(self) -> Schema:
        """JSON Schema of the arguments, an object, never None; called, it takes more: ``fn.params({"path": str})``.

        Reading it renders it: a parameter whose type is a function has that called anew, and later calls
        of this Function are held to what was read last.  What is called takes a JSON Schema, a dict of
        names and types, or a function that gives one of these at every rendering; of two parameters with
        one name the later counts.

        Raises:
            DeclarationError: A parameter's type has no JSON form.
        """
        return Schema(self._render().schema, self._add_params)

    def _add_params(self, given: Any) -> None:
        self._definition.declare(declare_all(self.name, given))
        self._rendered = self._runner = None
        self._render()

    def _render(self) -> Parameters:
        rendered = self._definition.render()
        self._rendered = rendered if self._definition.dynamic else None
        return rendered

    @property
    def _parameters(self) -> Parameters:
        """What its calls are held to."""
        return self._definition.parameters if self._rendered is None else self._rendered

    def param(
        self,
        name: str,
        type: Any = EMPTY,
        description: str = "",
        *,
        enum: Sequence[Any] | None = None,
        default: Any = EMPTY,
        required: bool | None = None,
    ) -> Callable[[T], T]:
        """Declare one parameter; see ``toolexec.parameter``.

        Returns:
            A decorator that gives back what it decorates, so that ``@fn.param(...)`` can stand above the
            function that ``@fn.define`` takes.

        Raises:
            DeclarationError: Something of it cannot be; or there is one of that name.
        """
        made = declare(self.name, name, type, description, enum=enum, default=default, required=required)
        if any(isinstance(there, Param) and there.name == name for there in self._definition.declared):
            raise DeclarationError(
                f"tool {self.name!r}, parameter {name!r}: it is declared twice; params(...) replaces one that is there"
            )
        self._definition.declare([made])
        self._rendered = None
        return _unchanged

    def adapt(self, provider: Any = "openai") -> dict[str, Any]:
        """The declaration of this tool in a provider's format: what its ``adapt_function(function)`` gives.

        Args:
            provider: A provider's name, or an object with that method, such as ``toolexec.OpenAI(strict=True)``.

        Raises:
            DeclarationError: The tool cannot be declared to that provider.
            FormatError: There is no such provider.
        """
        return self.declaration(provider)

    def declaration(self, provider: Any = "openai", *, strict: bool = False) -> dict[str, Any]:
        """The same as :meth:`adapt`.

        Args:
            provider: As there.
            strict: Whether the model is to be held to the schema, where the provider can do that.
        """
        from toolexec._formats import declarer  # see _launcher

        declared: dict[str, Any] = declarer(provider, strict=strict).adapt_function(self)
        return declared

    def define(self, source: T) -> T:
        """Set what runs the calls: a callable, a class or an instance with a ``call`` method.

        Usable as a decorator.

        Returns:
            What was given.
        """
        self._definition.define(source)
        self._runner = None
        return source

    def on_interrupt(self, hook: H) -> H:
        """Set the hook of a tool that is a function: it is called, once, when a call is interrupted.

        Usable as a decorator.  It takes nothing (in a class body: the instance) and may be async.
        Where and when it runs depends on the strategy; see the page on stopping a tool.

        Returns:
            What was given.

        Raises:
            DeclarationError: It cannot be called; or the tool is a class, which has methods for that.
        """
        self._definition.set_hook(hook)
        self._runner = None
        return hook

    @property
    def runner(self) -> Any:
        """The object that runs this call; resolved once, on first access, and kept.

        A Tool class gives a new instance, a tool given as an instance that instance.  A runner that
        has a ``tracer`` attribute is assigned this Function's.
        """
        if self._runner is None:
            runner = resolve(self._definition.source)
            if self.tracer is not None and hasattr(runner, "tracer"):
                runner.tracer = self.tracer
            self._runner = runner
        return self._runner

    @staticmethod
    def isolated() -> tuple[str, ...]:
        """Names of the installed strategies that run a call outside this process's memory."""
        from toolexec._discovery import isolated_names  # see _launcher

        return isolated_names()

    # Running it

    def call(self) -> Return:
        """Run the call here and now, on this thread, and answer it; nobody is asked whether it may."""
        return _launcher()(self, "sequential", supervised=False).wait(block_loop=True)

    def task(
        self,
        strategy: Any = None,
        *,
        timeout: float | None = None,
        on_progress: Callable[..., object] | None = None,
    ) -> Task:
        """Start the call.

        Args:
            strategy: A name, or what ``toolexec.strategy`` made; the tool's own by default, or else
                ``auto``.
            timeout: Seconds the call has, from the start of its body, beside the tool's own limit.
            on_progress: Called with every ``Progress`` the tool reports.

        Raises:
            UnknownStrategy, StrategyUnavailable: Nothing was started.
        """
        return _launcher()(self, strategy, call_timeout=timeout, on_progress=on_progress)

    def interrupt(self, reason: str = "interrupted") -> None:
        """Ask the call to stop, if it is in flight: then this is ``task.interrupt``.

        Otherwise it tells, on this thread, a runner that exists; nothing is built for it, and a Tool
        class that no call has made an instance of is not told.
        """
        task = self._task
        if task is not None:
            if task.alive:
                task.interrupt(reason)
            return
        runner = self._runner if self._runner is not None else self._definition.source
        if runner is None or isinstance(runner, type | Factory):
            return
        from toolexec._call_state import CallState  # see _launcher
        from toolexec._clock import MONOTONIC
        from toolexec._hook import run_hook

        run_hook(CallState(self._id, self.name, MONOTONIC, runner=runner), self._definition.loop)

    def _settle_deferred(self, answer: Outcome) -> Return:
        from toolexec._launch import launch_deferred  # see _launcher

        return launch_deferred(self, None, answer=answer, **self._launching).wait()

    # How it stands

    @property
    def called(self) -> bool:
        """Whether its body has begun, now or in the past."""
        return self._called

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._cancelled

    @property
    def pending(self) -> bool:
        """Whether it is neither claimed by a Group, called, cancelled nor answered."""
        return not (self._claimed or self._called or self._cancelled or self._return is not None)

    @property
    def skill(self) -> bool:
        """Whether a skill backs this tool."""
        return bool(stated(self._definition.source, "skill"))

    @property
    def mcp(self) -> bool:
        """Whether the tool's class says that it is an MCP tool."""
        source = self._definition.source
        return isinstance(source, type) and bool(getattr(source, "mcp", False))

    @property
    def a2a(self) -> bool:
        """Whether the tool's class says that it is an A2A tool."""
        source = self._definition.source
        return isinstance(source, type) and bool(getattr(source, "a2a", False))

    # Which call it is

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Function) or self._id is None or other._id is None:
            return False
        return self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id) if self._id is not None else object.__hash__(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{'' if self._id is None else f' id={self._id!r}'}>"

    def __reduce__(self) -> Any:
        # A worker needs the tool, never the state of a call.
        return _rebuild, (self._definition.parts(), self._id, self.arguments)


@functools.cache  # an import statement in its place would cost every call
def _launcher() -> Callable[..., Task]:
    """What starts calls, loaded by the first: who only declares tools does without, and without what it imports."""
    from toolexec._launch import launch_one

    return launch_one


def _unchanged(declared: T) -> T:
    return declared


def _rebuild(parts: dict[str, Any], id: str | None, arguments: Any) -> Function:
    return Function._of(Definition(**parts), id, arguments)
