"""Events: what happens to the calls of a Group is told as it happens, in its order, to whoever walks along."""

from __future__ import annotations

from typing import Any

from toolexec import Event, Progress, Settled, Started
from toolexec.testing import _calling_tools as calling
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import walk
from toolexec.testing._harness import Harness
from toolexec.testing._needs import only_under
from toolexec.testing._threads import beside


def check_events(harness: Harness) -> None:
    """Every call's start, its progress, its Return, in this order; and then no more."""
    gate = harness.gate()
    reporting = {"gate": gate.path, "count": 2}
    calls: list[Any] = [("report", reporting), ("areport", reporting), ("nobody", None), ("aadd", {"a": 1})]
    functions = harness.receive([calling.report, calling.areport, tools.aadd], calls)
    events, group = walk(harness.driver, functions.group, gate.open)

    assert [_of(event) for event in events if event.task is group.tasks[0]] == ["started", 1, 2, "ok"], events
    assert [_of(event) for event in events if event.task is group.tasks[1]] == ["started", 1, 2, "ok"], events
    assert [_of(event) for event in events if event.task is group.tasks[2]] == ["unknown_tool"], events
    assert [_of(event) for event in events if event.task is group.tasks[3]] == ["started", "ok"], events
    assert len(events) == 11, events
    assert isinstance(events[-1], Settled) and not group.alive, events
    assert sorted(id(event.ret) for event in events if isinstance(event, Settled)) == sorted(map(id, group.returns))


def check_events_of_what_has_happened(harness: Harness) -> None:
    """Who comes when all is over hears of every start and Return; progress is not kept."""
    gate = harness.gate()
    gate.open()
    calls: list[Any] = [("report", {"gate": gate.path, "count": 2}), ("add", {"a": 1})]
    group = harness.receive([calling.report, tools.add], calls).group()
    harness.follow(lambda: group, lambda _: None)
    events, _ = walk(harness.driver, lambda: group)

    for task in group.tasks:
        assert [_of(event) for event in events if event.task is task] == ["started", "ok"], events
    assert len(events) == 4 and len(list(group.events())) == 4, events


@only_under("sync")
def check_events_of_calls_that_never_start(harness: Harness) -> None:
    """A call that was answered before it began has a Return, and no start."""
    gate, journal = harness.gate(), harness.journal()
    calls: list[Any] = [
        ("heed", {"gate": gate.path, "label": "x"}),
        ("note", {"journal": journal.path, "label": "never"}),
    ]
    group = harness.receive([stopping.heed, ordered.note], calls).group(window=1)

    def act() -> None:
        gate.wait_until_reached()
        group.interrupt("enough")

    with beside(act, group.interrupt):
        events, _ = walk(harness.driver, lambda: group)

    assert [_of(event) for event in events if event.task is group.tasks[0]] == ["started", "cancelled"], events
    assert [_of(event) for event in events if event.task is group.tasks[1]] == ["cancelled"], events


def _of(event: Event) -> str | float:
    match event:
        case Started():
            return "started"
        case Progress():
            return event.done
        case Settled():
            return event.ret.status
        case _:
            return "output"


CHECKS = (
    check_events,
    check_events_of_what_has_happened,
    check_events_of_calls_that_never_start,
)
