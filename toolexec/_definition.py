"""Definition: what is the same for every call of one tool."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from toolexec._declared import Source, check_complete, check_names, combine, is_dynamic, merge, resolved
from toolexec._docstrings import doc_of
from toolexec._errors import DeclarationError
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._loop_kind import LoopKind
from toolexec._runner import Factory, WithHook, declared_entry, entry, is_async, stated
from toolexec._schedule import Limit, resource_limit
from toolexec._signature import (
    EMPTY,
    KEYWORD_ONLY,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Param,
    closed_names,
    found_from,
    params_of,
    shape_of,
    with_texts,
)
from toolexec._time_limits import NO_LIMITS, TimeLimits, check_limit

if TYPE_CHECKING:
    from toolexec._parameters import Parameters

Deliver = Literal["raise", "poll"]

# The options of a tool, as ``@tool`` and the class form take them.
OPTIONS = (
    "strategy",
    "timeout",
    "idle_timeout",
    "max_in_flight",
    "exclusive",
    "idempotent",
    "start_early",
    "resource",
    "loop",
    "deliver",
    "json",
)


class Definition:
    """A tool's name, texts, options and what runs it; shared by all Functions made from one.

    Attributes:
        name: The name the model uses.
        description: The text the model reads.
        body: What was declared: a Tool class, an instance, a Factory or a callable; None while
            nothing was defined.
        hook: What is told of an interrupt, for a body that is a function, or None.
        source: What a call's runner comes from: ``body``, with the hook where there is one.
        strategy: The tool's own choice of strategy, a name or an instance, or None.
        exclusive: Whether its calls run alone in their Group.
        idempotent: Whether a call may be attempted again whose body has begun.
        start_early: Whether a call may start before the response it stands in has come to its end.
        loop: The kind of loop an async body gets where it has to bring its own.
        deliver: "raise" an interrupt in the thread of a sync body, or have it "poll".
        json: How arguments are read and results written.
        time_limits: What its calls' clocks are held to.
        limits: What a call has to hold while it runs.
        declared: The parameters that were declared one by one, beside what a signature says.
        positional: Whether only these count, and all are passed by position, in this order.
        texts: Descriptions of parameters, by name, that take the place of the body's own.
    """

    def __init__(
        self,
        name: str,
        description: str = "",
        source: Any = None,
        *,
        strategy: Any = None,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        max_in_flight: int | None = None,
        exclusive: bool = False,
        idempotent: bool = False,
        start_early: bool = True,
        resource: str | None = None,
        loop: LoopKind = "asyncio",
        deliver: Deliver = "raise",
        json: Json = AS_WRITTEN,
        hook: Callable[..., Any] | None = None,
        declared: Sequence[Source] = (),
        positional: bool = False,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        _check_name(name)
        _check_options(name, strategy, max_in_flight, resource, loop, deliver, json)
        _check_flags(name, exclusive=exclusive, idempotent=idempotent, start_early=start_early)
        try:
            self.timeout: float | None = check_limit("timeout", timeout)
            self.idle_timeout: float | None = check_limit("idle_timeout", idle_timeout)
        except ValueError as exc:
            raise DeclarationError(f"tool {name!r}: {exc}") from None
        self.name = name
        self.description = description
        self.body: Any = source
        self.hook = hook
        self.source: Any = _runner_source(name, source, hook)
        self.strategy = strategy
        self.exclusive = exclusive
        self.idempotent = idempotent
        self.start_early = start_early
        self.loop: LoopKind = loop
        self.max_in_flight = max_in_flight
        self.resource = resource
        self.deliver: Deliver = deliver
        self.json = json
        limited = timeout is not None or idle_timeout is not None
        self.time_limits: TimeLimits = TimeLimits(self.timeout, self.idle_timeout) if limited else NO_LIMITS
        self.limits: tuple[Limit, ...] = _limits(max_in_flight, resource)
        self.declared: list[Source] = list(declared)
        self.positional = positional
        self.texts: Mapping[str, str] = texts or {}
        if source is not None:
            check_source(name, source)
            self._check_declared(self.declared)

    def parts(self) -> dict[str, Any]:
        """What another process needs to make the same definition; a strategy instance stays behind."""
        options = {name: getattr(self, name) for name in OPTIONS}
        if not isinstance(self.strategy, str):
            options["strategy"] = None
        return {
            "name": self.name,
            "description": self.description,
            "source": self.body,
            "hook": self.hook,
            "declared": self.declared,
            "positional": self.positional,
            "texts": self.texts,
            **options,
        }

    def variant(self, **parts: Any) -> Definition:
        """The same tool with other parts; what a call has to hold while it runs stays one for both."""
        made = Definition(**{**self.parts(), **parts})
        made.strategy = self.strategy
        made.limits = self.limits
        return made

    def define(self, source: Any) -> None:
        """Set what runs the calls."""
        check_source(self.name, source)
        before = self.source, self.body, self.texts
        self.source, self.body, self.texts = _runner_source(self.name, source, self.hook), source, {}
        try:
            self._check_declared(self.declared)
        except DeclarationError:
            self.source, self.body, self.texts = before
            raise
        self._forget()

    def declare(self, sources: Sequence[Source]) -> None:
        """Add declared parameters; one of a name that is there already takes its place."""
        before = self.declared
        self.declared = merge([*before, *sources])
        try:
            self._check_declared(self.declared)
        except DeclarationError:
            self.declared = before
            raise
        self._forget()

    def _forget(self) -> None:
        for cached in ("parameters", "is_async", "dynamic"):
            self.__dict__.pop(cached, None)

    def _check_declared(self, declared: Sequence[Source]) -> None:
        if not declared or self.source is None:
            return
        if self.positional:
            check_complete(self.name, declared)
            return
        function, skip_first = self._entry()
        try:
            shape = shape_of(function)
        except (ValueError, TypeError):  # nothing to hold it against; the first rendering says so
            return
        shape = shape[1:] if skip_first else shape
        check_names(self.name, declared, shape, closed_names(function, shape))

    def set_hook(self, hook: Callable[..., Any]) -> None:
        """Set what is told of an interrupt, for a tool that is a function."""
        if not callable(hook):
            raise DeclarationError(f"tool {self.name!r}: on_interrupt takes a function, not {hook!r}")
        self.source = _runner_source(self.name, self.body, hook)
        self.hook = hook

    @functools.cached_property
    def parameters(self) -> Parameters:
        """What the tool takes; built on first use, which loads pydantic.

        Raises:
            DeclarationError: A type cannot be resolved, or has no JSON form.
        """
        return self._built()

    @functools.cached_property
    def dynamic(self) -> bool:
        """Whether a function tells what some parameter takes, anew at every rendering."""
        return is_dynamic(self.declared)

    def render(self) -> Parameters:
        """What the tool takes now; ``parameters``, unless something of it is dynamic."""
        return self._built() if self.dynamic else self.parameters

    def _built(self) -> Parameters:
        from toolexec._parameters import Parameters  # who only declares tools needs no validation

        return Parameters(self.name, self._params(), self.json)

    def _params(self) -> Sequence[Param]:
        declared = resolved(self.name, self.declared)
        if self.dynamic:  # the names that a function gives are known only now
            self._check_declared(declared)
        function, skip_first = (None, False) if self.source is None else self._entry()
        declared = found_from(self.name, declared, function)
        if self.positional:
            return [replace(param, kind=POSITIONAL_ONLY) for param in declared]
        if function is None:
            return declared
        own = params_of(self.name, function, skip_first=skip_first)
        return combine(with_texts(own, self.texts, doc_of(function), _class_doc(self.body)), declared)

    def _entry(self) -> tuple[Callable[..., Any], bool]:
        """What is called, and whether its first parameter is a receiver that is filled in by binding."""
        source = self.source
        if isinstance(source, Factory) and source.tool is None:
            # Nothing says what it makes, so one is made and dropped.
            source = source.make()
        cls = source.tool if isinstance(source, Factory) else source
        skip_first = isinstance(cls, type) and not isinstance(
            inspect.getattr_static(cls, "call", None), staticmethod | classmethod
        )
        return declared_entry(source), skip_first

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether the body is async."""
        return is_async(declared_entry(self.source))


