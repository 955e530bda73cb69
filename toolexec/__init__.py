"""Run the tool calls a language model asks for: every call through a strategy, every call answered once."""

from __future__ import annotations

from typing import Any

from toolexec._as_tool import as_tool, as_tools
from toolexec._budget import Budget
from toolexec._call_state import Progress
from toolexec._clock import Clock, MonotonicClock
from toolexec._context import Context
from toolexec._current import CurrentCall, checkpoint, current_call, interrupted, progress
from toolexec._declared import parameter
from toolexec._discovery import strategy
from toolexec._errors import (
    ArgumentsError,
    DeadlineExceeded,
    DeclarationError,
    ForeignError,
    FormatError,
    Interrupt,
    NoSuchToolError,
    StrategyUnavailable,
    ToolError,
    ToolexecError,
    ToolFailed,
    UnknownStrategy,
    UnsendableError,
    WaitTimeout,
    WorkerLost,
    WrongLoop,
)
from toolexec._events import Event, Events, Output, Settled, Started
from toolexec._factory import factory
from toolexec._function import Function
from toolexec._functions import Functions
from toolexec._group import Group
from toolexec._inject import Inject
from toolexec._intercept import DEFER, Intercept
from toolexec._json_options import Json
from toolexec._log_tracer import LogTracer
from toolexec._loop_guard import LoopGuard
from toolexec._otel_tracer import OpenTelemetryTracer
from toolexec._parts import File, Image, Text
from toolexec._provider import Provider
from toolexec._retry import Retry
from toolexec._return import Return, render
from toolexec._run import arun, run
from toolexec._runner import interrupt_runner
from toolexec._strategy import Strategy
from toolexec._stream import Stream
from toolexec._task import Task
from toolexec._tool import DecoratedFunction, Tool, ToolOptions, tool
from toolexec._tool_function import ToolFunction
from toolexec._tracer import Tracer, current_tracer
from toolexec._wrap import wrap
from toolexec.providers.openai import OpenAI

__all__ = [
    "DEFER",
    "ArgumentsError",
    "Budget",
    "Clock",
    "Context",
    "CurrentCall",
    "DeadlineExceeded",
    "DeclarationError",
    "DecoratedFunction",
    "Event",
    "Events",
    "File",
    "ForeignError",
    "FormatError",
    "Function",
    "Functions",
    "Group",
    "Image",
    "Inject",
    "Intercept",
    "Interrupt",
    "Json",
    "LogTracer",
    "LoopGuard",
    "MonotonicClock",
    "NoSuchToolError",
    "OpenAI",
    "OpenTelemetryTracer",
    "Output",
    "Progress",
    "Provider",
    "Retry",
    "Return",
    "Settled",
    "Started",
    "Strategy",
    "StrategyUnavailable",
    "Stream",
    "Task",
    "Text",
    "Tool",
    "ToolError",
    "ToolFailed",
    "ToolFunction",
    "ToolOptions",
    "ToolexecError",
    "Tracer",
    "UnknownStrategy",
    "UnsendableError",
    "WaitTimeout",
    "WorkerLost",
    "WrongLoop",
    "arun",
    "as_tool",
    "as_tools",
    "checkpoint",
    "current_call",
    "current_tracer",
    "factory",
    "interrupt_runner",
    "interrupted",
    "parameter",
    "progress",
    "render",
    "run",
    "strategy",
    "tool",
    "wrap",
]


def __getattr__(name: str) -> Any:
    # The version stands in the package's metadata alone; reading it is too slow for every import.
    if name == "__version__":
        from importlib.metadata import version

        return version("toolexec")
    raise AttributeError(f"module 'toolexec' has no attribute {name!r}")
