"""Interrupts: asked by whomever and whenever, a call stops or answers, and none that has not begun ever does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from toolexec import Function, Group, Interrupt, Return, Task
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import LIMIT_S, in_company, run
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body, concurrent, needs, only_under, raises
from toolexec.testing._recording_tracer import RecordingTracer

# How often a race is run: often enough to show a fault that shows at all within a few runs of the suite.
_ROUNDS = 20


def check_interrupt(harness: Harness) -> None:
    """A call that is asked to stop, and says so itself, is ``cancelled`` for the reason that was given."""
    for tool in (stopping.heed, stopping.aheed):
        gate, tracer = harness.gate(), RecordingTracer()
        (ret,) = harness.steer([tool], [_at(tool.name, gate)], interrupt_at(gate, "enough"), tracer=tracer)

        assert_cancelled(ret, "enough")
        assert ret.attempts == 1 and not ret.abandoned, ret
        assert tracer.of("c0") == ["start", "error"], tracer.events


@needs(raises)
def check_interrupt_of_a_body_that_does_not_ask(harness: Harness) -> None:
    """A body that stands and waits is ended where it stands; its ``finally`` runs."""
    for tool in (ordered.gated_span, ordered.agated_span):
        gate, journal = harness.gate(), harness.journal()
        call = (tool.name, {"journal": journal.path, "gate": gate.path, "label": "x"})
        (ret,) = harness.steer([tool], [call], interrupt_at(gate, "enough"))

        assert_cancelled(ret, "enough")
        assert journal.lines() == ["+x", "-x"], journal.lines()


def check_queued_calls_never_start(harness: Harness) -> None:
    """Of calls that wait for their turn none begins any more; each has its Return, in call order."""
    gate, journal = harness.gate(), harness.journal()
    calls = [_note(journal.path, 0), _at("heed", gate), *(_note(journal.path, place) for place in range(2, 5))]
    used = [ordered.note, stopping.heed]
    returns = harness.steer(used, calls, interrupt_at(gate, "enough"), window=1)

    assert [ret.id for ret in returns] == ["c0", "c1", "c2", "c3", "c4"], returns
    assert returns[0].value == "0", returns
    for ret in returns[1:]:
        assert_cancelled(ret, "enough")
    assert [ret.attempts for ret in returns] == [1, 1, 0, 0, 0], returns
    assert journal.lines() == ["0"], journal.lines()


def check_interrupt_before_the_start(harness: Harness) -> None:
    """One that waits is answered at once; the calls before and after it do not notice."""
    gate, journal = harness.gate(), harness.journal()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.tasks[1].interrupt("not this one")
        assert_cancelled(group.tasks[1].wait(LIMIT_S), "not this one")
        gate.open()

    calls = [_at("pass_gate", gate), _note(journal.path, 1), _note(journal.path, 2)]
    returns = harness.steer([ordered.pass_gate, ordered.note], calls, act, window=1)

    assert [ret.status for ret in returns] == ["ok", "cancelled", "ok"], returns
    assert journal.lines() == ["2"], journal.lines()


@needs(concurrent)
@about_the_body
def check_interrupt_of_several(harness: Harness) -> None:
    """All that run stop, sync and async, each with its own Return, in call order."""
    gate = harness.gate()
    names = ["heed", "aheed", "heed", "aheed"]
    returns = harness.steer(
        [stopping.heed, stopping.aheed],
        [_at(name, gate, str(place)) for place, name in enumerate(names)],
        interrupt_at(gate, "enough", count=4),
        window=4,
    )

    assert [(ret.id, ret.name) for ret in returns] == [(f"c{place}", name) for place, name in enumerate(names)]
    for ret in returns:
        assert_cancelled(ret, "enough")


@needs(concurrent)
@only_under("sync")
def check_interrupt_of_one_task(harness: Harness) -> None:
    """A Task is one call: its siblings go on."""
    gate, other = harness.gate(), harness.gate()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        other.wait_until_reached()
        group.tasks[1].cancel("this one")  # the other name of interrupt
        assert_cancelled(group.tasks[1].wait(LIMIT_S), "this one")
        other.open()

    calls = [_at("pass_gate", other), _at("heed", gate)]
    returns = harness.steer([ordered.pass_gate, stopping.heed], calls, act, window=2)

    assert [ret.status for ret in returns] == ["ok", "cancelled"], returns


@about_the_body
def check_first_reason_counts(harness: Harness) -> None:
    """Interrupting again changes nothing."""
    gate = harness.gate()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.tasks[0].interrupt("the first")
        group.tasks[0].interrupt("the second")
        group.interrupt("the third")

    (ret,) = harness.steer([stopping.heed], [_at("heed", gate)], act)

    assert_cancelled(ret, "the first")


@only_under("sync")
def check_interrupt_after_the_end(harness: Harness) -> None:
    """A call that has its Return keeps it, and the strategy runs the next ones."""
    functions = harness.receive([tools.add], [("add", {"a": 1})])
    group = functions.group()
    (ret,) = group.wait(LIMIT_S)
    group.interrupt("late")
    group.tasks[0].interrupt("late")
    functions[0].interrupt("late")

    assert group.wait() == (ret,) and ret.value == 2, group.returns
    assert harness.one(tools.add, {"a": 2}).value == 3


def check_tool_that_answers_an_interrupt(harness: Harness) -> None:
    """One that catches it and returns has answered; one that raises something else has failed."""
    for tool in (stopping.clean_up, stopping.aclean_up):
        returned = _stopped(harness, tool, then="return")
        raised = _stopped(harness, tool, then="raise")

        assert (returned.status, returned.value, returned.reason) == ("ok", "cleaned up", None), returned
        assert (raised.status, raised.value["message"]) == ("raised", "while cleaning up"), raised
        assert isinstance(raised.exception, ValueError), raised


def check_what_runs_may_finish(harness: Harness) -> None:
    """With ``after_running`` what has begun ends by itself, and what waits never starts."""
    gate, journal = harness.gate(), harness.journal()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.interrupt("enough", after_running=True)
        for task in group.tasks[1:]:
            task.wait(LIMIT_S)
        gate.open()

    calls = [_at("pass_gate", gate), _note(journal.path, 1), _note(journal.path, 2)]
    first, *others = harness.steer([ordered.pass_gate, ordered.note], calls, act, window=1)

    assert first.status == "ok", first
    for ret in others:
        assert_cancelled(ret, "enough")
    assert journal.lines() == [], journal.lines()


def check_interrupt_holds_for_the_turn(harness: Harness) -> None:
    """What a Context is asked while its calls run, it answers later calls with, until the next turn."""
    gate, journal = harness.gate(), harness.journal()
    context = harness.context([stopping.heed, ordered.note])
    assert (context.interrupted, context.interrupt_reason) == (False, None)

    def act(_: Group) -> None:
        gate.wait_until_reached()
        context.interrupt("enough")

    functions = context.receive([{"name": "heed", "arguments": {"gate": gate.path, "label": "x"}}])
    (running,) = harness.follow(functions.group, act)
    later = {"name": "note", "arguments": {"journal": journal.path, "label": "later"}}
    (received,) = harness.follow(context.receive([later]).group, _nothing)
    submitted = harness.follow(lambda: context.submit(later), _nothing)

    for ret in (running, received, submitted):
        assert_cancelled(ret, "enough")
    assert (context.interrupted, context.interrupt_reason) == (True, "enough")
    assert journal.lines() == [], journal.lines()

    context.next_turn()
    assert (context.interrupted, context.interrupt_reason) == (False, None)
    (ret,) = harness.follow(context.receive([later]).group, _nothing)
    assert ret.value == "later" and journal.lines() == ["later"], ret


@only_under("sync")
def check_interrupt_by_id(harness: Harness) -> None:
    """A Context finds one call by its id; an id that no call has is no error."""
    gate, journal = harness.gate(), harness.journal()
    context = harness.context([ordered.pass_gate, ordered.note])
    calls: list[Any] = [
        {"id": "first", "name": "pass_gate", "arguments": {"gate": gate.path, "label": "x"}},
        {"id": "second", "name": "note", "arguments": {"journal": journal.path, "label": "2"}},
        {"id": "third", "name": "note", "arguments": {"journal": journal.path, "label": "3"}},
    ]

    def act(_: Group) -> None:
        gate.wait_until_reached()
        context.interrupt("nobody", id="fourth")
        context.cancel("this one", id="second")
        gate.open()

    functions = context.receive(calls)
    returns = harness.follow(lambda: functions.group(window=1), act)

    assert [ret.status for ret in returns] == ["ok", "cancelled", "ok"], returns
    assert_cancelled(returns[1], "this one")
    assert (context.interrupted, journal.lines()) == (False, ["3"])


@only_under("asyncio", "trio")
def check_interrupt_when(harness: Harness) -> None:
    """Inside ``interrupt_when`` a turn is interrupted as soon as something awaited is through."""
    gate = harness.gate()
    context = harness.context([stopping.heed, stopping.aheed])
    context.receive([{"name": name, "arguments": {"gate": gate.path, "label": name}} for name in ("heed", "aheed")])

    async def main() -> tuple[Return, ...]:
        async with context.interrupt_when(gate.until_reached(), "gone"):
            return await context.run()

    for ret in run(harness.driver, main):
        assert_cancelled(ret, "gone")


@only_under("asyncio", "trio")
def check_interrupt_from_the_callers_loop(harness: Harness) -> None:
    """Another task of the loop that awaits may interrupt; it blocks nothing."""
    gate = harness.gate()
    functions = harness.receive([stopping.heed, stopping.aheed], [_at("heed", gate), _at("aheed", gate)])

    async def main() -> tuple[Return, ...]:
        group = functions.group()

        async def interrupt() -> None:
            await gate.until_reached()
            group.interrupt("enough")

        return await in_company(harness.driver, group, interrupt)

    for ret in run(harness.driver, main):
        assert_cancelled(ret, "enough")


@only_under("sync")
def check_interrupt_from_a_signal_handler(harness: Harness) -> None:
    """A signal handler may interrupt, wherever it finds the main thread.

    Off the main thread there are none; there another thread does it.
    """
    gate = harness.gate()
    group = harness.receive([stopping.heed], [_at("heed", gate)]).group()

    def handle(*_: object) -> None:
        group.interrupt("a signal came")

    if threading.current_thread() is not threading.main_thread():
        (ret,) = harness.follow(lambda: group, _after(gate, handle))
    else:
        before = signal.signal(signal.SIGUSR1, handle)
        try:
            fire = partial(signal.pthread_kill, threading.get_ident(), signal.SIGUSR1)
            (ret,) = harness.follow(lambda: group, _after(gate, fire))
        finally:
            signal.signal(signal.SIGUSR1, before)

    assert_cancelled(ret, "a signal came")


@only_under("sync")
def check_interrupt_hits_no_other_call(harness: Harness) -> None:
    """One that comes at the very end of its call, or before its start, does nothing to the worker's next call."""
    for _ in range(_ROUNDS):
        gate = harness.gate()
        task = stopping.return_when_asked.bind({"gate": gate.path, "label": "x"}).task(harness.strategy)
        ret = _waited(harness, task, gate)
        quick = tools.add.bind({"a": 1}).task(harness.strategy)
        quick.interrupt()

        assert ret.status == "cancelled" or ret.value == "returned", ret
        assert quick.wait(LIMIT_S).status in ("ok", "cancelled"), quick.wait()
        assert harness.one(tools.add, {"a": 1}).value == 2
        harness.clear()


