"""What does not stop: killed where that can be, else left behind; and what it held is given back."""

from __future__ import annotations

import os
from typing import Any

from toolexec import Group, Return
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing import _tools as tools
from toolexec.testing._checks.interrupts import interrupt_at
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness
from toolexec.testing._leftovers import assert_no_leftovers
from toolexec.testing._logged import logged
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import (
    beside_its_caller,
    kills,
    leaves_behind,
    needs,
    on_its_caller,
    only_under,
    survives_death,
)

# Below what a gate allows who stands at it: so a wait that is not bounded by the grace shows.
_SOON_S = 10.0


@needs(leaves_behind)
def check_left_behind(harness: Harness) -> None:
    """A body that goes on is left behind when its grace is over.

    Its Return says so, the log does, once; what waits for its place begins at once, and what it
    comes to later is dropped.
    """
    for tool in (stopping.ignore, stopping.aignore):
        gate, journal, clock = harness.gate(), harness.journal(), ManualClock()
        late: list[tuple[Return | None, ...]] = []

        def act(
            group: Group, tool: Any = tool, gate: Gate = gate, clock: ManualClock = clock, late: list[Any] = late
        ) -> None:
            gate.wait_until_reached()
            group.tasks[0].interrupt("enough")
            if harness.interrupts == "raises" or tool is stopping.aignore:
                gate.wait_until_reached(2)  # it has swallowed what was raised, and comes again
            clock.wait_for_timers(3)
            clock.advance(harness.strategy.grace)
            late.append(group.wait(_SOON_S))
            gate.open()

        calls = [(tool.name, {"gate": gate.path, "label": "x"}), ("note", {"journal": journal.path, "label": "next"})]
        with logged() as warned:
            left, following = harness.steer([tool, ordered.note], calls, act, window=1, clock=clock)

        assert (left.status, left.reason, left.abandoned) == ("cancelled", "enough", True), left
        assert left.value["abandoned"] is True and following.value == "next", (left, following)
        # Others may warn just then: of Python 3.14, the first time that an interrupt is raised in a thread.
        of_it = [text for text in warned if repr(tool.name) in text]
        assert len(of_it) == 1 and "left behind" in of_it[0], warned
        assert late == [(left, following)], late
        assert harness.one(tools.add, {"a": 1}).value == 2


@needs(leaves_behind)
@only_under("sync")
def check_left_behind_at_a_deadline(harness: Harness) -> None:
    """So is one whose time is over, and its limits are free again: another call of its tool runs at once."""
    gate, clock = harness.gate(), ManualClock()
    context = harness.context([stopping.ignore_alone], clock=clock)
    call = {"name": "ignore_alone", "arguments": {"gate": gate.path, "label": "x"}}
    task = context.submit(call, timeout=10)
    gate.wait_until_reached()
    clock.wait_for_timers()
    clock.advance(10)
    clock.wait_for_timers(3)
    with logged():
        clock.advance(harness.strategy.grace)
        ret = task.wait()

    assert (ret.status, ret.abandoned, ret.value["abandoned"]) == ("timeout", True, True), ret
    following = context.submit(call)
    gate.open()
    assert following.wait().value == "late", following.wait()
    assert task.wait() is ret


@needs(beside_its_caller)
def check_wait_ends_within_grace(harness: Harness) -> None:
    """By the clock on the wall, too, whoever waits."""
    gate = harness.gate()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.interrupt("enough")
        group.wait(_SOON_S)
        gate.open()

    with logged():
        (ret,) = harness.steer(
            [stopping.ignore], [("ignore", {"gate": gate.path, "label": "x"})], act, strategy=harness.hasty
        )

    assert (ret.status, ret.abandoned) == ("cancelled", not harness.kills), ret


@needs(kills)
@only_under("sync")
def check_killed(harness: Harness) -> None:
    """Where bodies can be killed, none is left behind: its process is gone when the wait ends."""
    gate, journal = harness.gate(), harness.journal()
    call = ("ignore_and_say", {"gate": gate.path, "journal": journal.path, "label": "x"})
    (ret,) = harness.steer([stopping.ignore_and_say], [call], interrupt_at(gate, "enough"), strategy=harness.hasty)
    (pid,) = journal.lines()

    assert (ret.status, ret.abandoned) == ("cancelled", False), ret
    assert not _exists(int(pid)), f"process {pid} is still there"
    gate.open()
    assert journal.lines() == [pid], journal.lines()


@needs(on_its_caller)
def check_waited_for_to_its_end(harness: Harness) -> None:
    """Where a body runs on its caller's thread, one that goes on is waited for, and its own value counts."""
    for tool in (stopping.ignore, stopping.aignore):
        gate, clock = harness.gate(), ManualClock()

        def act(group: Group, gate: Gate = gate, clock: ManualClock = clock) -> None:
            gate.wait_until_reached()
            group.interrupt("enough")
            clock.advance(10 * harness.strategy.grace)
            gate.open()

        (ret,) = harness.steer([tool], [(tool.name, {"gate": gate.path, "label": "x"})], act, clock=clock)

        assert (ret.status, ret.value, ret.abandoned) == ("ok", "late", False), ret


@only_under("sync")
def check_place_is_given_back(harness: Harness) -> None:
    """Who waits for what an interrupted call holds, or one whose time is over, runs once that has stopped."""
    for stop in ("interrupt", "deadline"):
        gate, journal, clock = harness.gate(), harness.journal(), ManualClock()

        def act(group: Group, stop: str = stop, gate: Gate = gate, clock: ManualClock = clock) -> None:
            gate.wait_until_reached()
            if stop == "interrupt":
                group.tasks[0].interrupt("enough")
            else:
                clock.wait_for_timers()
                clock.advance(10)

        calls = [
            ("heed_alone", {"journal": journal.path, "gate": gate.path, "label": "0"}),
            ("heed_alone", {"journal": journal.path, "gate": "", "label": "1"}),
        ]
        first, second = harness.steer([stopping.heed_alone], calls, act, window=2, clock=clock)

        assert first.status == ("cancelled" if stop == "interrupt" else "timeout"), first
        assert second.value == "1" and journal.lines() == ["0", "1"], second


@needs(survives_death)
@only_under("sync")
def check_place_of_the_dead_is_given_back(harness: Harness) -> None:
    """So does who waits for what a call held whose process has died."""
    lost, following = harness.run([stopping.die_alone], [("die_alone", {"dies": True}), ("die_alone", {"dies": False})])

    assert (lost.status, following.value) == ("lost", "alive"), (lost, following)


@only_under("sync")
def check_interrupted_calls_leave_nothing(harness: Harness) -> None:
    """Calls that were stopped give everything back when the strategy is closed."""
    harness.rest()
    count = max(2, round(20 * harness.scale))
    with assert_no_leftovers(), harness.make() as strategy:
        for _ in range(count):
            gate = harness.gate()
            calls = [(name, {"gate": gate.path, "label": name}) for name in ("heed", "aheed")]
            window = 2 if harness.concurrent else 1
            returns = harness.steer(
                [stopping.heed, stopping.aheed],
                calls,
                interrupt_at(gate, "enough", count=window),
                window=window,
                strategy=strategy,
            )
            assert [ret.status for ret in returns] == ["cancelled", "cancelled"], returns
            harness.clear()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


CHECKS = (
    check_left_behind,
    check_left_behind_at_a_deadline,
    check_wait_ends_within_grace,
    check_killed,
    check_waited_for_to_its_end,
    check_place_is_given_back,
    check_place_of_the_dead_is_given_back,
    check_interrupted_calls_leave_nothing,
)
