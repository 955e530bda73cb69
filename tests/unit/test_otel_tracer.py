"""OpenTelemetryTracer: what its spans say, by the conventions for generative AI."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

import toolexec as tx

SECRET = "hunter2"


class QuotaError(Exception):
    pass


class Mute(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@tx.tool
def echo(value: Any = None) -> Any:
    """Give it back."""
    return value


@tx.tool
def refuse(value: str) -> None:
    raise QuotaError(f"not with {value}") from KeyError("behind it")


@tx.tool
def mute() -> None:
    raise Mute


@tx.tool
def say(words: str) -> None:
    tx.progress(1, 4, words)


TOOLS = [echo, refuse, mute, say]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> Iterator[TracerProvider]:
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(exporter))
    yield made
    made.shutdown()


def run(tracer: tx.Tracer, name: str, arguments: Any = None, id: str | None = "c1") -> tx.Return:
    call = tx.Context(TOOLS).functions.get(name, tx.Function(name)).bind(arguments, id)
    call.tracer = tracer
    return call.task().wait(10)


def only(exporter: InMemorySpanExporter) -> tuple[ReadableSpan, dict[str, Any]]:
    (span,) = exporter.get_finished_spans()
    return span, dict(span.attributes or {})


def test_a_span_says_which_tool_ran_how_and_nothing_of_its_values(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    ret = run(tx.OpenTelemetryTracer(provider), "echo", {"value": SECRET})
    span, attributes = only(exporter)

    assert "execute_tool echo" == span.name
    assert {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.description": "Give it back.",
        "toolexec.status": "ok",
        "toolexec.strategy": "thread",
        "toolexec.attempts": 1,
        "toolexec.queued_s": ret.queued_s,
    } == attributes
    assert span.instrumentation_scope is not None
    assert ("toolexec", tx.__version__) == (span.instrumentation_scope.name, span.instrumentation_scope.version)
    assert SECRET not in span.to_json()


def test_what_there_is_not_is_left_out(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    run(tx.OpenTelemetryTracer(provider), "gone", id=None)

    assert not {"gen_ai.tool.call.id", "gen_ai.tool.description", "toolexec.strategy"} & only(exporter)[1].keys()


def test_arguments_and_results_are_kept_where_that_is_asked_for(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = tx.OpenTelemetryTracer(provider, record_arguments=True, record_results=True)
    ret = run(tracer, "echo", {"value": {"a": [1]}})
    _, attributes = only(exporter)
    exporter.clear()
    failed = run(tracer, "refuse", '{"value": "x"}')
    _, of_failed = only(exporter)

    assert '{"value": {"a": [1]}}' == attributes["gen_ai.tool.call.arguments"]
    assert tx.render(ret) == attributes["gen_ai.tool.call.result"]
    assert '{"value": "x"}' == of_failed["gen_ai.tool.call.arguments"]
    assert tx.render(failed) == of_failed["gen_ai.tool.call.result"]


def test_what_a_tool_raises_is_the_error_and_an_event(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    run(tx.OpenTelemetryTracer(provider), "refuse", {"value": "that"})
    span, attributes = only(exporter)
    (event,) = span.events
    recorded = dict(event.attributes or {})

    name = f"{QuotaError.__module__}.QuotaError"
    assert (name, StatusCode.ERROR) == (attributes["error.type"], span.status.status_code)
    assert "QuotaError: not with that" == span.status.description
    assert ("exception", name, "not with that") == (
        event.name,
        recorded["exception.type"],
        recorded["exception.message"],
    )
    assert "in refuse" in str(recorded["exception.stacktrace"])
    assert "behind it" in str(recorded["exception.stacktrace"])


def test_an_exception_that_cannot_tell_its_text_is_recorded_all_the_same(
    provider: TracerProvider, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    run(tx.OpenTelemetryTracer(provider), "mute")
    span, _ = only(exporter)

    assert StatusCode.ERROR == span.status.status_code
    assert ["exception"] == [event.name for event in span.events]
    assert [] == caplog.messages


def test_progress_is_an_event(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    run(tx.OpenTelemetryTracer(provider), "say", {"words": "a quarter"})
    (event,) = only(exporter)[0].events

    assert {
        "toolexec.progress.done": 1,
        "toolexec.progress.total": 4,
        "toolexec.progress.message": "a quarter",
    } == dict(event.attributes or {})


def test_a_call_made_twice_at_once_is_two_spans(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    call = echo.bind({"value": 1}, "c1")
    call.tracer = tx.OpenTelemetryTracer(provider)
    for task in [call.task("thread"), call.task("thread")]:
        task.wait(10)

    assert 2 == len({span.context.span_id for span in exporter.get_finished_spans()})


def test_a_span_that_is_not_sampled_is_still_the_parent_inside(exporter: InMemorySpanExporter) -> None:
    """A worker must not sample what its host does not."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = tx.OpenTelemetryTracer(provider)
    seen: list[str] = []

    class Looking(tx.Tracer):
        def on_tool_start(self, function: tx.Function) -> None:
            tracer.on_tool_start(function)
            seen.append(tracer.carrier(function)["traceparent"])

    run(Looking(), "echo")

    assert [] == list(exporter.get_finished_spans())
    assert 0 == int(seen[0][-2:], 16) & 1, "the flag that says it is sampled"


