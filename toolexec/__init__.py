"""Run the tool calls a language model asks for: every call through a strategy, every call answered once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolexec import _lazy_names

if TYPE_CHECKING:
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

    __version__: str

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

# Where each public name stands. A name's module is imported when the name is first asked for, so
# that a program pays for what it uses; the imports above tell type checkers and editors the same.
_MODULES = {
    "DEFER": "_intercept",
    "ArgumentsError": "_errors",
    "Budget": "_budget",
    "Clock": "_clock",
    "Context": "_context",
    "CurrentCall": "_current",
    "DeadlineExceeded": "_errors",
    "DeclarationError": "_errors",
    "DecoratedFunction": "_tool",
    "Event": "_events",
    "Events": "_events",
    "File": "_parts",
    "ForeignError": "_errors",
    "FormatError": "_errors",
    "Function": "_function",
    "Functions": "_functions",
    "Group": "_group",
    "Image": "_parts",
    "Inject": "_inject",
    "Intercept": "_intercept",
    "Interrupt": "_errors",
    "Json": "_json_options",
    "LogTracer": "_log_tracer",
    "LoopGuard": "_loop_guard",
    "MonotonicClock": "_clock",
    "NoSuchToolError": "_errors",
    "OpenAI": "providers.openai",
    "OpenTelemetryTracer": "_otel_tracer",
    "Output": "_events",
    "Progress": "_call_state",
    "Provider": "_provider",
    "Retry": "_retry",
    "Return": "_return",
    "Settled": "_events",
    "Started": "_events",
    "Strategy": "_strategy",
    "StrategyUnavailable": "_errors",
    "Stream": "_stream",
    "Task": "_task",
    "Text": "_parts",
    "Tool": "_tool",
    "ToolError": "_errors",
    "ToolFailed": "_errors",
    "ToolFunction": "_tool_function",
    "ToolOptions": "_tool",
    "ToolexecError": "_errors",
    "Tracer": "_tracer",
    "UnknownStrategy": "_errors",
    "UnsendableError": "_errors",
    "WaitTimeout": "_errors",
    "WorkerLost": "_errors",
    "WrongLoop": "_errors",
    "arun": "_run",
    "as_tool": "_as_tool",
    "as_tools": "_as_tool",
    "checkpoint": "_current",
    "current_call": "_current",
    "current_tracer": "_tracer",
    "factory": "_factory",
    "interrupt_runner": "_runner",
    "interrupted": "_current",
    "parameter": "_declared",
    "progress": "_current",
    "render": "_return",
    "run": "_run",
    "strategy": "_discovery",
    "tool": "_tool",
    "wrap": "_wrap",
}

# Hidden from type checkers, to which a module with a `__getattr__` has every name there could be.
if not TYPE_CHECKING:
    _find, __dir__ = _lazy_names.lazy_names(__name__, _MODULES)

    def __getattr__(name: str) -> object:
        if name == "__version__":  # stands in the package's metadata alone, and reading that is slow
            from importlib.metadata import version

            return version("toolexec")
        return _find(name)
