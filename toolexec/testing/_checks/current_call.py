"""The current call: what a body can ask about itself, and say, wherever it runs."""

from __future__ import annotations

from typing import Any

import toolexec
from toolexec import Group, Progress
from toolexec.testing import _calling_tools as calling
from toolexec.testing._checks.interrupts import interrupt_at
from toolexec.testing._drivers import LIMIT_S, settle
from toolexec.testing._harness import Harness
from toolexec.testing._hook_tools import said
from toolexec.testing._needs import in_process, needs, only_under


def check_current_call(harness: Harness) -> None:
    """A body knows which call it runs for, that nobody asked it to stop, and that its time is not limited."""
    for tool in (calling.know, calling.aknow):
        ret = harness.one(tool)

        assert ret.value == {
            "id": "c0",
            "name": tool.name,
            "interrupted": [False, False, False],
            "deadline": None,
            "remaining": None,
        }, ret
    assert toolexec.current_call() is None


def check_time_that_remains(harness: Harness) -> None:
    """Where it is limited, a body knows until when, and how long that is."""
    for tool in (calling.know, calling.aknow):
        function = tool.bind(None, "c0")
        ret = settle(harness.driver, lambda: function.task(harness.strategy, timeout=LIMIT_S))  # noqa: B023 - waited for here

        known: dict[str, Any] = ret.unwrap()
        assert 0 < known["remaining"] <= LIMIT_S and known["deadline"] is not None, known


def check_progress(harness: Harness) -> None:
    """What a body reports arrives in its order, with its Task, also from another thread of the tool's."""
    for tool in (calling.report, calling.areport):
        seen: list[Progress] = []
        gate = harness.gate()
        gate.open()
        ret = harness.one(tool, {"gate": gate.path, "count": 3}, on_progress=seen.append)

        assert ret.value == 3, ret
        assert [(one.done, one.total, one.message, one.data) for one in seen] == [
            (done, 3, f"{done} of 3", {"done": done}) for done in (1, 2, 3)
        ], seen
        assert {one.task.function.id for one in seen if one.task is not None} == {"c0"}, seen


@needs(in_process)
@only_under("sync")
def check_late_progress_is_dropped(harness: Harness) -> None:
    """What is reported after the Return is dropped, quietly."""
    seen: list[Progress] = []
    label = harness.gate().path
    ret = harness.one(calling.keep_call, {"label": label}, on_progress=seen.append)
    call = calling.kept_call(label)
    call.progress(1)

    assert (ret.status, seen, call.id) == ("ok", [], "c0"), (ret, seen)


def check_callback(harness: Harness) -> None:
    """In its block a callback is called once, when the call is asked to stop: beside the body, where that is."""
    for tool, more in ((calling.Blocks, {}), (calling.ABlocks, {"release": harness.gate().path})):
        gate, journal = harness.gate(), harness.journal()
        arguments = {"gate": gate.path, "journal": journal.path, "label": "x", **more}
        (ret,) = harness.steer([tool], [(tool.name, arguments)], _interrupt_twice_at(gate))

        assert (ret.status, ret.reason) == ("cancelled", "enough"), ret
        (body,), (callback,) = said(journal, "body"), said(journal, "callback")
        assert [callback[part] for part in ("pid", "interpreter", "state")] == [
            body[part] for part in ("pid", "interpreter", "state")
        ], said(journal)
        assert callback["thread"] != body["thread"], said(journal)


@only_under("sync")
def check_callback_after_its_block(harness: Harness) -> None:
    """Afterwards it is not called any more."""
    gate, journal = harness.gate(), harness.journal()
    arguments = {"gate": gate.path, "journal": journal.path, "label": "x"}
    (ret,) = harness.steer([calling.Blocked], [(calling.Blocked.name, arguments)], interrupt_at(gate, "enough"))

    assert ret.status == "cancelled", ret
    assert [line["what"] for line in said(journal)] == ["body"], said(journal)


def _interrupt_twice_at(gate: Any) -> Any:
    def act(group: Group) -> None:
        gate.wait_until_reached()
        group.interrupt("enough")
        group.tasks[0].interrupt("again")

    return act


CHECKS = (
    check_current_call,
    check_time_that_remains,
    check_progress,
    check_late_progress_is_dropped,
    check_callback,
    check_callback_after_its_block,
)