def test_without_a_provider_it_is_opentelemetrys_global_one() -> None:
    """Which does nothing here, and does not fail: no provider has been set in this process."""
    ret = run(tx.OpenTelemetryTracer(), "echo", {"value": 1})

    assert 1 == ret.value
    assert not trace.get_current_span().get_span_context().is_valid


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
import toolexec as tx
try:
    tx.OpenTelemetryTracer()
except ImportError as exc:
    print(exc)
"""


def test_importing_toolexec_loads_none_of_it_and_without_it_the_error_says_what_to_do() -> None:
    loaded = "import sys, toolexec; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    said = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50
        ).stdout.strip()
        for code in (loaded, WITHOUT)
    ]

    assert "[]" == said[0]
    assert "OpenTelemetryTracer needs OpenTelemetry:  python -m pip install 'toolexec[otel]'" == said[1]


def hide(text: str) -> str:
    return text.replace(SECRET, "***")


def test_what_a_context_redacts_is_in_no_part_of_a_span(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    ctx = tx.Context(TOOLS, tracer=tx.OpenTelemetryTracer(provider, record_results=True), redact=hide)
    ctx.receive([{"id": "c1", "name": "refuse", "arguments": {"value": SECRET}}])
    ctx.wait(timeout=10)
    span, attributes = only(exporter)
    (event,) = span.events
    recorded = dict(event.attributes or {})

    assert SECRET not in span.to_json()
    assert ctx.messages("openai")[0]["content"] == attributes["gen_ai.tool.call.result"]
    assert "QuotaError: not with ***" == span.status.description
    assert "not with ***" == recorded["exception.message"]
    assert "in refuse" in str(recorded["exception.stacktrace"])


def test_an_error_that_cannot_be_redacted_is_withheld_from_spans_too(
    provider: TracerProvider, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError

    tracer = tx.OpenTelemetryTracer(provider, record_results=True)
    ctx = tx.Context(TOOLS, tracer=tracer, redact=broken)
    ctx.submit({"name": "refuse", "arguments": {"value": SECRET}}).wait(10)
    span, _ = only(exporter)

    assert SECRET not in span.to_json()
    assert "withheld" in str(span.status.description)
    assert {"toolexec: redact raised; the error that it was given is withheld"} == {
        r.getMessage() for r in caplog.records
    }


def test_a_result_in_a_span_is_what_the_model_is_sent_of_it(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    tracer = tx.OpenTelemetryTracer(provider, record_results=True)
    ctx = tx.Context(TOOLS, tracer=tracer, reveal="type", max_result_bytes=100)
    for name, arguments in (("echo", {"value": "x" * 500}), ("refuse", {"value": SECRET})):
        exporter.clear()
        ctx.receive([{"id": "c1", "name": name, "arguments": arguments}])
        ctx.wait(timeout=10)

        assert ctx.messages("openai")[0]["content"] == only(exporter)[1]["gen_ai.tool.call.result"]


def test_nothing_is_rendered_where_nobody_keeps_it(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    asked: list[str] = []

    def redact(text: str) -> str:
        asked.append(text)
        return text

    ctx = tx.Context(TOOLS, tracer=tx.Tracer(), redact=redact)
    ctx.submit({"name": "refuse", "arguments": {"value": "x"}}).wait(10)
    ctx = tx.Context(TOOLS, tracer=tx.OpenTelemetryTracer(provider), redact=redact)
    ctx.submit({"name": "echo", "arguments": {"value": "x"}}).wait(10)

    assert [] == asked


def test_a_call_within_a_call_is_rendered_as_its_own_context_says(
    provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    inner = tx.Context(TOOLS, redact=hide)

    @tx.tool
    def outer() -> None:
        inner.submit({"name": "refuse", "arguments": {"value": SECRET}}).wait(10)

    ctx = tx.Context([outer], tracer=tx.OpenTelemetryTracer(provider, record_results=True))
    ctx.submit({"name": "outer"}).wait(10)
    of_inner = next(span for span in exporter.get_finished_spans() if span.name.endswith("refuse"))

    assert SECRET not in of_inner.to_json()
    assert "***" in of_inner.to_json()


@pytest.mark.parametrize("name", ["record_arguments", "record_results"])
def test_what_is_no_flag_is_refused(provider: TracerProvider, name: str) -> None:
    given: dict[str, Any] = {name: "no"}
    with pytest.raises(TypeError, match=f"OpenTelemetryTracer: {name} is 'no'; it takes True or False"):
        tx.OpenTelemetryTracer(provider, **given)


def test_what_is_reported_is_redacted_in_a_span(provider: TracerProvider, exporter: InMemorySpanExporter) -> None:
    ctx = tx.Context(TOOLS, tracer=tx.OpenTelemetryTracer(provider), redact=lambda text: text.replace(SECRET, "***"))
    ctx.submit({"name": "say", "arguments": {"words": SECRET}}).wait(10)
    span, _ = only(exporter)

    assert SECRET not in span.to_json()
    assert "***" in span.to_json()