def assert_cancelled(ret: Return, reason: str) -> None:
    """Fail unless it says, in each of its ways, that the call was interrupted for this reason."""
    assert (ret.status, ret.reason, ret.cancelled, ret.ok, ret.error) == ("cancelled", reason, True, False, False), ret
    assert ret.value["cancelled"] is True and ret.value["reason"] == reason, ret.value
    assert isinstance(ret.exception, Interrupt) and str(ret.exception) == reason, repr(ret.exception)


def _stopped(harness: Harness, tool: Any, **arguments: str) -> Return:
    """Run one call to a gate and interrupt it there."""
    gate = harness.gate()
    call = (tool.name, {"gate": gate.path, "label": "x", **arguments})
    (ret,) = harness.steer([tool], [call], interrupt_at(gate, "enough"))
    return ret


def _waited(harness: Harness, task: Task, gate: Gate) -> Return:
    return harness.follow(lambda: task, interrupt_at(gate, "enough"))


def interrupt_at(
    gate: Gate, reason: str, *, count: int = 1, whom: Function | None = None
) -> Callable[[Group | Task], None]:
    """Interrupt what was started, or ``whom``, once ``count`` calls have come to the gate."""

    def act(started: Group | Task) -> None:
        gate.wait_until_reached(count)
        (started if whom is None else whom).interrupt(reason)

    return act


def _after(gate: Gate, act: Callable[[], object]) -> Callable[[Group], None]:
    def then(_: Group) -> None:
        gate.wait_until_reached()
        act()

    return then


def _nothing(_: object) -> None:
    """For calls that end by themselves."""


def _at(name: str, gate: Gate, label: str = "x") -> tuple[str, dict[str, str]]:
    return name, {"gate": gate.path, "label": label}


def _note(journal: str, place: int) -> tuple[str, dict[str, str]]:
    return "note", {"journal": journal, "label": str(place)}


CHECKS = (
    check_interrupt,
    check_interrupt_of_a_body_that_does_not_ask,
    check_queued_calls_never_start,
    check_interrupt_before_the_start,
    check_interrupt_of_several,
    check_interrupt_of_one_task,
    check_first_reason_counts,
    check_interrupt_after_the_end,
    check_tool_that_answers_an_interrupt,
    check_what_runs_may_finish,
    check_interrupt_holds_for_the_turn,
    check_interrupt_by_id,
    check_interrupt_when,
    check_interrupt_from_the_callers_loop,
    check_interrupt_from_a_signal_handler,
    check_interrupt_hits_no_other_call,
)
