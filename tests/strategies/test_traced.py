"""One span per call, whatever becomes of it and wherever it runs; what is done inside joins its trace."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import toolexec as tx
from toolexec._discovery import available
from toolexec.testing import RecordingTracer
from traced_tools import TOOLS

IN_PROCESS = ["sequential", "thread", "asyncio", "trio"]
ISOLATED = [name for name in ("fork", "interpreter") if name in available()]
ALL = [*IN_PROCESS, *ISOLATED]
CALLER = "caller"
RETRY = tx.Retry(attempts=3, backoff=0)


class Spans:
    """A provider that keeps its spans, and a tracer on it."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = tx.OpenTelemetryTracer(self.provider)

    def context(self, strategy: Any, **options: Any) -> tx.Context:
        return tx.Context(TOOLS, strategy=strategy, tracer=self.tracer, **options)

    def caller(self) -> Any:
        return self.provider.get_tracer("test").start_as_current_span(CALLER)

    def of_calls(self) -> list[ReadableSpan]:
        """Those that have ended, but for the caller's."""
        return [span for span in self.exporter.get_finished_spans() if span.name != CALLER]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    yield made
    made.provider.shutdown()


class Case(NamedTuple):
    """How a call comes to a status.

    Attributes:
        status: Which.
        tool: What is called.
        arguments: With what.
        timeout: The call's limit.
        asked: When it is interrupted: "before" it begins, "during" its body, or never.
        error_type: The span's.
        only: Under which strategies.
        options: Its Context's.
        attempts: How often its body begins.
    """

    status: str
    tool: str
    arguments: Any = None
    timeout: float | None = None
    asked: str = "never"
    error_type: str | None = None
    only: tuple[str, ...] = tuple(ALL)
    options: Mapping[str, Any] = {}
    attempts: int | None = None

    def run(self, ctx: tx.Context) -> tx.Return:
        """Make the call, alone in its Context."""
        if self.asked == "before":
            ctx.interrupt("enough")
        on_progress = (lambda progress: progress.task.interrupt("enough")) if self.asked == "during" else None
        call = {"id": "c1", "name": self.tool, "arguments": self.arguments}
        return ctx.submit(call, on_progress=on_progress, timeout=self.timeout).wait(30)


def _no(_: tx.Function) -> bool:
    return False


async def _ano(_: tx.Function) -> bool:
    return False


async def _ayes(_: tx.Function) -> bool:
    return True


CASES = [
    Case("ok", "echo"),
    Case("ok", "aecho"),
    Case("raised", "fail", error_type="LookupError"),
    Case("bad_arguments", "echo", "{oops", error_type="bad_arguments"),
    Case("unknown_tool", "gone", error_type="unknown_tool"),
    Case("unsendable", "give_lock", error_type="unsendable", only=tuple(ISOLATED)),
    Case("timeout", "heed", timeout=0.05, error_type="timeout"),
    Case("timeout", "aheed", timeout=0.05, error_type="timeout"),
    Case("lost", "die", error_type="lost", only=("fork",)),
    Case("cancelled", "echo", asked="before"),
    Case("cancelled", "heed", asked="during"),
    Case("cancelled", "aheed", asked="during"),
    Case("denied", "echo", options={"confirm": ["echo"], "on_confirm": _no}),
    Case("denied", "echo", options={"confirm": ["echo"], "on_confirm": _ano}),
    Case("budget", "echo", options={"budget": 0}),
    Case("deferred", "echo", options={"confirm": ["echo"], "on_confirm": lambda _: tx.DEFER}),
    Case("ok", "echo", options={"confirm": ["echo"], "on_confirm": _ayes}),
    Case("raised", "fail_again", error_type="LookupError", options={"retry": RETRY}, attempts=3),
    Case("raised", "afail_again", error_type="LookupError", options={"retry": RETRY}, attempts=3),
]


