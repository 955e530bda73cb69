"""Hooks: told once, of an interrupt that was delivered, where the call's state lives."""

from __future__ import annotations

import threading
from typing import Any

from toolexec import Group, Return
from toolexec.testing import _hook_tools as hooked
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._checks.interrupts import assert_cancelled, interrupt_at
from toolexec.testing._drivers import LIMIT_S
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness
from toolexec.testing._hook_tools import said
from toolexec.testing._logged import logged
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import beside_its_caller, concurrent, in_process, needs, only_under, raises

# Below what a gate allows who stands at it: so a hook that is waited for to its end shows.
_SOON_S = 10.0


def check_hook(harness: Harness) -> None:
    """An interrupted call's hook runs once: on the runner of that call, where that lives, ``on_cancel`` first."""
    declared: list[Any] = [hooked.Told, hooked.ToldLater, hooked.AToldLater, hooked.told]
    for tool in declared:
        order = _interrupt_twice(harness, tool)

        if harness.home in ("thread", "asyncio", "trio"):
            assert order == ["body", "end", "hook"], order
        else:  # a body that asks may be faster than its hook
            assert sorted(order) == ["body", "end", "hook"], order


@needs(raises)
def check_hook_of_a_body_that_does_not_ask(harness: Harness) -> None:
    """Such a body is ended first, where it shares memory with the host; elsewhere the hook comes before that."""
    for tool in (hooked.Stands, hooked.AStands):
        order = _interrupt_twice(harness, tool)

        assert order == (["body", "hook", "end"] if harness.isolated else ["body", "end", "hook"]), order


def _interrupt_twice(harness: Harness, tool: Any) -> list[str]:
    """Interrupt a call at its gate; what it wrote down, the one hook in the right place."""
    gate, journal = harness.gate(), harness.journal()
    interrupters: list[int] = []

    def act(group: Group) -> None:
        gate.wait_until_reached()
        interrupters.append(threading.get_ident())
        group.tasks[0].interrupt("enough")
        group.interrupt("again")

    call = (tool.name, {"gate": gate.path, "journal": journal.path, "label": "x"})
    (ret,) = harness.steer([tool], [call], act)

    assert_cancelled(ret, "enough")
    (body,), (hook,) = said(journal, "body"), said(journal, "hook")
    assert hook["state"] == body["state"], (tool, said(journal))
    _assert_place(harness, hook, body, interrupters[0])
    return [line["what"] for line in said(journal)]


def _assert_place(harness: Harness, hook: dict[str, Any], body: dict[str, Any], interrupter: int) -> None:
    assert (hook["pid"], hook["interpreter"]) == (body["pid"], body["interpreter"]), (hook, body)
    if harness.home == "caller":
        assert hook["thread"] == interrupter, (hook, interrupter)
    elif harness.home in ("thread", "asyncio", "trio"):
        assert hook["thread"] == body["thread"], (hook, body)
        if body["loop"] == harness.home:
            assert hook["loop_id"] == body["loop_id"], (hook, body)


def check_no_hook_of_a_call_not_begun(harness: Harness) -> None:
    """A call that never begins has nobody to tell; but where a body is only ever told, a runner that is there is."""
    gate, journal = harness.gate(), harness.journal()
    shared = hooked.Shared(journal)

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.tasks[1].interrupt("enough")
        assert_cancelled(group.tasks[1].wait(LIMIT_S), "enough")
        gate.open()

    calls: list[Any] = [("pass_gate", {"gate": gate.path, "label": "x"}), (shared.name, {"gate": "", "label": "y"})]
    harness.steer([ordered.pass_gate, shared], calls, act, window=1)

    assert len(said(journal)) == len(said(journal, "hook")) == (1 if harness.home == "caller" else 0), said(journal)


@only_under("sync")
def check_no_hook_after_the_end(harness: Harness) -> None:
    """A call that has its Return is not told any more, by whomever."""
    journal = harness.journal()
    shared = hooked.Shared(journal)
    functions = harness.receive([shared], [(shared.name, {"gate": "", "label": "x"})])
    group = functions.group()
    (ret,) = group.wait(LIMIT_S)
    group.interrupt()
    group.tasks[0].interrupt()
    functions[0].interrupt()

    assert ret.ok and [line["what"] for line in said(journal)] == ["body"], (ret, said(journal))


@needs(in_process, beside_its_caller)
@only_under("sync")
def check_no_hook_without_delivery(harness: Harness) -> None:
    """A tool that asks, and returns, has answered: nothing was delivered, and its hook is not told."""
    gate, journal = harness.gate(), harness.journal()
    call = (hooked.Polls.name, {"gate": gate.path, "journal": journal.path, "label": "x"})
    (ret,) = harness.steer([hooked.Polls], [call], interrupt_at(gate, "enough"))

    assert (ret.status, ret.value) == ("ok", "an answer"), ret
    assert [line["what"] for line in said(journal)] == ["body"], said(journal)


def check_hook_that_raises(harness: Harness) -> None:
    """It harms neither its call nor the next one."""
    for how in ("raise", "exit"):
        with logged():
            assert_cancelled(_stop_with_bad_hook(harness, how), "enough")
        assert harness.one(tools.add, {"a": 1}).value == 2


