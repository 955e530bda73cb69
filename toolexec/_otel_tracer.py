"""OpenTelemetryTracer: a span for each call, by OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from toolexec._return import error_form
from toolexec._traced_values import arguments_text, check_flags, error_text, result_text
from toolexec._tracer import Tracer

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from toolexec._call_state import Progress
    from toolexec._function import Function
    from toolexec._return import Return


class _Open(NamedTuple):
    """The span of a call: the number tells it from that of the call around it, whose context is inherited."""

    function: int
    span: Span


_OPEN: ContextVar[_Open | None] = ContextVar("toolexec_span", default=None)


class OpenTelemetryTracer(Tracer):
    """Makes one span per call, ``execute_tool <name>``, child of the span that is current where the call is started.

    It is current in the tool's body, also in a forked child or an interpreter where OpenTelemetry can be
    imported: spans made there are its children (exporting them is up to whatever sets up a provider there).
    A call that failed (``ret.error``) has the status ERROR, an ``error.type`` and its exception as an event,
    its message and traceback as the Context's ``redact`` leaves them; a report of progress is an event too.
    Beside the attributes of the conventions (``gen_ai.*``) it has ``toolexec.status``, ``toolexec.strategy``,
    ``toolexec.attempts`` and ``toolexec.queued_s``.

    Args:
        tracer_provider: Where the spans go; by default OpenTelemetry's global one.
        record_arguments: Whether to keep the arguments (``gen_ai.tool.call.arguments``).  They may hold
            secrets, and people's data.
        record_results: Likewise what the model is sent of the result (``gen_ai.tool.call.result``), after the
            Context's ``reveal``, ``redact`` and ``max_result_bytes``.

    Raises:
        ImportError: OpenTelemetry is not installed; the text says how to.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        record_arguments: bool = False,
        record_results: bool = False,
    ) -> None:
        try:
            from opentelemetry import context, trace
            from opentelemetry.baggage.propagation import W3CBaggagePropagator
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as exc:
            raise ImportError(
                "OpenTelemetryTracer needs OpenTelemetry:  python -m pip install 'toolexec[otel]'", name="opentelemetry"
            ) from exc
        from importlib.metadata import version

        check_flags("OpenTelemetryTracer", record_arguments=record_arguments, record_results=record_results)
        self._trace = trace
        self._context = context
        self._propagators = (TraceContextTextMapPropagator(), W3CBaggagePropagator())
        self._tracer = trace.get_tracer("toolexec", version("toolexec"), tracer_provider)
        self._record_arguments = record_arguments
        self._record_results = record_results

    def on_tool_start(self, function: Function) -> None:
        """Open the span and make it current."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": function.name,
            "gen_ai.tool.type": "function",
        }
        if function.id is not None:
            attributes["gen_ai.tool.call.id"] = function.id
        if function.description:
            attributes["gen_ai.tool.description"] = function.description
        if self._record_arguments:
            attributes["gen_ai.tool.call.arguments"] = arguments_text(function)
        span = self._tracer.start_span(f"execute_tool {function.name}", attributes=attributes)
        _OPEN.set(_Open(id(function), span))
        # For good: this context is the call's own, and ends with it.
        self._context.attach(self._trace.set_span_in_context(span))

    def on_progress(self, function: Function, progress: Progress) -> None:
        """Add an event."""
        span = _span_of(function)
        if span is not None:
            attributes: dict[str, str | float] = {"toolexec.progress.done": progress.done}
            if progress.total is not None:
                attributes["toolexec.progress.total"] = progress.total
            if progress.message is not None:
                attributes["toolexec.progress.message"] = error_text(progress.message)
            span.add_event("toolexec.progress", attributes)

    def on_tool_finish(self, function: Function, ret: Return) -> None:
        """Close the span."""
        span = _span_of(function)
        if span is None:
            return
        span.set_attributes(
            {
                "toolexec.status": ret.status,
                "toolexec.attempts": ret.attempts,
                "toolexec.queued_s": ret.queued_s,
            }
        )
        if ret.strategy is not None:
            span.set_attribute("toolexec.strategy", ret.strategy)
        if self._record_results:
            span.set_attribute("gen_ai.tool.call.result", result_text(function, ret))
        if ret.error:
            self._fail(span, ret)
        span.end()

    on_tool_error = on_tool_finish

    def carrier(self, function: Function) -> Mapping[str, str]:
        """The span, and the baggage around it, in W3C's formats."""
        carrier: dict[str, str] = {}
        for propagator in self._propagators:
            propagator.inject(carrier)
        return carrier

    def _fail(self, span: Span, ret: Return) -> None:
        message = None
        kind: str = ret.status
        if ret.exception is not None:
            # Not span.record_exception: that calls the exception's own code, which may raise.
            form = error_form(ret.exception)
            own = type(ret.exception)
            named = own.__name__ == form["type"] and own.__module__ != "builtins"
            name = f"{own.__module__}.{own.__qualname__}" if named else form["type"]
            text = error_text(form["message"])
            message = f"{form['type']}: {text}"
            span.add_event(
                "exception",
                {
                    "exception.type": name,
                    "exception.message": text,
                    "exception.stacktrace": error_text("\n".join(form["backtrace"])),
                },
            )
            if ret.status == "raised":  # the others say it better
                kind = name
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, message))


def _span_of(function: Function) -> Span | None:
    opened = _OPEN.get()
    return opened.span if opened is not None and opened.function == id(function) else None
