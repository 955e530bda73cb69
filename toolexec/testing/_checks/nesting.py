"""Calls inside calls: what stops the outer one stops the inner ones first."""

from __future__ import annotations

import json
from typing import Any

from toolexec import Group, Return
from toolexec.testing import _nesting_tools as nesting
from toolexec.testing._checks.interrupts import assert_cancelled
from toolexec.testing._harness import Harness
from toolexec.testing._hook_tools import said
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import needs, nests, only_under


@needs(nests)
def check_interrupt_reaches_inner_calls(harness: Harness) -> None:
    """An interrupt of the outer call answers its calls, for the same reason; the hook of the one that ran is told."""
    for tool in (nesting.outer, nesting.aouter):
        ret, returns = _stop(harness, tool, deadline=False)

        assert_cancelled(ret, "enough")
        assert returns == [["cancelled", "enough", 1], ["cancelled", "enough", 0]], returns


@needs(nests)
@only_under("sync")
def check_deadline_is_an_interrupt_for_inner_calls(harness: Harness) -> None:
    """When it is the outer one's time that is over, the inner ones are ``cancelled``: it was not their time."""
    for tool in (nesting.outer, nesting.aouter):
        ret, returns = _stop(harness, tool, deadline=True)

        assert ret.status == "timeout", ret
        assert [(status, attempts) for status, _, attempts in returns] == [("cancelled", 1), ("cancelled", 0)], returns


def _stop(harness: Harness, tool: Any, *, deadline: bool) -> tuple[Return, Any]:
    """Stop a call whose own calls are under way; its Return, and what it saw of theirs."""
    clock, gate = ManualClock(), harness.gate()
    journal, returns = harness.journal(), harness.journal()

    def act(group: Group) -> None:
        gate.wait_until_reached()
        if deadline:
            clock.advance(10)
        else:
            group.interrupt("enough")

    arguments = {"strategy": harness.name, "gate": gate.path, "journal": journal.path, "returns": returns.path}
    limit, moved = (10, clock) if deadline else (None, None)
    (ret,) = harness.steer([tool], [(tool.name, arguments)], act, timeout=limit, clock=moved)

    assert [line["what"] for line in said(journal)].count("hook") == 1, said(journal)
    (line,) = returns.lines()
    return ret, json.loads(line)


CHECKS = (
    check_interrupt_reaches_inner_calls,
    check_deadline_is_an_interrupt_for_inner_calls,
)
