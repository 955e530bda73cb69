"""Tracers: told of every call once, in order, in the host, and unable to harm it."""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import Any

import pytest

import toolexec as tx

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
