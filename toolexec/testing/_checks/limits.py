"""How many calls run at once, which never overlap, and that nobody waits for himself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolexec import Strategy
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import LIMIT_S
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body, concurrent, needs, nests, only_under
from toolexec.testing._threads import on_threads


@needs(concurrent)
def check_window(harness: Harness) -> None:
    """Sixty calls through a window of four: four at once, and never a fifth."""
    journal, gate = harness.journal(), harness.gate()
    calls = [("gated_span", {"journal": journal.path, "gate": gate.path, "label": str(place)}) for place in range(60)]
    returns = harness.run([ordered.gated_span], calls, window=4, meanwhile=_full(harness.strategy, gate, 4))

    assert [ret.value for ret in returns] == [str(place) for place in range(60)], returns
    assert journal.most_at_once() == 4, journal.lines()


@needs(concurrent)
@only_under("sync")
def check_own_window(harness: Harness) -> None:
    """Without a window of its own, a Group's calls go through the strategy's."""
    journal, gate = harness.journal(), harness.gate()
    calls = [("gated_span", {"journal": journal.path, "gate": gate.path, "label": str(place)}) for place in range(8)]
    with harness.make(window=2) as own:
        returns = harness.run([ordered.gated_span], calls, strategy=own, meanwhile=_full(own, gate, 2))

    assert [ret.ok for ret in returns] == [True] * 8, returns
    assert journal.most_at_once() == 2, journal.lines()


@only_under("sync")
def check_window_has_to_let_something_through(harness: Harness) -> None:
    """A window of none, fewer, or True is refused before anything is claimed."""
    for window in (0, -1, True, 1.5):
        functions = harness.receive([tools.add], [("add", {"a": 1})])
        for use in (functions.group, functions.wait, harness.make):
            _refused(use, window)
        assert functions[0].pending, "a refused window has claimed the call"


@needs(concurrent)
def check_max_in_flight(harness: Harness) -> None:
    """A tool's own limit holds, over several Groups too, and keeps nobody else from running."""
    journal, gate = harness.journal(), harness.gate()
    limited = {"journal": journal.path, "gate": gate.path}
    calls: list[Any] = [("two_at_a_time", {**limited, "label": str(place)}) for place in range(5)]
    free = harness.gate()
    elsewhere = harness.receive([ordered.two_at_a_time], calls)

    def then_open() -> None:
        free.wait_until_reached()
        _full(harness.strategy, gate, 2)()
        free.open()

    group = elsewhere.group(window=8)
    calls.append(("pass_gate", {"gate": free.path, "label": "free"}))
    returns = harness.run([ordered.two_at_a_time, ordered.pass_gate], calls, window=8, meanwhile=then_open)

    assert [ret.value for ret in returns] == ["0", "1", "2", "3", "4", "free"], returns
    assert [ret.ok for ret in group.wait()] == [True] * 5
    assert journal.most_at_once() == 2, journal.lines()


@about_the_body
def check_resource(harness: Harness) -> None:
    """Calls that name one resource never overlap, whichever tools they are of."""
    journal = harness.journal()
    calls = [(name, {"journal": journal.path, "label": name}) for name in ("first_user", "other_user") * 5]
    returns = harness.run([ordered.first_user, ordered.other_user], calls, window=6)

    assert [ret.ok for ret in returns] == [True] * 10, returns
    assert journal.most_at_once() == 1, journal.lines()


@about_the_body
def check_exclusive(harness: Harness) -> None:
    """An exclusive call begins when all before it have ended, and ends before any after it begins."""
    journal = harness.journal()
    names = ["span", "span", "alone", "span", "span", "alone", "alone", "span"]
    calls = [(name, {"journal": journal.path, "label": str(place)}) for place, name in enumerate(names)]
    returns = harness.run([ordered.span, ordered.alone], calls, window=6)
    lines = journal.lines()

    assert [ret.ok for ret in returns] == [True] * 8, returns
    for place, name in enumerate(names):
        if name == "alone":
            begin = lines.index(f"+{place}")
            assert lines[begin + 1] == f"-{place}", lines
            assert {line[1:] for line in lines[:begin]} == {str(before) for before in range(place)}, lines


@needs(concurrent)
def check_one_held_up_holds_up_no_other(harness: Harness) -> None:
    """A call that a limit keeps waiting takes no place in the window."""
    gate, others = harness.gate(), harness.gate()
    journal = harness.journal()
    held = {"journal": journal.path, "gate": gate.path}
    calls: list[Any] = [("two_at_a_time", {**held, "label": str(place)}) for place in range(4)]
    calls.append(("pass_gate", {"gate": others.path, "label": "free"}))

    def then_open() -> None:
        gate.wait_until_reached(2)
        others.wait_until_reached()
        others.open()
        gate.open()

    returns = harness.run([ordered.two_at_a_time, ordered.pass_gate], calls, window=3, meanwhile=then_open)

    assert [ret.ok for ret in returns] == [True] * 5, returns


@needs(nests)
@only_under("sync", "asyncio")
def check_nested_groups_deeper_than_the_window(harness: Harness) -> None:
    """Calls that make calls do not starve each other, however small the window."""
    depth = _depth(harness)
    arguments = {"strategy": harness.name, "depth": depth}
    returns = harness.run([ordered.nest, ordered.anest], [("nest", arguments), ("anest", arguments)], window=1)

    assert [ret.value for ret in returns] == [depth, depth], returns


@needs(nests)
@only_under("sync", "asyncio")
def check_nested_call_of_what_it_holds(harness: Harness) -> None:
    """A call inside one that holds the only slot needs none: it would wait for ever."""
    depth = _depth(harness)
    (ret,) = harness.run([ordered.nest_alone], [("nest_alone", {"strategy": harness.name, "depth": depth})])

    assert ret.value == depth, ret


def _depth(harness: Harness) -> int:
    """One level more than a window of one; each level of an isolated strategy starts a strategy of its own."""
    return 1 if harness.isolated else 4


@only_under("sync")
def check_used_from_several_threads(harness: Harness) -> None:
    """Threads that use one strategy object at once all get their own answers."""
    journal = harness.journal()
    each = 5

    def use(number: int) -> list[Any]:
        calls = [("note", {"journal": journal.path, "label": f"{number}.{place}"}) for place in range(each)]
        return [ret.value for ret in harness.run([ordered.note], calls)]

    answers = on_threads(4, use)

    assert answers == [[f"{number}.{place}" for place in range(each)] for number in range(4)], answers
    assert len(journal.lines()) == len(set(journal.lines())) == 4 * each, journal.lines()


def _full(strategy: Strategy, gate: Gate, count: int) -> Callable[[], None]:
    """Open the gate when ``count`` calls stand at it and whoever else may have started had time to show up."""

    def then_open() -> None:
        gate.wait_until_reached(count)
        # Not proof, but no guess about time either: what was started before these has had its turn.
        for _ in range(3):
            tools.add.bind({"a": 1}).task(strategy).wait(LIMIT_S)
        gate.open()

    return then_open


def _refused(use: Callable[..., object], window: object) -> None:
    try:
        use(window=window)
    except ValueError as refusal:
        assert "window" in str(refusal), refusal
    else:
        raise AssertionError("a window that could never let a call start was taken")


CHECKS = (
    check_window,
    check_own_window,
    check_window_has_to_let_something_through,
    check_max_in_flight,
    check_resource,
    check_exclusive,
    check_one_held_up_holds_up_no_other,
    check_nested_groups_deeper_than_the_window,
    check_nested_call_of_what_it_holds,
    check_used_from_several_threads,
)
