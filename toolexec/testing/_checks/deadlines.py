"""Deadlines: the nearest limit of time ends a call, says which it was, and counts from where it should."""

from __future__ import annotations

import queue
from typing import Any

from toolexec import Context, DeadlineExceeded, Function, Group, Progress, Return, Task
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing import _timed_tools as timed
from toolexec.testing._drivers import LIMIT_S, settle
from toolexec.testing._harness import Harness
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import about_the_body, only_under
from toolexec.testing._threads import on_threads

# A limit that passes at once, for a body that would go on for ever.
_REAL_S = 0.02


def check_limit_of_the_tool(harness: Harness) -> None:
    """A call whose tool's time is over is ``timeout``, and its Return names that limit."""
    for tool in (timed.heed_for_ten, timed.aheed_for_ten):
        clock, gate = ManualClock(), harness.gate()

        def act(_: Group, clock: ManualClock = clock, gate: Any = gate) -> None:
            gate.wait_until_reached()
            clock.wait_for_timers()  # the host may hear of the start later than the gate
            clock.advance(10)

        (ret,) = harness.steer([tool], [(tool.name, {"gate": gate.path, "label": "x"})], act, clock=clock)

        _assert_timeout(ret, "the tool's time limit of 10 s")
        assert ret.duration_s == 10 and ret.attempts == 1, ret


@about_the_body
def check_limit_of_one_call(harness: Harness) -> None:
    """So is one that was given less time than its tool has."""
    clock, gate = ManualClock(), harness.gate()
    context = harness.context([timed.heed_for_ten], clock=clock)
    call = {"name": "heed_for_ten", "arguments": {"gate": gate.path, "label": "x"}}

    def act(_: Task) -> None:
        gate.wait_until_reached()
        clock.wait_for_timers()
        clock.advance(3)

    ret = harness.follow(lambda: context.submit(call, timeout=3), act, moved=True)

    _assert_timeout(ret, "the call's time limit of 3 s")


def check_limit_of_the_group(harness: Harness) -> None:
    """When a Group's time is over, what has finished keeps its value; what runs or waits is ``timeout``."""
    clock, gate, journal = ManualClock(), harness.gate(), harness.journal()

    def act(_: Group) -> None:
        gate.wait_until_reached()
        clock.advance(10)

    calls: list[Any] = [
        ("note", {"journal": journal.path, "label": "0"}),
        ("heed", {"gate": gate.path, "label": "1"}),
        ("note", {"journal": journal.path, "label": "2"}),
    ]
    used = [ordered.note, stopping.heed]
    first, *others = harness.steer(used, calls, act, window=1, timeout=10, clock=clock)

    assert first.value == "0", first
    for ret in others:
        _assert_timeout(ret, "the group's time limit of 10 s")
    assert journal.lines() == ["0"], journal.lines()


def check_idle_limit(harness: Harness) -> None:
    """Progress starts the idle limit anew; silence ends the call."""
    clock, reported = ManualClock(), queue.SimpleQueue[Progress]()
    ret = _report_at(harness, timed.report_then_heed, clock, reported, over_at=19)

    _assert_timeout(ret, "the tool's idle limit of 10 s")
    assert (ret.duration_s, clock.now()) == (19, 19), ret


@only_under("sync")
def check_nearest_limit_counts(harness: Harness) -> None:
    """Progress does not move the limit in all; of several limits the nearest ends the call, and is named."""
    clock, reported = ManualClock(), queue.SimpleQueue[Progress]()
    ret = _report_at(harness, timed.report_then_heed_for_fifteen, clock, reported, over_at=15)

    _assert_timeout(ret, "the tool's time limit of 15 s")


def _report_at(
    harness: Harness, tool: Any, clock: ManualClock, reported: queue.SimpleQueue[Progress], *, over_at: float
) -> Return:
    """A call that reports when nine seconds are over, and then no more."""
    gate = harness.gate()
    context = Context([tool], strategy=harness.strategy, clock=clock)
    call = {"name": tool.name, "arguments": {"gate": gate.path, "label": "x"}}

    def act(task: Task) -> None:
        gate.wait_until_reached()
        clock.wait_for_timers()
        clock.advance(9)
        gate.open()
        reported.get(timeout=LIMIT_S)
        clock.advance(over_at - 9 - 1)
        assert not task.function.cancelled and task.alive, task
        clock.advance(1)

    return harness.follow(lambda: context.submit(call, on_progress=reported.put), act, moved=True)


