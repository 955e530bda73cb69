"""Every call is traced once, in the host, before its Return can be seen; callbacks harm nobody."""

from __future__ import annotations

import os

from toolexec import Context, Function, Progress, Return, Tracer
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import settle
from toolexec.testing._harness import Harness, records
from toolexec.testing._logged import logged
from toolexec.testing._needs import about_the_body, only_under
from toolexec.testing._recording_tracer import RecordingTracer

_CALLS = [
    ("add", {"a": 1}),
    ("fail", {"kind": "value"}),
    ("nobody", None),
    ("add", "["),
    ("aadd", {"a": 1}),
    ("afail", {"kind": "exit"}),
]
_TOOLS = [tools.add, tools.fail, tools.aadd, tools.afail]


def check_traced_once(harness: Harness) -> None:
    """One start, then one finish or one error, for each call, also for one that never began; all in the host."""
    tracer = RecordingTracer()
    returns = harness.run(_TOOLS, _CALLS, tracer=tracer)
    kinds = [tracer.of(ret.id) for ret in returns]

    assert kinds == [["start", "finish" if ret.ok else "error"] for ret in returns], kinds
    assert [ret.status for ret in returns] == ["ok", "raised", "unknown_tool", "bad_arguments", "ok", "raised"]
    told = {event.id: event.ret for event in tracer.events if event.ret is not None}
    assert all(told[ret.id] is ret for ret in returns), told
    assert {event.pid for event in tracer.events} == {os.getpid()}, tracer.events
    assert [event.name for event in tracer.events if event.id == "c2"] == ["nobody"] * 2, tracer.events


def check_traced_before_the_return_is_visible(harness: Harness) -> None:
    """While the tracer hears of the end, nobody can see the Return yet."""
    early: list[bool] = []

    class Looking(Tracer):
        def on_tool_finish(self, function: Function, ret: Return) -> None:
            early.append(ret in context.returns)

        on_tool_error = on_tool_finish

    context = Context(_TOOLS, strategy=harness.strategy, tracer=Looking())
    functions = context.receive(records(_CALLS))
    returns = settle(harness.driver, functions.group)

    assert early == [False] * len(returns), early
    assert context.returns == returns, context.returns


@about_the_body
def check_raising_tracer(harness: Harness) -> None:
    """A tracer that raises is logged once and not called again; the calls go on."""
    told: list[str | None] = []

    class Broken(Tracer):
        def on_tool_start(self, function: Function) -> None:
            told.append(function.id)
            raise RuntimeError("the tracer's own fault")

        def on_tool_finish(self, function: Function, ret: Return) -> None:
            told.append("finish")

        on_tool_error = on_tool_finish

    with logged() as lines:
        returns = harness.run([tools.add], [("add", {"a": 1})], tracer=Broken())
        assert [ret.value for ret in returns] == [2], returns

    assert told == ["c0"], told
    assert len(lines) == 1 and "Broken.on_tool_start" in lines[0], lines


@only_under("sync")
def check_tool_with_its_own_tracer(harness: Harness) -> None:
    """A call's own tracer hears of it without a Context."""
    tracer = RecordingTracer()
    function = tools.add.bind({"a": 1}, "c0")
    function.tracer = tracer
    ret = function.task(harness.strategy).wait()

    assert ret.value == 2, ret
    assert [(event.kind, event.id, event.ret) for event in tracer.events] == [
        ("start", "c0", None),
        ("finish", "c0", ret),
    ], tracer.events


def check_progress_before_the_return(harness: Harness) -> None:
    """Progress comes in order, in the host, and all of it before the call has settled."""
    seen: list[tuple[Progress, int]] = []
    ret = harness.one(tools.parts, {"count": 50}, on_progress=lambda report: seen.append((report, os.getpid())))

    assert ret.value == list(range(50)), ret
    assert [report.done for report, _ in seen] == list(range(1, 51)), seen
    assert {pid for _, pid in seen} == {os.getpid()}, seen


@about_the_body
def check_raising_progress_callback(harness: Harness) -> None:
    """A callback that raises is logged, and the call goes on."""

    def broken(_: Progress) -> None:
        raise RuntimeError("the callback's own fault")

    with logged() as lines:
        ret = harness.one(tools.parts, {"count": 2}, on_progress=broken)

    assert ret.value == [0, 1], ret
    assert lines and all("raised" in line for line in lines), lines


CHECKS = (
    check_traced_once,
    check_traced_before_the_return_is_visible,
    check_raising_tracer,
    check_tool_with_its_own_tracer,
    check_progress_before_the_return,
    check_raising_progress_callback,
)
