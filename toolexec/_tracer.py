"""Tracer: told of the start, the progress and the end of every call, in the host."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolexec._inject import injectable

if TYPE_CHECKING:
    from toolexec._call_state import Progress
    from toolexec._function import Function
    from toolexec._rendering import Rendering
    from toolexec._return import Return

_log = logging.getLogger("toolexec")

# How long the end of a call waits for another thread that is just telling the start.  It is a bound
# for a tracer that hangs there; any other takes far less.
_START_S: Final = 1.0

_HOOKS: Final = ("on_tool_start", "on_progress", "on_tool_finish", "on_tool_error", "carrier")


class Tracer:
    """Subclass it and override what you want to hear; every method does nothing by default.

    For each call there is one ``on_tool_start``, then exactly one ``on_tool_finish`` (it is ``ok``)
    or ``on_tool_error`` (it is anything else), before anyone can see the Return; also for a call
    that never began.  They run in the process that holds the Context, wherever the tool runs, on
    the thread or loop that saw the event, in the submitter's copied context, never under a lock; so
    several may run at once, but never two of one call (save that a report of progress may still be
    told while a call that was left behind is given its end).  A slow one delays only its own call.
    One that raises is logged, and its Context calls it no more; one that is a call's own, for that call.

    Context variables that ``on_tool_start`` sets are seen by what is told of that call afterwards, and
    by a body that runs in this process: the place for what belongs to one call.
    """

    def on_tool_start(self, function: Function) -> None:
        """The call begins, or is about to be answered without ever beginning.

        Of a call that runs in another process or interpreter it is told when that is handed over.
        """

    def on_progress(self, function: Function, progress: Progress) -> None:
        """The call reports progress; in order, never two of one call at once."""

    def on_tool_finish(self, function: Function, ret: Return) -> None:
        """The call ended ``ok``."""

    def on_tool_error(self, function: Function, ret: Return) -> None:
        """The call ended otherwise: raised, refused, lost, out of time or cancelled."""

    def carrier(self, function: Function) -> Mapping[str, str]:
        """What of the trace has to travel with a call that runs in another process or interpreter.

        Asked for right after ``on_tool_start``, and for each further attempt.  W3C's ``traceparent``,
        ``tracestate`` and ``baggage`` are made current there, where OpenTelemetry can be imported.
        """
        return {}


injectable(Tracer, "tracer")


class _Scope(NamedTuple):
    """What a traced call's context says of it.

    Attributes:
        tracing: Its tracer.
        mark: Tells its context from every other call's.
        rendering: What models read of its Return; None where it belongs to no Context.
    """

    tracing: Tracing
    mark: object
    rendering: Rendering | None


_SCOPE: ContextVar[_Scope | None] = ContextVar("toolexec_tracer", default=None)


def current_tracer() -> Tracer | None:
    """The tracer of the call whose body runs here; None outside, without one, and in a forked child or an interpreter.

    Calls that a tool starts have it too, unless they or their Context have one of their own.
    """
    scope = _SCOPE.get()
    return None if scope is None else scope.tracing.tracer


def current_tracing() -> Tracing | None:
    """The same, for the calls that are started here."""
    scope = _SCOPE.get()
    return None if scope is None else scope.tracing


def current_rendering() -> Rendering | None:
    """In a tracer's hook: what models read of the Return that it is told of; None where they read all."""
    scope = _SCOPE.get()
    return None if scope is None else scope.rendering


