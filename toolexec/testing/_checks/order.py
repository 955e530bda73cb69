"""Results come in call order, calls overlap where they may, and each body runs once."""

from __future__ import annotations

from toolexec import Group, Return
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import collect
from toolexec.testing._harness import Harness
from toolexec.testing._needs import concurrent, needs, one_at_a_time
from toolexec.testing._threads import beside


@needs(concurrent)
def check_results_in_call_order(harness: Harness) -> None:
    """Waiting gives the Returns in call order, here the reverse of the order the calls finish in."""
    finished, group = _finish_in_order(harness, [2, 1, 0])

    assert [ret.value for ret in finished] == ["2", "1", "0"], finished
    assert [(ret.id, ret.value) for ret in group.wait()] == [("c0", "0"), ("c1", "1"), ("c2", "2")], group.returns


@needs(concurrent)
def check_returns_as_calls_finish(harness: Harness) -> None:
    """``for`` (``async for`` in a loop) gives each Return when its call finishes, not before and not in call order."""
    finished, group = _finish_in_order(harness, [1, 2, 0])

    assert [ret.value for ret in finished] == ["1", "2", "0"], finished
    assert sorted(map(id, finished)) == sorted(map(id, group.returns)), finished


def _finish_in_order(harness: Harness, order: list[int]) -> tuple[list[Return], Group]:
    """Three calls at a gate each; a gate opens when the call before in ``order`` has its Return."""
    gates = [harness.gate() for _ in order]
    calls = [("pass_gate", {"gate": gate.path, "label": str(place)}) for place, gate in enumerate(gates)]
    functions = harness.receive([ordered.pass_gate], calls)
    groups: list[Group] = []

    def start() -> Group:
        groups.append(functions.group(window=3))
        return groups[0]

    def all_there() -> None:
        for gate in gates:
            gate.wait_until_reached()
        gates[order[0]].open()

    def open_next(seen: int) -> None:
        if seen < len(order):
            gates[order[seen]].open()

    with beside(all_there, harness.clear):
        return collect(harness.driver, start, open_next), groups[0]


def check_every_return_once_as_calls_finish(harness: Harness) -> None:
    """Each Return comes once, those of refused calls too."""
    calls = [("add", {"a": 1}), ("nobody", None), ("aadd", {"a": 2}), ("fail", {"kind": "value"})]
    returns = harness.collect([tools.add, tools.aadd, tools.fail], calls)

    assert sorted(str(ret.id) for ret in returns) == ["c0", "c1", "c2", "c3"], returns
    assert {ret.id: ret.status for ret in returns} == {
        "c0": "ok",
        "c1": "unknown_tool",
        "c2": "ok",
        "c3": "raised",
    }, returns


@needs(concurrent)
def check_calls_overlap(harness: Harness) -> None:
    """No call returns before all of them have begun: run one after another, they never would."""
    for tool in (ordered.meet, ordered.ameet):
        meeting = harness.rendezvous(3)
        calls = [(tool.name, {"meeting": meeting.path, "parties": 3})] * 3
        returns = harness.run([tool], calls, window=3)

        assert [ret.value for ret in returns] == ["met"] * 3, returns


@needs(concurrent)
def check_sync_and_async_calls_overlap(harness: Harness) -> None:
    """A sync body holds up no async one."""
    meeting = harness.rendezvous(4)
    calls = [(name, {"meeting": meeting.path, "parties": 4}) for name in ("meet", "ameet", "meet", "ameet")]
    returns = harness.run([ordered.meet, ordered.ameet], calls, window=4)

    assert [ret.value for ret in returns] == ["met"] * 4, returns


@needs(one_at_a_time)
def check_calls_never_overlap(harness: Harness) -> None:
    """They run one after another, in call order."""
    journal = harness.journal()
    names = ["span", "aspan", "span", "aspan", "span"]
    calls = [(name, {"journal": journal.path, "label": str(place)}) for place, name in enumerate(names)]
    returns = harness.run([ordered.span, ordered.aspan], calls, window=5)

    assert [ret.value for ret in returns] == ["0", "1", "2", "3", "4"], returns
    assert journal.lines() == [f"{sign}{place}" for place in range(5) for sign in "+-"], journal.lines()


def check_each_body_once(harness: Harness) -> None:
    """Many calls, sync and async: every body runs, and none twice."""
    journal = harness.journal()
    names = ["note", "anote"] * 10
    calls = [(name, {"journal": journal.path, "label": str(place)}) for place, name in enumerate(names)]
    returns = harness.run([ordered.note, ordered.anote], calls)

    assert [ret.value for ret in returns] == [str(place) for place in range(20)], returns
    assert [ret.attempts for ret in returns] == [1] * 20, returns
    assert sorted(journal.lines(), key=int) == [str(place) for place in range(20)], journal.lines()


CHECKS = (
    check_results_in_call_order,
    check_returns_as_calls_finish,
    check_every_return_once_as_calls_finish,
    check_calls_overlap,
    check_sync_and_async_calls_overlap,
    check_calls_never_overlap,
    check_each_body_once,
)