def check_clock_starts_with_the_body(harness: Harness) -> None:
    """A call that waits for its turn uses up none of its own time."""
    clock, gates = ManualClock(), [harness.gate(), harness.gate()]

    def act(_: Group) -> None:
        for gate in gates:
            gate.wait_until_reached()
            clock.wait_for_timers()
            clock.advance(9)
            gate.open()

    calls = [("pass_in_ten", {"gate": gate.path, "label": str(place)}) for place, gate in enumerate(gates)]
    returns = harness.steer([timed.pass_in_ten], calls, act, window=1, clock=clock)

    assert [ret.value for ret in returns] == ["0", "1"], returns


def check_late_value_is_dropped(harness: Harness) -> None:
    """What a body makes of it when its time is over counts no more."""
    for then in ("return", "raise"):
        clock, gate = ManualClock(), harness.gate()
        context = harness.context([stopping.clean_up], clock=clock)
        call = {"name": "clean_up", "arguments": {"gate": gate.path, "label": "x", "then": then}}

        def act(_: Task, clock: ManualClock = clock, gate: Any = gate) -> None:
            gate.wait_until_reached()
            clock.wait_for_timers()
            clock.advance(10)

        def start(context: Context = context, call: Any = call) -> Task:
            return context.submit(call, timeout=10)

        _assert_timeout(harness.follow(start, act, moved=True), "the call's time limit of 10 s")


def check_limit_in_real_time(harness: Harness) -> None:
    """Limits shorter than a second work as well, by whatever clock is the caller's."""
    for tool in (stopping.heed, stopping.aheed):
        ret = _alone(harness, tool, _REAL_S, gate=harness.gate().path, label="x")

        _assert_timeout(ret, f"the call's time limit of {_REAL_S:g} s")
        assert ret.duration_s >= _REAL_S, ret


@only_under("sync")
def check_limit_off_the_main_thread(harness: Harness) -> None:
    """They need no signal: so they work for callers on any thread."""

    def call(number: int) -> Return:
        return _alone(harness, stopping.heed, _REAL_S, gate=harness.gate().path, label=str(number))

    for ret in on_threads(2, call):
        _assert_timeout(ret, f"the call's time limit of {_REAL_S:g} s")


@about_the_body
def check_own_timeout_is_the_tools(harness: Harness) -> None:
    """A TimeoutError that a tool raises is its own failure, as is one of its loop's."""
    for tool in (timed.time_out_itself, timed.atime_out_itself):
        ret = _alone(harness, tool, LIMIT_S)

        assert (ret.status, ret.error) == ("raised", True), ret
        assert ret.value["type"] in ("TimeoutError", "TooSlowError"), ret.value
        assert not isinstance(ret.exception, DeadlineExceeded), repr(ret.exception)


def _alone(harness: Harness, tool: Function, timeout: float, **arguments: str) -> Return:
    function = tool.bind(arguments)
    return settle(harness.driver, lambda: function.task(harness.strategy, timeout=timeout))


def _assert_timeout(ret: Return, limit: str) -> None:
    assert (ret.status, ret.error, ret.cancelled, ret.abandoned) == ("timeout", True, False, False), ret
    assert isinstance(ret.exception, DeadlineExceeded) and isinstance(ret.exception, TimeoutError), repr(ret.exception)
    assert ret.value["type"] == "DeadlineExceeded" and limit in ret.value["message"], ret.value


CHECKS = (
    check_limit_of_the_tool,
    check_limit_of_one_call,
    check_limit_of_the_group,
    check_idle_limit,
    check_nearest_limit_counts,
    check_clock_starts_with_the_body,
    check_late_value_is_dropped,
    check_limit_in_real_time,
    check_limit_off_the_main_thread,
    check_own_timeout_is_the_tools,
)
