"""Traces and tracers, as far as others have lost them on the way to a tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import toolexec as tx
import traced_tools
from cases.case_steps import LOOPS, run_in
from cases.case_tools import ALL, IN_PROCESS, ISOLATED, PATIENCE_S


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("tool", ["span_here", "aspan_here", "span_inside"])
def test_C3_the_trace_parent_reaches_the_tool(strategy: str, tool: str, provider: TracerProvider) -> None:
    """Siblings are submitted under different spans; each finds its own trace, and no span but its own call's."""
    ctx = tx.Context(traced_tools.TOOLS, tracer=tx.OpenTelemetryTracer(provider))
    tasks, submitted = list[tx.Task](), list[str]()
    for number in range(3):
        with provider.get_tracer("caller").start_as_current_span("request") as span:
            tasks.append(ctx.submit({"id": f"c{number}", "name": tool}, strategy=strategy))
            submitted.append(f"{span.get_span_context().trace_id:032x}")
    found = [task.wait(PATIENCE_S).unwrap() for task in tasks]

    assert submitted == [trace_id for trace_id, _ in found]
    assert 3 == len({span_id for _, span_id in found})
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize("strategy", ISOLATED)
def test_C3_without_a_tracer_there_is_no_trace_in_a_worker(strategy: str, provider: TracerProvider) -> None:
    with provider.get_tracer("caller").start_as_current_span("request"):
        ret = tx.run(traced_tools.span_here, {}, strategy, timeout=PATIENCE_S)

    assert ("0" * 32, "0" * 16) == tuple(ret.unwrap())


class Named(tx.Tracer):
    pass


@tx.tool
def current() -> tx.Tracer | None:
    return tx.current_tracer()


@tx.tool
async def acurrent() -> tx.Tracer | None:
    return tx.current_tracer()


@tx.tool
def current_of_an_inner_call(strategy: str) -> Any:
    return tx.run(current, {}, strategy).value


def _call(tool: tx.Function, tracer: tx.Tracer, **arguments: Any) -> tx.Function:
    call = tool.bind(arguments, "c1")
    call.tracer = tracer
    return call


@pytest.mark.parametrize("strategy", IN_PROCESS)
@pytest.mark.parametrize("tool", [current, acurrent])
def test_anc_S9_a_tracer_stays_attached_to_its_calls_across_threads_and_loops(strategy: str, tool: tx.Function) -> None:
    """Each of several calls at once has its own, and there is none outside, nor where a call has none."""
    tracers = [Named() for _ in range(4)]
    tasks = [_call(tool, tracer).task(strategy) for tracer in tracers]
    bare = tool.bind({}, "c2").task(strategy)

    assert tracers == [task.wait(PATIENCE_S).value for task in tasks]
    assert (None, None) == (bare.wait(PATIENCE_S).value, tx.current_tracer())


@pytest.mark.parametrize("entry", LOOPS)
@pytest.mark.parametrize("tool", [current, acurrent])
def test_anc_S9_in_the_callers_own_loop_too(entry: str, tool: tx.Function) -> None:
    tracers = [Named() for _ in range(3)]

    async def main() -> list[Any]:
        tasks = [_call(tool, tracer).task() for tracer in tracers]
        return [(await task).value for task in tasks]

    assert tracers == run_in(entry, main)


@pytest.mark.parametrize("outer", IN_PROCESS)
@pytest.mark.parametrize("inner", IN_PROCESS)
def test_anc_S9_it_is_that_of_the_calls_that_its_body_makes(outer: str, inner: str) -> None:
    tracer = Named()
    assert tracer is _call(current_of_an_inner_call, tracer, strategy=inner).task(outer).wait(PATIENCE_S).value


def test_anc_S9_a_call_here_and_now_has_it_as_well() -> None:
    tracer = Named()
    assert tracer is _call(current, tracer).call().value
    assert tx.current_tracer() is None
