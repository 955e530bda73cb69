"""Tracer: told of the start and the end of every call, in the host, once each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

from toolexec._inject import injectable

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._return import Return

_log = logging.getLogger("toolexec")


class Tracer:
    """Subclass it and override what you want to hear; every method does nothing by default.

    For each call there is one ``on_tool_start``, then exactly one ``on_tool_finish`` (it is ``ok``)
    or ``on_tool_error`` (it is anything else), before anyone can see the Return; also for a call
    that never began.  They run in the process that holds the Context, wherever the tool runs, on
    the thread or loop that saw the event, in the submitter's copied context, never under a lock; so
    several may run at once, but never two of one call.  A slow one delays only its own call.  One
    that raises is logged and not called again.
    """

    def on_tool_start(self, function: Function) -> None:
        """The call begins (or is about to be answered without ever beginning)."""

    def on_tool_finish(self, function: Function, ret: Return) -> None:
        """The call ended ``ok``."""

    def on_tool_error(self, function: Function, ret: Return) -> None:
        """The call ended otherwise: raised, refused, lost, out of time or cancelled."""


injectable(Tracer, "tracer")


class Tracing:
    """Dispatch to one tracer that survives a bad one.  Unused hooks cost a None test."""

    __slots__ = ("_hooks", "broken", "tracer")

    def __init__(self, tracer: Tracer) -> None:
        if isinstance(tracer, type) or not isinstance(tracer, Tracer):
            shown = tracer.__name__ if isinstance(tracer, type) else type(tracer).__name__
            raise TypeError(f"tracer takes an instance of a subclass of tx.Tracer, not {shown}")
        self.tracer: Tracer = tracer
        self.broken: bool = False
        self._hooks: dict[str, Callable[..., object] | None] = {
            name: getattr(tracer, name, None)
            if getattr(type(tracer), name, None) is not getattr(Tracer, name)
            else None
            for name in ("on_tool_start", "on_tool_finish", "on_tool_error")
        }

    def tell(self, context: Context, name: str, *args: Any) -> None:
        """Call one hook in a copy of ``context``."""
        hook = self._hooks[name]
        if hook is None or self.broken:
            return
        try:
            # A copy: the context itself may be entered already, by the body that is running in it.
            context.copy().run(hook, *args)
        except BaseException as exc:
            if issubclass(type(exc), KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # a person pressed Ctrl-C
            self.broken = True
            _log.exception("toolexec: %s.%s raised; this tracer is not called again", type(self.tracer).__name__, name)
