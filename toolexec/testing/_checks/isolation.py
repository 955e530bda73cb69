"""What crosses the border of an isolated strategy, what does not, and what ends there."""

from __future__ import annotations

import threading
from typing import Any

import toolexec
from toolexec import UnsendableError, WorkerLost
from toolexec.testing import _ordered_tools as ordered
from toolexec.testing import _tools as tools
from toolexec.testing._harness import Harness
from toolexec.testing._journal import Journal
from toolexec.testing._needs import about_the_body, isolated, needs, survives_death


@needs(isolated)
@about_the_body
def check_what_cannot_travel_there(harness: Harness) -> None:
    """A tool that captured a lock is answered before anything ran, naming tool and name; its sibling runs."""
    lock = threading.Lock()
    journal = harness.journal()

    @toolexec.tool
    def locked(path: str) -> None:
        Journal(path).write("ran")
        with lock:
            pass

    ret, sibling = harness.run([locked, tools.add], [("locked", {"path": journal.path}), ("add", {"a": 1})])

    assert (ret.status, sibling.value) == ("unsendable", 2), (ret, sibling)
    assert isinstance(ret.exception, UnsendableError), repr(ret.exception)
    assert "'locked'" in ret.value["message"] and "lock" in ret.value["message"], ret.value["message"]
    assert journal.lines() == [], journal.lines()


@needs(isolated)
@about_the_body
def check_argument_that_cannot_travel(harness: Harness) -> None:
    """So is a call whose argument cannot travel."""

    @toolexec.tool
    def take(thing: Any) -> str:
        return type(thing).__name__

    calls = [("take", {"thing": threading.Lock()}), ("take", {"thing": [1]})]
    ret, sibling = harness.run([take], calls)

    assert (ret.status, sibling.value) == ("unsendable", "list"), (ret, sibling)
    assert "'take'" in ret.value["message"] and "thing" in ret.value["message"], ret.value["message"]


@needs(isolated)
@about_the_body
def check_result_that_cannot_travel_back(harness: Harness) -> None:
    """A result that cannot travel is ``unsendable`` and names its type; the strategy goes on."""
    calls = [("give", {"kind": "lock"}), ("add", {"a": 1}), ("give", {"kind": "lambda"})]
    lock, sibling, function = harness.run([tools.give, tools.add], calls)

    assert (lock.status, sibling.value, function.status) == ("unsendable", 2, "unsendable"), (lock, function)
    assert "'give'" in lock.value["message"] and "lock" in lock.value["message"], lock.value["message"]
    assert harness.one(tools.add, {"a": 1}).value == 2


@needs(isolated)
@about_the_body
def check_exception_that_cannot_travel(harness: Harness) -> None:
    """What a tool raises stays ``raised``, with type, text and trace, if it cannot be pickled or made again, too."""
    calls = [("fail", {"kind": "two"}), ("fail", {"kind": "lock"}), ("add", {"a": 1})]
    two, lock, sibling = harness.run([tools.fail, tools.add], calls)

    assert [two.status, lock.status, sibling.status] == ["raised", "raised", "ok"], (two, lock)
    assert (two.value["type"], two.value["message"]) == ("TwoArguments", "two arguments"), two
    assert (lock.value["type"], lock.value["message"]) == ("HoldsLock", "holds a lock"), lock
    for ret in (two, lock):
        assert any("# the tool's own line" in line for line in ret.value["backtrace"]), ret.value
        assert ret.exception is not None, ret
    assert harness.one(tools.add, {"a": 1}).value == 2


@needs(isolated)
@about_the_body
def check_large_values(harness: Harness) -> None:
    """Megabytes go both ways, several at once."""

    @toolexec.tool
    def reverse(text: str) -> str:
        return text[::-1]

    texts = [f"{place}" + "x" * 3_000_000 for place in range(4)]
    returns = harness.run([reverse], [("reverse", {"text": text}) for text in texts], window=2)

    assert all(ret.value == text[::-1] for ret, text in zip(returns, texts, strict=True)), [
        ret.status for ret in returns
    ]


@needs(survives_death)
def check_worker_death(harness: Harness) -> None:
    """A tool that ends its process loses its own call, which says how; the sibling and the strategy go on."""
    gate = harness.gate()
    calls = [
        ("pass_gate", {"gate": gate.path, "label": "sibling"}),
        ("die", {"how": "exit"}),
        ("die", {"how": "kill"}),
        ("add", {"a": 1}),
    ]

    def when_the_others_have_settled(seen: int) -> None:
        if seen == 3:
            gate.open()

    used = [ordered.pass_gate, tools.die, tools.add]
    returns = harness.collect(used, calls, window=4, each=when_the_others_have_settled)
    by_id = {ret.id: ret for ret in returns}

    assert returns[-1].id == "c0" and returns[-1].value == "sibling", returns
    assert [by_id[f"c{place}"].status for place in range(4)] == ["ok", "lost", "lost", "ok"], returns
    exited, killed = by_id["c1"].exception, by_id["c2"].exception
    assert isinstance(exited, WorkerLost) and (exited.exit_code, exited.signal) == (9, None), exited
    assert isinstance(killed, WorkerLost) and (killed.exit_code, killed.signal) == (None, 9), killed
    assert None not in (exited.pid, killed.pid) and "9" in str(exited), exited
    assert harness.one(tools.add, {"a": 1}).value == 2


CHECKS = (
    check_what_cannot_travel_there,
    check_argument_that_cannot_travel,
    check_result_that_cannot_travel_back,
    check_exception_that_cannot_travel,
    check_large_values,
    check_worker_death,
)