class Tracing:
    """Dispatch to one tracer that survives a bad one.  Unused hooks cost a None test."""

    __slots__ = ("_hooks", "_untold", "broken", "tracer")

    def __init__(self, tracer: Tracer) -> None:
        if isinstance(tracer, type) or not isinstance(tracer, Tracer):
            shown = tracer.__name__ if isinstance(tracer, type) else type(tracer).__name__
            raise TypeError(f"tracer takes an instance of a subclass of tx.Tracer, not {shown}")
        _check_hooks(type(tracer))
        self.tracer: Tracer = tracer
        self.broken: bool = False
        self._untold = [1]  # whoever pops it says that it is broken
        self._hooks: dict[str, Callable[..., Any] | None] = {
            name: getattr(tracer, name, None)
            if getattr(type(tracer), name, None) is not getattr(Tracer, name)
            else None
            for name in _HOOKS
        }

    def hears(self, name: str) -> bool:
        """Whether the tracer has a hook of its own by that name, and is still called."""
        return self._hooks[name] is not None and not self.broken

    def tell(self, name: str, *args: Any) -> Any:
        """Call one hook here; gives what it returns, or None."""
        hook = self._hooks[name]
        if hook is None or self.broken:
            return None
        try:
            return hook(*args)
        except BaseException as exc:
            if issubclass(type(exc), KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # a person pressed Ctrl-C
            self._disable(f"{name} raised")
            return None

    def carrier(self, function: Function) -> dict[str, str] | None:
        """What travels with a call; None when nothing does."""
        given = self.tell("carrier", function)
        try:
            return {str(key): str(value) for key, value in given.items()} if given else None
        except Exception:  # noqa: BLE001 - the user's code: it gave something else
            self._disable("carrier gives a mapping of text to text")
            return None

    def _disable(self, why: str) -> None:
        """Call it no more, and log the exception; once, though many calls may be in its hooks just now."""
        self.broken = True
        try:
            self._untold.pop()
        except IndexError:
            return
        _log.exception("toolexec: %s.%s; this tracer is not called again", type(self.tracer).__name__, why)


def _check_hooks(kind: type[Tracer]) -> None:
    """Refuse a tracer that would never hear what it was written to hear.

    Raises:
        TypeError: A method is async, which nobody would await; or one is named almost like a hook, and is none.
    """
    for name in _HOOKS:
        if inspect.iscoroutinefunction(getattr(kind, name)):
            raise TypeError(f"tracer {kind.__name__!r}: its {name} is async; nobody there could await it")
    strangers = [name for name in dir(kind) if name.startswith("on_") and name not in _HOOKS]
    if not strangers:
        return
    import difflib  # few have any

    for name in strangers:
        if meant := difflib.get_close_matches(name, _HOOKS, 1, 0.8):
            raise TypeError(f"tracer {kind.__name__!r} has {name}, which is never called; did you mean {meant[0]}?")


class CallTrace:
    """What the tracer of one call is told: one start, then its progress, then one end.

    Args:
        tracing: The tracer.
        function: The call.
        context: The submitter's context variables, copied for this call; the tracer is made current in it.
        rendering: That of its Context, or None.

    Attributes:
        context: That one; once the start is told, one that has what it set.
    """

    __slots__ = ("_ended", "_function", "_teller", "_token", "_told", "_tracing", "context")

    def __init__(self, tracing: Tracing, function: Function, context: Context, rendering: Rendering | None) -> None:
        self._tracing = tracing
        self._function = function
        self.context: Context = context
        self._token = [1]  # whoever pops it tells the start
        self._teller = 0  # the thread that does
        self._told = False  # and has
        self._ended = False
        outer = context.run(_SCOPE.get)
        if outer is not None and outer.tracing is tracing and (rendering is None or rendering.tells_all):
            rendering = outer.rendering  # a call that a body makes is told to its tracer by the same rules
        # Not this object: it holds the context, and the two would keep each other.
        context.run(_SCOPE.set, _Scope(tracing, self._token, rendering))

    def start(self) -> None:
        """The body is about to begin here, or to be handed over: told in the context that it gets."""
        scope = _SCOPE.get()
        if scope is not None and scope.mark is self._token:
            # A loop has entered the context already, and under trio a copy of it: the body's is this one.
            self._start(None)
            self.context = copy_context()
        else:
            self._start(self.context)

    def carrier(self) -> Mapping[str, str] | None:
        """What has to travel with it, once it has started."""
        tracing = self._tracing
        return self.context.copy().run(tracing.carrier, self._function) if tracing.hears("carrier") else None

    @property
    def tracer(self) -> Tracer:
        """Who is told."""
        return self._tracing.tracer

    @property
    def hears_progress(self) -> bool:
        """Whether it wants to know."""
        return self._tracing.hears("on_progress")

    def progress(self, progress: Progress) -> None:
        """The call reports; one report at a time."""
        if not self._ended and self.hears_progress:
            self.context.copy().run(self._tracing.tell, "on_progress", self._function, progress)

    def end(self, ret: Return) -> None:
        """The call has this Return, which nobody can see yet."""
        # A copy: the context itself may be entered, by the body that still runs in it.
        context = self.context.copy()
        self._start(context)
        if self._is_being_told():
            context = self.context.copy()
        self._ended = True
        context.run(
            self._tracing.tell, "on_tool_finish" if ret.status == "ok" else "on_tool_error", self._function, ret
        )

    def _start(self, context: Context | None) -> None:
        try:
            self._token.pop()
        except IndexError:
            return
        self._teller = threading.get_ident()
        try:
            if context is None:
                self._tracing.tell("on_tool_start", self._function)
            else:
                context.run(self._tracing.tell, "on_tool_start", self._function)
        finally:
            self._told = True

    def _is_being_told(self) -> bool:
        """Whether another thread was just telling the start, which is waited for.

        A call may be settled in the moment in which it is about to begin.
        """
        if self._told or self._teller == threading.get_ident():
            return False
        until = time.monotonic() + _START_S
        while not self._told and time.monotonic() < until:
            time.sleep(0.0005)
        return True
