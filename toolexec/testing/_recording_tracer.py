"""RecordingTracer: what a Tracer was told, as a list."""

from __future__ import annotations

import os
import threading
from typing import Literal, NamedTuple, TypeAlias

from toolexec import Function, Progress, Return, Tracer

_Kind: TypeAlias = Literal["start", "progress", "finish", "error"]


class TraceEvent(NamedTuple):
    """One thing a tracer was told.

    Attributes:
        kind: Which hook was called.
        name: The tool's name.
        id: The call's id, or None.
        ret: The Return, for a finish or an error.
        pid: The process that the hook ran in.
        thread: The identity of the thread that it ran on.
        progress: The report, for a report of progress.
    """

    kind: _Kind
    name: str
    id: str | None
    ret: Return | None
    pid: int
    thread: int
    progress: Progress | None = None


class RecordingTracer(Tracer):
    """Keeps what it is told, in order; safe to use for calls on any thread.

    Attributes:
        events: What it was told so far.
    """

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []

    def on_tool_start(self, function: Function) -> None:
        """Keep the start."""
        self._keep("start", function, None)

    def on_progress(self, function: Function, progress: Progress) -> None:
        """Keep the report."""
        self._keep("progress", function, None, progress)

    def on_tool_finish(self, function: Function, ret: Return) -> None:
        """Keep the good end."""
        self._keep("finish", function, ret)

    def on_tool_error(self, function: Function, ret: Return) -> None:
        """Keep the other end."""
        self._keep("error", function, ret)

    def of(self, id: str | None) -> list[str]:
        """The kinds of the events of one call, in order."""
        return [event.kind for event in self.events if event.id == id]

    def _keep(self, kind: _Kind, function: Function, ret: Return | None, progress: Progress | None = None) -> None:
        self.events.append(
            TraceEvent(kind, function.name, function.id, ret, os.getpid(), threading.get_ident(), progress)
        )
