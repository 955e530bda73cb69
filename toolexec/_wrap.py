"""wrap: a plain function, to be called as such, that runs under the engine."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, overload

from toolexec._arguments import Plain
from toolexec._definition import Definition
from toolexec._errors import DeclarationError
from toolexec._function import Function
from toolexec._likeness import bare_function, dress, signature_of
from toolexec._runner import entry
from toolexec._strategy import Strategy
from toolexec._time_limits import check_limit
from toolexec._waiting import refuse_running_loop

if TYPE_CHECKING:
    from toolexec._task import Task

P = ParamSpec("P")
R = TypeVar("R")


class _ToAsync(Protocol):
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, Coroutine[Any, Any, R]]: ...


class _ToSync(Protocol):
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


class _AsItIs(Protocol):
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def wrap(
    function: Callable[P, R], /, *, strategy: Any = None, timeout: float | None = None, as_async: None = None
) -> Callable[P, R]: ...
@overload
def wrap(
    function: Callable[P, Coroutine[Any, Any, R]],
    /,
    *,
    strategy: Any = None,
    timeout: float | None = None,
    as_async: Literal[True],
) -> Callable[P, Coroutine[Any, Any, R]]: ...
@overload
def wrap(
    function: Callable[P, R], /, *, strategy: Any = None, timeout: float | None = None, as_async: Literal[True]
) -> Callable[P, Coroutine[Any, Any, R]]: ...
@overload
def wrap(
    function: Callable[P, Coroutine[Any, Any, R]],
    /,
    *,
    strategy: Any = None,
    timeout: float | None = None,
    as_async: Literal[False],
) -> Callable[P, R]: ...
@overload
def wrap(
    function: Callable[P, R], /, *, strategy: Any = None, timeout: float | None = None, as_async: Literal[False]
) -> Callable[P, R]: ...
@overload
def wrap(*, strategy: Any = None, timeout: float | None = None, as_async: None = None) -> _AsItIs: ...
@overload
def wrap(*, strategy: Any = None, timeout: float | None = None, as_async: Literal[True]) -> _ToAsync: ...
@overload
def wrap(*, strategy: Any = None, timeout: float | None = None, as_async: Literal[False]) -> _ToSync: ...
def wrap(
    function: Any = None,
    /,
    *,
    strategy: Any = None,
    timeout: float | None = None,
    as_async: bool | None = None,
) -> Any:
    """Make a function that is called like ``function`` and runs it under the engine.

        safe_query = tx.wrap(query, strategy="fork", timeout=5)

        @tx.wrap(timeout=5)
        def lookup(key: str) -> str: ...

    It has the name, signature, hints and docstring of ``function``, so that it can be given to any
    framework in its place.  Arguments are passed on as they are: nothing is validated or converted,
    and a hint may be anything.  For a hook, or for options beyond these, wrap what ``@tool`` made.

    Calling it gives the plain value.  It raises TypeError, as the plain function would, when the
    arguments do not fit the signature, and then starts nothing; an async form does when it is awaited.
    Whatever else goes wrong is a ``ToolFailed``: what the function raised is its ``__cause__``, as is
    a ``DeadlineExceeded``, a ``WorkerLost``, an ``UnsendableError`` or an ``Interrupt``.  The sync form
    raises WrongLoop on the thread of a running loop, and starts nothing.

    The value of a generator function is the list of its parts.

    Args:
        function: A function, a method, a partial, an object with ``__call__``, or a tool that ``@tool``
            made; without it, what comes back is a decorator, for methods too.
        strategy: A name, or what ``toolexec.strategy`` made; by default the tool's own, or else ``auto``.
        timeout: Seconds each call has, from the start of its body.
        as_async: Whether the result is a coroutine function; by default, if ``function`` is one.

    Raises:
        DeclarationError: It cannot be called.  That a strategy cannot run here is only known at a call.
        ValueError: ``timeout`` is no number of seconds.

    Cancellation: a KeyboardInterrupt in the sync form, and a cancellation of whoever awaits the async
    one, interrupt the call; the exception goes on once it has settled or its grace is over.
    """
    if strategy is not None and not isinstance(strategy, str | Strategy):
        raise DeclarationError(f"wrap: strategy is {strategy!r}; it takes a name, or what tx.strategy(name) made")
    timeout = check_limit("timeout", timeout)

    def decorate(function: Any) -> Any:
        if type(function) in (staticmethod, classmethod):
            return type(function)(decorate(function.__func__))
        tool = _tool_of(function)
        wants_async = tool._definition.is_async if as_async is None else as_async
        form = _async_form if wants_async else _sync_form
        return dress(form(_Wrapped(tool, function, strategy, timeout)), function)

    return decorate if function is None else decorate(function)


class _Wrapped:
    """One wrapped function: the tool behind it, and how its calls are started."""

    def __init__(self, tool: Function, function: Any, strategy: Any, timeout: float | None) -> None:
        self.name = tool.name
        self._tool = tool
        self._function = function
        self._strategy = strategy
        self._timeout = timeout

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        return signature_of(self._function)

    def start(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Task:
        if self._signature is not None:  # a builtin may have none: its call will tell what does not fit
            try:
                self._signature.bind(*args, **kwargs)
            except TypeError as exc:
                raise TypeError(f"{self.name}(): {exc}") from None
        return self._tool.bind(Plain(args, kwargs)).task(self._strategy, timeout=self._timeout)


def _sync_form(wrapped: _Wrapped) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse_running_loop(f"await tx.wrap({wrapped.name}, as_async=True)(...)")
        return wrapped.start(args, kwargs).wait().unwrap()

    return call


def _async_form(wrapped: _Wrapped) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        return (await wrapped.start(args, kwargs)).unwrap()

    return call


def _tool_of(function: Any) -> Function:
    if isinstance(function, Function) and callable(function):  # what @tool made
        return function
    if isinstance(function, type) or not callable(function):
        raise DeclarationError(
            f"wrap takes a function, a method or another object that can be called, not {function!r}; "
            "for one call of a tool there are tx.run and tx.arun"
        )
    bare: Any = bare_function(function)
    name = getattr(bare, "__name__", None) or type(bare).__name__
    # Called as Python calls it, also where it has a ``call`` method, as tools do.
    body = function if entry(function) is function else function.__call__
    return Function._of(Definition(name, "", body))
