"""What a body raises is the call's answer, and nobody else's trouble."""

from __future__ import annotations

import toolexec
from toolexec import Return, ToolFailed
from toolexec.testing import _tools as tools
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body
from toolexec.testing._threads import on_threads


def check_failure(harness: Harness) -> None:
    """An exception is ``raised``: its type, its text, a traceback with the tool's own line."""
    for name in ("fail", "afail"):
        (ret,) = harness.run([tools.fail, tools.afail], [(name, {"kind": "value"})])

        assert (ret.status, ret.ok, ret.error, ret.cancelled) == ("raised", False, True, False), ret
        assert isinstance(ret.exception, ValueError), repr(ret.exception)
        _says(ret, "ValueError", "no luck")
        try:
            ret.unwrap()
        except ToolFailed as failed:
            assert failed.__cause__ is ret.exception, repr(failed.__cause__)
        else:
            raise AssertionError("unwrap gave a value for a call that failed")


def check_failure_discards_no_sibling(harness: Harness) -> None:
    """The others' values are there, in their places, and waiting raises nothing."""
    calls = [("add", {"a": 1}), ("fail", {"kind": "value"}), ("add", {"a": 3}), ("afail", {"kind": "value"})]
    returns = harness.run([tools.add, tools.fail, tools.afail], calls)

    assert [ret.status for ret in returns] == ["ok", "raised", "ok", "raised"], returns
    assert (returns[0].value, returns[2].value) == (2, 4), returns


@about_the_body
def check_system_exit(harness: Harness) -> None:
    """A tool that exits is a tool that failed; nothing else ends."""
    for name in ("fail", "afail"):
        ret, sibling = harness.run([tools.fail, tools.afail, tools.add], [(name, {"kind": "exit"}), ("add", {"a": 1})])

        assert ret.status == "raised", ret
        _says(ret, "SystemExit", "3")
        assert sibling.value == 2, sibling


@about_the_body
def check_base_exception(harness: Harness) -> None:
    """So is one that no ``except Exception`` catches."""
    for name in ("fail", "afail"):
        ret, sibling = harness.run([tools.fail, tools.afail, tools.add], [(name, {"kind": "odd"}), ("add", {"a": 1})])

        assert ret.status == "raised", ret
        _says(ret, "OddEnd", "an odd end")
        assert sibling.value == 2, sibling


def check_keyboard_interrupt_off_the_main_thread(harness: Harness) -> None:
    """Off the main thread no person pressed it: it is the tool's own failure, and the strategy goes on."""
    calls = [("fail", {"kind": "ctrl-c"}), ("afail", {"kind": "ctrl-c"}), ("add", {"a": 1})]
    (returns,) = on_threads(1, lambda _: harness.run([tools.fail, tools.afail, tools.add], calls))

    assert [ret.status for ret in returns] == ["raised", "raised", "ok"], returns
    for ret in returns[:2]:
        _says(ret, "KeyboardInterrupt", "pressed by the tool")


@about_the_body
def check_failure_without_a_text(harness: Harness) -> None:
    """The message is never empty: it names the type at least."""
    (ret,) = harness.run([tools.fail], [("fail", {"kind": "blank"})])

    assert (ret.status, ret.value["type"]) == ("raised", "AssertionError"), ret
    assert "AssertionError" in ret.value["message"], ret


@about_the_body
def check_cause_and_notes(harness: Harness) -> None:
    """Cause, notes and the frames below come along, from wherever the body ran."""
    (ret,) = harness.run([tools.fail_with_a_cause], [("fail_with_a_cause", None)])
    trace = "\n".join(ret.value["backtrace"])

    assert ret.status == "raised", ret
    assert isinstance(ret.exception, RuntimeError), repr(ret.exception)
    assert isinstance(ret.exception.__cause__, KeyError), repr(ret.exception.__cause__)
    assert ret.exception.__notes__ == ["a note of the tool's"], ret.exception.__notes__
    for expected in ("the part below", "the whole failed", "a note of the tool's", "in _failing_below"):
        assert expected in trace, trace


@about_the_body
def check_failing_constructor(harness: Harness) -> None:
    """A Tool class that cannot be made is that call's failure."""

    class Broken(toolexec.Tool):
        name = "broken"
        description = "Cannot be made."

        def __init__(self) -> None:
            raise LookupError("no connection")

        def call(self) -> None:
            """Never reached."""

    ret, sibling = harness.run([Broken, tools.add], [("broken", None), ("add", {"a": 1})])

    assert (ret.status, sibling.value) == ("raised", 2), (ret, sibling)
    assert (ret.value["type"], ret.value["message"]) == ("LookupError", "no connection"), ret


def _says(ret: Return, kind: str, text: str) -> None:
    form = ret.value
    assert (form["error"], form["type"], form["message"]) == (True, kind, text), form
    assert any("# the tool's own line" in line for line in form["backtrace"]), form["backtrace"]
    assert type(ret.exception).__name__ == kind, repr(ret.exception)


CHECKS = (
    check_failure,
    check_failure_discards_no_sibling,
    check_system_exit,
    check_base_exception,
    check_keyboard_interrupt_off_the_main_thread,
    check_failure_without_a_text,
    check_cause_and_notes,
    check_failing_constructor,
)