@pytest.mark.parametrize(
    ("case", "strategy"),
    [
        pytest.param(case, strategy, id=f"{case.status}-{case.tool}-{number}-{strategy}")
        for number, case in enumerate(CASES)
        for strategy in ALL
        if strategy in case.only
    ],
)
def test_one_span_for_each_call_child_of_its_caller(spans: Spans, case: Case, strategy: str) -> None:
    with spans.caller() as caller:
        ret = case.run(spans.context(strategy, **case.options))
        assert caller is trace.get_current_span(), "the caller's own context is as before"

    assert case.status == ret.status
    (span,) = spans.of_calls()
    assert (f"execute_tool {case.tool}", SpanKind.INTERNAL) == (span.name, span.kind)
    assert span.parent is not None
    assert caller.get_span_context().span_id == span.parent.span_id
    assert span.attributes is not None
    assert (case.status, case.error_type) == (span.attributes["toolexec.status"], span.attributes.get("error.type"))
    assert (StatusCode.ERROR if ret.error else StatusCode.UNSET) == span.status.status_code
    assert ["exception"] * ret.error == [event.name for event in span.events if event.name == "exception"]
    assert ret.strategy == span.attributes.get("toolexec.strategy")
    assert case.attempts in (None, ret.attempts)
    assert (ret.attempts, ret.queued_s) == (span.attributes["toolexec.attempts"], span.attributes["toolexec.queued_s"])


