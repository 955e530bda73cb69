"""Tracers: told of every call once, in order, in the host, and unable to harm it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
import trio

import toolexec as tx
from toolexec.testing import FakeStrategy, RecordingTracer

STRATEGIES = ["sequential", "thread", "asyncio", "trio"]
REQUEST: ContextVar[str] = ContextVar("request", default="none")


class Log(tx.Tracer):
    """Writes down what it is told, and what of the call could be seen at that moment."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str | None]] = []
        self.visible: list[bool] = []
        self.seen: list[str] = []

    def on_tool_start(self, function: tx.Function) -> None:
        self.lines.append(("start", function.id))
        self.seen.append(REQUEST.get())

    def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append(("finish", function.id))
        self.visible.append(function._return is not None)

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        self.lines.append((ret.status, function.id))
        self.visible.append(function._return is not None)


@tx.tool
def fine() -> int:
    return 1


@tx.tool
def bad() -> int:
    raise ValueError("x")


def run(tracer: tx.Tracer, strategy: str, *names: str) -> list[str]:
    ctx = tx.Context([fine, bad], tracer=tracer)
    ctx.receive([{"id": name, "name": name, "arguments": {} if name != "fine!" else {"x": 1}} for name in names])
    return [ret.status for ret in ctx.wait(strategy)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_start_then_one_end_for_each_call_before_its_return_is_seen(strategy: str) -> None:
    log = Log()

    assert ["ok", "raised", "unknown_tool"] == run(log, strategy, "fine", "bad", "gone")
    for name, end in [("fine", "finish"), ("bad", "raised"), ("gone", "unknown_tool")]:
        assert [("start", name), (end, name)] == [line for line in log.lines if line[1] == name]
    assert [False] * 3 == log.visible


def test_refused_arguments_are_traced_though_no_body_begins() -> None:
    log = Log()
    ctx = tx.Context([fine], tracer=log)
    ctx.receive([{"id": "1", "name": "fine", "arguments": "{oops"}])
    ctx.wait("thread")

    assert [("start", "1"), ("bad_arguments", "1")] == log.lines


def test_a_call_interrupted_in_the_queue_is_traced_too() -> None:
    log = Log()
    ctx = tx.Context([fine], tracer=log)
    ctx.receive([{"id": "1", "name": "fine"}])
    with tx.strategy("sequential") as mine:
        group = ctx.group(mine)

    assert ["cancelled"] == [ret.status for ret in group.wait(5)]
    assert [("start", "1"), ("cancelled", "1")] == log.lines


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("hook", ["on_tool_start", "on_tool_finish", "on_tool_error"])
@pytest.mark.parametrize("fault", [ZeroDivisionError, SystemExit])
def test_one_that_raises_is_logged_once_and_not_called_again(
    strategy: str, hook: str, fault: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """SystemExit too: it would end a worker thread before the call has its Return."""

    def raise_fault(*args: Any) -> None:
        raise fault

    tracer = type("Bad", (Log,), {hook: raise_fault})()
    with caplog.at_level(logging.ERROR, "toolexec"):
        assert ["ok", "raised"] == run(tracer, strategy, "fine", "bad")

    assert [record for record in caplog.records if hook in record.message]


def test_a_broken_tracer_stays_silent_for_the_rest_of_the_context(caplog: pytest.LogCaptureFixture) -> None:
    class Bad(Log):
        def on_tool_start(self, function: tx.Function) -> None:
            super().on_tool_start(function)
            raise ZeroDivisionError

    tracer = Bad()
    ctx = tx.Context([fine], tracer=tracer)
    ctx.receive([{"id": "1", "name": "fine"}, {"id": "2", "name": "fine"}])
    ctx.wait("sequential")

    assert [("start", "1")] == tracer.lines
    assert 1 == len(caplog.records)


def test_a_functions_own_tracer_goes_before_the_contexts() -> None:
    mine, contexts = Log(), Log()
    ctx = tx.Context([fine], tracer=contexts)
    one, _ = ctx.receive([{"id": "1", "name": "fine"}, {"id": "2", "name": "fine"}])
    one.tracer = mine
    ctx.wait("thread")

    assert [("start", "1"), ("finish", "1")] == mine.lines
    assert [("start", "2"), ("finish", "2")] == contexts.lines


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_anc_S9_it_sees_the_submitters_context_variables(strategy: str) -> None:
    log = Log()
    token = REQUEST.set("r-7")
    try:
        run(log, strategy, "fine")
    finally:
        REQUEST.reset(token)

    assert ["r-7"] == log.seen


def test_a_slow_one_delays_its_own_call_only() -> None:
    gate = threading.Event()

    class Slow(tx.Tracer):
        def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
            if function.id == "slow":
                gate.wait(10)

    ctx = tx.Context([fine], tracer=Slow())
    ctx.receive([{"id": "slow", "name": "fine"}, {"id": "other", "name": "fine"}])
    group = ctx.group("thread")
    first = next(iter(group))
    assert ("other", None) == (first.id, group.returns[0])
    gate.set()

    assert ["slow", "other"] == [ret.id for ret in group.wait()]


def test_a_tracer_that_overrides_nothing_costs_no_call() -> None:
    class Silent(tx.Tracer): ...

    assert ["ok", "raised"] == run(Silent(), "thread", "fine", "bad")


SPAN: ContextVar[str] = ContextVar("span", default="none")


class Spans(tx.Tracer):
    """Sets a variable at the start, as a tracer of spans does."""

    def on_tool_start(self, function: tx.Function) -> None:
        SPAN.set(f"span of {function.id}")


@tx.tool
def read_span() -> str:
    return SPAN.get()


@tx.tool
async def aread_span() -> str:
    return SPAN.get()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tool", [read_span, aread_span])
def test_a_body_sees_what_its_start_has_set_and_nobody_else_does(strategy: str, tool: tx.Function) -> None:
    ctx = tx.Context([tool], tracer=Spans())
    ctx.receive([{"id": letter, "name": tool.name} for letter in "ab"])

    assert ["span of a", "span of b"] == [ret.value for ret in ctx.wait(strategy)]
    assert "none" == SPAN.get()


@pytest.mark.parametrize("run_loop", [lambda main: asyncio.run(main()), trio.run], ids=["asyncio", "trio"])
def test_so_it_does_in_the_callers_own_loop(run_loop: Any) -> None:
    ctx = tx.Context([aread_span], tracer=Spans())
    ctx.receive([{"id": letter, "name": "aread_span"} for letter in "ab"])

    async def main() -> list[Any]:
        bare = [ret.value for ret in await ctx.run()]
        ctx.receive([{"id": letter, "name": "aread_span"} for letter in "cd"])
        async with ctx.group() as group:
            pass
        ctx.receive([{"id": "e", "name": "aread_span"}])
        return [*bare, *(ret.value for ret in [*group.returns, *await ctx.run("sequential")] if ret is not None)]

    assert [f"span of {letter}" for letter in "abcde"] == run_loop(main)


class Reports(tx.Tracer):
    def __init__(self) -> None:
        self.lines: list[tuple[str | None, float, str]] = []

    def on_progress(self, function: tx.Function, progress: tx.Progress) -> None:
        assert progress.task is not None
        assert progress.task.function is function
        self.lines.append((function.id, progress.done, REQUEST.get()))


@tx.tool
def count(to: int) -> Iterator[int]:
    yield from range(to)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_progress_is_told_in_order_and_in_the_submitters_context_though_nobody_else_listens(strategy: str) -> None:
    tracer = Reports()
    ctx = tx.Context([count], tracer=tracer)
    ctx.receive([{"id": "1", "name": "count", "arguments": {"to": 20}}])
    token = REQUEST.set("r-8")
    try:
        ctx.wait(strategy)
    finally:
        REQUEST.reset(token)

    assert [("1", done, "r-8") for done in range(1, 21)] == tracer.lines


def test_one_that_raises_at_a_report_is_told_nothing_more_and_the_callback_is(caplog: pytest.LogCaptureFixture) -> None:
    class Bad(Log):
        def on_progress(self, function: tx.Function, progress: tx.Progress) -> None:
            raise ZeroDivisionError

    tracer, heard = Bad(), list[tx.Progress]()
    ctx = tx.Context([count], tracer=tracer)
    task = ctx.submit({"id": "1", "name": "count", "arguments": {"to": 3}}, on_progress=heard.append)

    assert [0, 1, 2] == task.wait().value
    assert [1, 2, 3] == [progress.done for progress in heard]
    assert [("start", "1")] == tracer.lines
    assert ["toolexec: Bad.on_progress raised; this tracer is not called again"] == caplog.messages


def test_progress_after_the_end_is_not_told() -> None:
    tracer = RecordingTracer()
    with FakeStrategy() as strategy:
        task = tx.Context([fine], strategy=strategy, tracer=tracer).submit({"id": "1", "name": "fine"})
        job = strategy.next_job()
        assert job.begin()
        job.progress(1)
        job.succeed()
        job.progress(2)
        task.wait()

    assert ["start", "progress", "finish"] == tracer.of("1")


# The current one


@tx.tool
def current() -> tx.Tracer | None:
    return tx.current_tracer()


@tx.tool
async def acurrent() -> tx.Tracer | None:
    return tx.current_tracer()


@tx.tool
def call_others(context: tx.Context, here: tx.Tracer) -> list[tx.Tracer | None]:
    """Calls of a bare Function, of a Context without a tracer, and of one that has its own."""
    contexts = [tx.Context([current]), tx.Context([current], tracer=Silent())]
    found = [tx.run(current, {}).value]
    for inner in contexts:
        inner.receive([{"id": "inner", "name": "current"}])
        found.append(inner.wait()[0].value)
    return [*found, here]


class Silent(tx.Tracer): ...


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tool", [current, acurrent])
def test_a_calls_tracer_is_current_in_its_body(strategy: str, tool: tx.Function) -> None:
    mine = Silent()
    call = tool.bind({}, "1")
    call.tracer = mine
    ctx = tx.Context([tool], tracer=mine)
    ctx.receive([{"id": "2", "name": tool.name}])

    assert mine is call.task(strategy).wait().value
    assert [mine] == [ret.value for ret in ctx.wait(strategy)]
    assert tx.current_tracer() is None


def test_call_makes_the_tracer_current_too() -> None:
    call = current.bind({}, "1")
    assert call.call().value is None

    call = current.bind({}, "1")
    call.tracer = Silent()
    assert call.tracer is call.call().value


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_calls_made_by_a_tool_inherit_it_unless_they_have_their_own(strategy: str) -> None:
    outer = Log()
    ctx = tx.Context([call_others], tracer=outer)
    ctx.receive([{"id": "outer", "name": "call_others"}])
    bare, without, own, injected = ctx.wait(strategy)[0].unwrap()

    assert (outer, outer, outer) == (bare, without, injected)
    assert isinstance(own, Silent)
    assert [("start", "outer"), ("start", None), ("finish", None), ("start", "inner"), ("finish", "inner")] == (
        outer.lines[:-1]
    )
    assert ("finish", "outer") == outer.lines[-1]


# Where the body runs elsewhere


class Isolated(FakeStrategy):
    isolated = True


class Carrying(RecordingTracer):
    def carrier(self, function: tx.Function) -> dict[str, str]:
        return {"traceparent": f"of {function.id} after {self.of(function.id)}"}


def test_the_start_is_told_as_the_call_is_handed_over_and_what_it_carries_goes_along() -> None:
    tracer = Carrying()
    with Isolated() as strategy:
        task = tx.Context([fine], strategy=strategy, tracer=tracer).submit({"id": "1", "name": "fine"})
        job = strategy.next_job()
        assert [] == tracer.of("1")
        parcel = job.job.to_send()
        assert {"traceparent": "of 1 after ['start']"} == parcel.carrier
        assert not task.function.called
        job.begin()
        job.succeed()
        task.wait()

    assert ["start", "finish"] == tracer.of("1")


def test_without_a_carrier_nothing_goes_along() -> None:
    with Isolated() as strategy:
        tx.Context([fine], strategy=strategy, tracer=Log()).submit({"id": "1", "name": "fine"})
        assert strategy.next_job().job.to_send().carrier is None
        tx.Context([fine], strategy=strategy).submit({"id": "2", "name": "fine"})
        assert strategy.next_job().job.to_send().carrier is None


def test_a_strategy_that_sends_the_parcel_by_itself_has_the_start_told_when_its_worker_reports() -> None:
    tracer = RecordingTracer()
    with Isolated() as strategy:
        task = tx.Context([fine], strategy=strategy, tracer=tracer).submit({"id": "1", "name": "fine"})
        job = strategy.next_job()
        job.begin()
        assert ["start"] == tracer.of("1")
        job.succeed()
        task.wait()

    assert ["start", "finish"] == tracer.of("1")


@pytest.mark.parametrize("given", [3, ["traceparent"], [("traceparent", "x")]])
def test_a_carrier_that_is_no_mapping_ends_the_tracer_and_not_the_call(
    given: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Bad(RecordingTracer):
        def carrier(self, function: tx.Function) -> Any:
            return given

    tracer = Bad()
    with Isolated() as strategy:
        task = tx.Context([fine], strategy=strategy, tracer=tracer).submit({"id": "1", "name": "fine"})
        job = strategy.next_job()
        assert job.job.to_send().carrier is None
        job.succeed(1)
        assert 1 == task.wait().value

    assert ["start"] == tracer.of("1")
    assert 1 == len([line for line in caplog.messages if "Bad.carrier" in line])


def test_an_end_waits_for_a_start_that_another_thread_is_just_telling() -> None:
    """A call may be settled in the very moment in which it begins."""
    entered, ended = threading.Event(), threading.Event()

    class Slow(RecordingTracer):
        def on_tool_start(self, function: tx.Function) -> None:
            entered.set()
            ended.wait(0.1)  # for as long as an end that does not wait might take
            super().on_tool_start(function)

        def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
            super().on_tool_error(function, ret)
            ended.set()

    tracer = Slow()
    with FakeStrategy() as strategy:
        task = tx.Context([fine], strategy=strategy, tracer=tracer).submit({"id": "1", "name": "fine"})
        job = strategy.next_job()
        beginning = threading.Thread(target=job.begin)
        beginning.start()
        assert entered.wait(10)
        job.stop()
        beginning.join(10)
        task.wait()

    assert ["start", "error"] == tracer.of("1")


def test_one_that_raises_for_many_calls_at_once_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    all_in_it = threading.Barrier(4)

    class Bad(tx.Tracer):
        def on_tool_start(self, function: tx.Function) -> None:
            all_in_it.wait(10)
            raise ZeroDivisionError

    ctx = tx.Context([fine], tracer=Bad())
    ctx.receive([{"name": "fine"}] * 4)

    assert ["ok"] * 4 == [ret.status for ret in ctx.wait("thread", timeout=20)]
    assert ["toolexec: Bad.on_tool_start raised; this tracer is not called again"] == caplog.messages


def test_a_tracer_that_would_never_hear_what_it_is_written_for_is_refused() -> None:
    class Misspelt(tx.Tracer):
        def on_tool_finished(self, function: tx.Function, ret: tx.Return) -> None: ...

    class Awaited(tx.Tracer):
        async def on_tool_start(self, function: tx.Function) -> None: ...  # type: ignore[override]  # what a user may write

    class Other(tx.Tracer):
        def on_request(self) -> None: ...

    with pytest.raises(TypeError, match=r"'Misspelt' has on_tool_finished, .*did you mean on_tool_finish\?"):
        tx.Context([], tracer=Misspelt())
    with pytest.raises(TypeError, match="'Awaited': its on_tool_start is async"):
        tx.Context([], tracer=Awaited())
    tx.Context([], tracer=Other())