def _class_doc(body: Any) -> object:
    """The docstring of the class that declares a tool, not one above it; None for a function."""
    source = body.tool if isinstance(body, Factory) else body
    if entry(source) is source:
        return None
    return vars(source if isinstance(source, type) else type(source)).get("__doc__")


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(f"a tool's name is {name!r}: it has to be a non-empty string")


def _check_options(
    name: str,
    strategy: object,
    max_in_flight: object,
    resource: object,
    loop: object,
    deliver: object,
    json: object,
) -> None:
    if max_in_flight is not None and (
        isinstance(max_in_flight, bool) or not isinstance(max_in_flight, int) or max_in_flight < 1
    ):
        raise DeclarationError(
            f"tool {name!r}: max_in_flight is {max_in_flight!r}; it takes a whole number of calls, 1 or more"
        )
    if not isinstance(strategy, str | None) and not _is_strategy(strategy):
        raise DeclarationError(
            f"tool {name!r}: strategy is {strategy!r}; it takes a name, or what tx.strategy(name) made"
        )
    if loop not in ("asyncio", "trio"):
        raise DeclarationError(f"tool {name!r}: loop is {loop!r}; it takes 'asyncio' or 'trio'")
    if deliver not in ("raise", "poll"):
        raise DeclarationError(f"tool {name!r}: deliver is {deliver!r}; it takes 'raise' or 'poll'")
    if resource is not None and (not isinstance(resource, str) or not resource):
        raise DeclarationError(f"tool {name!r}: resource is {resource!r}; it takes a name, such as 'database'")
    if not isinstance(json, Json):
        raise DeclarationError(f"tool {name!r}: json is {json!r}; it takes tx.Json(...)")