@pytest.mark.parametrize("strategy", ALL)
def test_every_call_of_a_batch_has_its_own(spans: Spans, strategy: str) -> None:
    ctx = spans.context(strategy)
    with spans.caller() as caller:
        # Two of them with one id.
        ctx.receive([{"id": f"c{min(number, 8)}", "name": "span_here", "arguments": {}} for number in range(10)])
        returns = ctx.wait()

    ids = [(f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}") for span in spans.of_calls()]
    assert 10 == len(set(ids))
    assert set(ids) == {tuple(ret.value) for ret in returns}
    assert {caller.get_span_context().span_id} == {span.parent.span_id for span in spans.of_calls() if span.parent}


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("tool", ["span_here", "aspan_here", "span_inside"])
def test_it_is_current_in_the_body(spans: Spans, strategy: str, tool: str) -> None:
    with spans.caller():
        ret = spans.context(strategy).submit({"id": "c1", "name": tool}).wait(30)

    (span,) = spans.of_calls()
    assert [f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"] == list(ret.unwrap())


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("tool", ["span_once_more", "aspan_once_more"])
def test_so_it_is_in_every_attempt(spans: Spans, strategy: str, tool: str, tmp_path: Path) -> None:
    call = {"id": "c1", "name": tool, "arguments": {"path": str(tmp_path / "spans")}}
    ret = spans.context(strategy, retry=RETRY).submit(call).wait(30)

    (span,) = spans.of_calls()
    assert (3, [f"{span.context.span_id:016x}"] * 3) == (ret.attempts, ret.unwrap())


@pytest.mark.parametrize("strategy", ALL)
def test_baggage_comes_along(spans: Spans, strategy: str) -> None:
    token = context.attach(baggage.set_baggage("tenant", "seven"))
    try:
        ret = spans.context(strategy).submit({"id": "c1", "name": "baggage_here"}).wait(30)
    finally:
        context.detach(token)

    assert {"tenant": "seven"} == ret.unwrap()


@pytest.mark.parametrize("outer", IN_PROCESS)
@pytest.mark.parametrize("inner", ALL)
def test_calls_inside_a_call_are_its_children(spans: Spans, outer: str, inner: str) -> None:
    ret = spans.context(outer).submit({"id": "c1", "name": "nest", "arguments": {"strategy": inner}}).wait(30)

    assert "inner" == ret.unwrap()
    first, second = spans.of_calls()
    assert ("execute_tool echo", "execute_tool nest") == (first.name, second.name)
    assert (second.context, None) == (first.parent, second.parent)


@pytest.mark.parametrize("strategy", ALL)
def test_progress_is_events_of_its_span(spans: Spans, strategy: str) -> None:
    spans.context(strategy).submit({"id": "c1", "name": "count", "arguments": {"to": 3}}).wait(30)

    (span,) = spans.of_calls()
    assert ["toolexec.progress"] * 3 == [event.name for event in span.events]
    assert [1, 2, 3] == [event.attributes["toolexec.progress.done"] for event in span.events if event.attributes]


@pytest.mark.parametrize("strategy", ISOLATED)
def test_a_worker_imports_opentelemetry_only_for_a_trace(strategy: str) -> None:
    with tx.strategy(strategy) as made:
        plain = tx.Context(TOOLS, strategy=made, tracer=RecordingTracer())
        assert [] == plain.submit({"id": "c1", "name": "loaded"}).wait(30).unwrap()


@pytest.mark.skipif("fork" not in ALL, reason="needs os.fork")
@pytest.mark.parametrize("preload", [True, False])
def test_the_fork_server_imports_what_joins_a_trace_once_a_call_has_one(spans: Spans, preload: bool) -> None:
    with tx.strategy("fork", preload=preload) as fork:
        ctx = spans.context(fork)
        ctx.submit({"id": "c1", "name": "echo"}).wait(30)
        untraced = tx.Context(TOOLS, strategy=fork).submit({"id": "c2", "name": "loaded"}).wait(30).unwrap()
        assert preload is ("opentelemetry.trace.propagation.tracecontext" in untraced)
        with spans.caller() as caller:
            trace_id, _ = ctx.submit({"id": "c3", "name": "span_inside"}).wait(30).unwrap()
        assert f"{caller.get_span_context().trace_id:032x}" == trace_id


# Exactly one start and one end, whatever comes first


def _spin(turns: int) -> None:
    for _ in range(turns):
        pass


def _interrupt_after(task: tx.Task, turns: int) -> None:
    _spin(turns)
    task.interrupt()


@pytest.mark.parametrize(
    ("strategy", "rounds"), [("thread", 400), ("asyncio", 300), ("trio", 200), ("sequential", 300)]
)
@pytest.mark.parametrize("tool", ["echo", "aecho"])
def test_an_interrupt_against_the_beginning_and_the_end(spans: Spans, strategy: str, rounds: int, tool: str) -> None:
    _race(spans, strategy, rounds, tool, most=4000)


@pytest.mark.parametrize("strategy", ISOLATED)
def test_so_it_is_in_workers(spans: Spans, strategy: str) -> None:
    _race(spans, strategy, 60, "echo", most=40_000)


def _race(spans: Spans, strategy: str, rounds: int, tool: str, most: int) -> None:
    rng = random.Random(strategy)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for number in range(rounds):
            recorder = RecordingTracer()
            call = next(one for one in TOOLS if one.name == tool).bind({}, f"c{number}")
            call.tracer = Both(recorder, spans.tracer)
            task = call.task(strategy)
            asking = threading.Thread(target=_interrupt_after, args=(task, rng.randrange(most)))
            asking.start()
            if number % 2:  # under sequential the call begins now
                _spin(rng.randrange(most))
            ret = task.wait(30)
            asking.join()
            assert ["start", "finish" if ret.ok else "error"] == recorder.of(ret.id)
            assert 1 == len(spans.of_calls())
            spans.exporter.clear()
    finally:
        sys.setswitchinterval(before)


class Both(tx.Tracer):
    """Tells two tracers, in turn."""

    def __init__(self, *tracers: tx.Tracer) -> None:
        self.tracers = tracers

    def on_tool_start(self, function: tx.Function) -> None:
        for tracer in self.tracers:
            tracer.on_tool_start(function)

    def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
        for tracer in self.tracers:
            tracer.on_tool_finish(function, ret)

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        for tracer in self.tracers:
            tracer.on_tool_error(function, ret)
