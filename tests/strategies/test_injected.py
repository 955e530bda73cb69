"""Injected parameters where the body runs elsewhere: what can travel does, the rest is refused in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import injected_tools as tools
import toolexec as tx


@pytest.fixture(params=["fork", "interpreter"])
def strategy(request: pytest.FixtureRequest) -> Iterator[tx.Strategy]:
    try:
        made = tx.strategy(request.param, grace=1.0)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    with made:
        yield made


def test_the_current_call_and_what_can_be_pickled_are_there(strategy: tx.Strategy) -> None:
    reports: list[tx.Progress] = []
    ctx = tx.Context(
        tools=[tools.tells, tools.atells], deps={tools.Settings: tools.Settings("north")}, strategy=strategy
    )
    task = ctx.submit({"id": "c1", "name": "tells", "arguments": {"a": 1}}, on_progress=reports.append)
    other = ctx.submit({"id": "c2", "name": "atells", "arguments": {"a": 2}})

    value = task.wait().unwrap()
    assert {"a": 1, "id": "c1", "mine": True, "region": "north"}.items() <= value.items()
    assert (value["pid"] == os.getpid()) is (strategy.name == "interpreter")
    assert ["half"] == [report.message for report in reports]
    assert {"a": 2, "id": "c2", "mine": True} == other.wait().unwrap()


def test_what_stays_in_the_host_is_refused_in_its_place(strategy: tx.Strategy) -> None:
    ctx = tx.Context(
        tools=[tools.wants_context, tools.wants_tracer, tools.wants_lock, tools.atells],
        deps={tools.Locked: tools.Locked()},
        strategy=strategy,
    )
    names = ["wants_context", "wants_tracer", "wants_lock", "atells"]
    calls = [{"id": name, "name": name, "arguments": {"a": 1} if name == "atells" else {}} for name in names]

    returns = ctx.receive(calls).wait()

    assert ["unsendable", "unsendable", "unsendable", "ok"] == [ret.status for ret in returns]
    for ret, word in zip(returns, ["'ctx' takes the context", "'tracer' takes the tracer", "lock"], strict=False):
        assert word in ret.value["message"]