def _is_strategy(value: object) -> bool:
    from toolexec._strategy import Strategy  # whoever has one has loaded it

    return isinstance(value, Strategy)


def _check_flags(name: str, **flags: object) -> None:
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise DeclarationError(f"tool {name!r}: {option} is {value!r}; it takes True or False")


def _runner_source(name: str, body: Any, hook: Callable[..., Any] | None) -> Any:
    if hook is None or body is None:
        return body
    if isinstance(body, type | Factory) or callable(stated(body, "call")):
        raise DeclarationError(
            f"tool {name!r}: on_interrupt is for tools that are functions; give the class a method on_interrupt(self)"
        )
    return WithHook(body, hook)


def check_source(name: str, source: Any) -> None:
    """Refuse, at declaration, what could never run a call.

    Raises:
        DeclarationError: It names the tool and what to write instead.
    """
    if isinstance(source, Factory):
        _check_receiver(name, source.tool)
        return
    made_of = getattr(source, "_definition", None)
    if isinstance(made_of, Definition):
        raise DeclarationError(
            f"tool {name!r}: its body is a tool already, {made_of.name!r}, with parameters and options of its own; "
            "give the plain function, and all options in one place"
        )
    if isinstance(source, type):
        if not callable(getattr(source, "call", None)):
            raise DeclarationError(f"tool {name!r}: class {source.__name__} has no method named 'call'")
        needed = _needed_arguments(source)
        if needed:
            raise DeclarationError(
                f"tool {name!r}: every call makes a new {source.__name__}, without arguments, and its constructor "
                f"needs {', '.join(needed)}; give an instance, or tx.factory(lambda: {source.__name__}(...))"
            )
    elif not callable(getattr(source, "call", None)) and not callable(source):
        raise DeclarationError(f"tool {name!r}: {source!r} is neither callable nor has it a method named 'call'")
    _check_receiver(name, source if isinstance(source, type) else type(source))


def _check_receiver(name: str, cls: type | None) -> None:
    """Refuse a ``call`` that lacks its ``self``: one without parameters, or whose first is a model's to send."""
    call = inspect.getattr_static(cls, "call", None)
    if not isinstance(call, types.FunctionType):
        return
    try:
        first = next(iter(shape_of(call)), None)
    except (ValueError, TypeError):  # nothing to hold it against; the first rendering says so
        return
    if first is None or first.kind in (KEYWORD_ONLY, VAR_KEYWORD):
        lacking = True
    else:
        lacking = first.kind is not VAR_POSITIONAL and first.name != "self" and first.annotation is not EMPTY
    if lacking:
        raise DeclarationError(
            f"tool {name!r}: {call.__qualname__} has no self; write  def call(self, ...), or @staticmethod above it"
        )


def _needed_arguments(cls: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (ValueError, TypeError):  # a constructor in C that does not tell: the first call will
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in variadic]


def _limits(max_in_flight: int | None, resource_name: str | None) -> tuple[Limit, ...]:
    limits = [] if max_in_flight is None else [Limit(max_in_flight)]
    if resource_name is not None:
        limits.append(resource_limit(resource_name))
    return tuple(limits)