@needs(beside_its_caller)
def check_hook_that_hangs(harness: Harness) -> None:
    """It delays its call's Return, and that no longer than the grace; the next call runs meanwhile."""
    gate, hook_gate = harness.gate(), harness.gate()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.interrupt("enough")
        hook_gate.wait_until_reached()
        group.wait(_SOON_S)
        assert tools.add.bind({"a": 1}).task(harness.hasty).wait(LIMIT_S).value == 2
        hook_gate.open()

    call = (hooked.BadHook.name, {"gate": gate.path, "label": "x", "hook": hook_gate.path})
    with logged():
        (ret,) = harness.steer([hooked.BadHook], [call], act, strategy=harness.hasty)

    assert_cancelled(ret, "enough")
    assert not ret.abandoned, ret


@only_under("sync")
def check_no_hook_without_grace(harness: Harness) -> None:
    """With a grace of zero a call is stopped at once, and nobody is told."""
    gate, journal = harness.gate(), harness.journal()
    call = (hooked.Told.name, {"gate": gate.path, "journal": journal.path, "label": "x"})
    with logged(), harness.make(grace=0) as own:
        (ret,) = harness.steer([hooked.Told], [call], interrupt_at(gate, "enough"), strategy=own)

    assert_cancelled(ret, "enough")
    assert said(journal, "hook") == [], said(journal)


@needs(in_process, beside_its_caller)
def check_hook_of_a_body_that_goes_on(harness: Harness) -> None:
    """One that still runs when half its grace is over has its hook told then, beside it."""
    for tool in (hooked.Firm, hooked.AFirm):
        gate, hook_gate, journal, clock = harness.gate(), harness.gate(), harness.journal(), ManualClock()

        def act(group: Group, gate: Gate = gate, hook_gate: Gate = hook_gate, clock: ManualClock = clock) -> None:
            gate.wait_until_reached()
            group.interrupt("enough")
            clock.wait_for_timers(3)
            clock.advance(harness.strategy.grace / 2)
            hook_gate.wait_until_reached()
            gate.open()

        arguments = {"gate": gate.path, "journal": journal.path, "label": "x", "hooked": hook_gate.path}
        (ret,) = harness.steer([tool], [(tool.name, arguments)], act, clock=clock)

        assert (ret.status, ret.value) == ("ok", "late"), ret
        assert [line["what"] for line in said(journal)] == ["body", "hook"], said(journal)


@needs(concurrent)
@only_under("sync")
def check_each_call_has_its_hook(harness: Harness) -> None:
    """Calls of a Tool class have an instance each, which is told; one instance is told of each of its calls."""
    gate, journal = harness.gate(), harness.journal()
    calls = [(hooked.Told.name, {"gate": gate.path, "journal": journal.path, "label": label}) for label in "ab"]
    harness.steer([hooked.Told], calls, interrupt_at(gate, "enough", count=2), window=2)

    bodies, hooks = said(journal, "body"), said(journal, "hook")
    assert sorted(line["label"] for line in hooks) == ["a", "b"], hooks
    assert {(line["pid"], line["label"], line["state"]) for line in hooks} == {
        (line["pid"], line["label"], line["state"]) for line in bodies
    }, said(journal)

    gate, journal = harness.gate(), harness.journal()
    shared = hooked.Shared(journal)
    calls = [(shared.name, {"gate": gate.path, "label": label}) for label in "ab"]
    harness.steer([shared], calls, interrupt_at(gate, "enough", count=2), window=2)

    assert len(said(journal, "hook")) == 2, said(journal)
    if not harness.isolated:
        assert {line["state"] for line in said(journal)} == {id(shared)}, said(journal)


@only_under("sync")
def check_direct_interrupt(harness: Harness) -> None:
    """``Function.interrupt`` of a call in flight interrupts its Task; the hook runs where its body does."""
    gate, journal = harness.gate(), harness.journal()
    shared = hooked.Shared(journal)
    functions = harness.receive([shared], [(shared.name, {"gate": gate.path, "label": "x"})])

    (ret,) = harness.follow(functions.group, interrupt_at(gate, "enough", whom=functions[0]))

    assert_cancelled(ret, "enough")
    (body,), (hook,) = said(journal, "body"), said(journal, "hook")
    assert [hook[part] for part in ("pid", "interpreter", "state")] == [
        body[part] for part in ("pid", "interpreter", "state")
    ], said(journal)


def _stop_with_bad_hook(harness: Harness, how: str) -> Return:
    gate = harness.gate()
    call = (hooked.BadHook.name, {"gate": gate.path, "label": "x", "hook": how})
    (ret,) = harness.steer([hooked.BadHook], [call], interrupt_at(gate, "enough"))
    return ret


CHECKS = (
    check_hook,
    check_hook_of_a_body_that_does_not_ask,
    check_no_hook_of_a_call_not_begun,
    check_no_hook_after_the_end,
    check_no_hook_without_delivery,
    check_hook_that_raises,
    check_hook_that_hangs,
    check_no_hook_without_grace,
    check_hook_of_a_body_that_goes_on,
    check_each_call_has_its_hook,
    check_direct_interrupt,
)
