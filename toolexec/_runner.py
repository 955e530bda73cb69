"""The runner of a call: found from what a tool was declared with, called, and told of an interrupt."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any


class Factory:
    """Makes a fresh runner for every call; see :func:`toolexec.factory`."""

    __slots__ = ("make", "tool")

    def __init__(self, make: Callable[[], Any], tool: type | None = None) -> None:
        self.make: Callable[[], Any] = make
        self.tool: type | None = tool


class WithHook:
    """A function as a runner that has a hook; what ``@fn.on_interrupt`` makes of it.

    Attributes:
        call: The function.
        on_interrupt: The hook; takes nothing.
    """

    __slots__ = ("call", "on_interrupt")

    def __init__(self, call: Callable[..., Any], on_interrupt: Callable[[], Any]) -> None:
        self.call = call
        self.on_interrupt = on_interrupt

    def __reduce__(self) -> Any:
        # Where a worker finds the tool by its function's name, it finds the hook there as well; the
        # hook itself mostly has no name that leads to it.
        if _declared_with(self.call) is self:
            return _declared_with, (self.call,)
        return WithHook, (self.call, self.on_interrupt)


def _declared_with(function: Any) -> Any:
    """What the tool that stands where ``function`` was defined was declared with."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    if found is None or found.__name__ == "__main__":
        return None
    for part in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return getattr(getattr(found, "_definition", None), "source", None)


def resolve(source: Any) -> Any:
    """The object that runs a call.

    A class gives a new instance made without arguments, a Factory what it makes, anything else is
    its own runner and so shared by all its calls.  What a constructor raises comes out as it is.
    """
    if isinstance(source, Factory):
        return source.make()
    if isinstance(source, type):
        return source()
    return source


# A name that nothing has.
_NOBODYS = "toolexec_no_such_name"


def stated(thing: object, name: str) -> Any:
    """An attribute of it, or None; where it answers to every name, as a mock does, only one that was set."""
    kind = type(thing)
    found = getattr(thing, name, None)
    if found is None or not hasattr(thing, _NOBODYS):
        return found
    return found if name in getattr(thing, "__dict__", ()) or hasattr(kind, name) else None


def entry(runner: Any) -> Callable[..., Any]:
    """What of a runner is called: its ``call`` method when it has one, else the runner itself."""
    body: Callable[..., Any] = runner
    if type(runner) is types.FunctionType:  # a function may carry any attribute, ``call`` among them
        return body
    call: Any = getattr(runner, "call", None)
    if callable(call) and callable(runner):
        call = stated(runner, "call")
    return call if callable(call) else body


def declared_entry(source: Any) -> Callable[..., Any]:
    """The callable that tells a tool's shape (sync, async, generator), without making an instance."""
    if isinstance(source, Factory):
        source = source.tool if source.tool is not None else source.make
    if isinstance(source, type):
        return getattr(source, "call", None) or source.__call__
    return entry(source)


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        # An object with __call__: what that method is, the object is.
        function = type(function).__call__
    return function


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine or an async generator (partials and callable objects included)."""
    bare = _bare(function)
    return inspect.iscoroutinefunction(bare) or inspect.isasyncgenfunction(bare)


def yields_parts(function: Callable[..., Any]) -> bool:
    """Whether it is a generator function, sync or async, also behind a ``functools.wraps`` wrapper.

    A plain function that *returns* a generator is none: there the generator is the tool's value.
    """
    bare = inspect.unwrap(_bare(function))
    return inspect.isgeneratorfunction(bare) or inspect.isasyncgenfunction(bare)


def interrupt_runner(runner: Any) -> Any:
    """Tell a runner that its call was interrupted, if it wants telling: the only look-up of the hook.

    ``on_cancel`` is looked for first, then ``on_interrupt``; only the first found is called.  None,
    or a runner with neither, is a no-op.  What the hook raises comes out as it is.

    Returns:
        What the hook returned (an awaitable, when it is async), or None.
    """
    hook = _hook(runner)
    return None if hook is None else hook()


def has_hook(runner: Any) -> bool:
    """Whether an interrupt has somebody to tell."""
    return _hook(runner) is not None


def _hook(runner: Any) -> Callable[[], Any] | None:
    if runner is None:
        return None
    for name in ("on_cancel", "on_interrupt"):
        hook = getattr(runner, name, None)
        if callable(hook):
            found: Callable[[], Any] = hook
            return found
    return None
