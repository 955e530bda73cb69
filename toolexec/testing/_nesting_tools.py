"""The tools whose calls make calls that are to stop with them."""

from __future__ import annotations

import json
from typing import Any

import toolexec
from toolexec import Context, Group
from toolexec.testing import _hook_tools as hooked
from toolexec.testing import _stopping_tools as stopping
from toolexec.testing._journal import Journal

# One call that runs, with a hook, and one that waits for its turn.
_INNER: list[Any] = [hooked.Told, stopping.heed]


def _inner(strategy: str, gate: str, journal: str) -> Group:
    context = Context(_INNER, strategy=strategy)
    calls: list[dict[str, Any]] = [
        {"id": "i0", "name": hooked.Told.name, "arguments": {"gate": gate, "journal": journal, "label": "inner"}},
        {"id": "i1", "name": "heed", "arguments": {"gate": gate, "label": "never"}},
    ]
    return context.receive(calls).group(window=1)


def _note(group: Group, journal: str) -> None:
    returns = [None if ret is None else (ret.status, ret.reason, ret.attempts) for ret in group.returns]
    Journal(journal).write(json.dumps(returns))


# Polls, so that nothing is raised while it writes down what it has to.
@toolexec.tool(deliver="poll")
def outer(strategy: str, gate: str, journal: str, returns: str) -> str:
    """Make calls and wait for them; in the end write down what they came to."""
    group = _inner(strategy, gate, journal)
    try:
        group.wait()
    finally:
        _note(group, returns)
    toolexec.checkpoint()
    return "not asked"


@toolexec.tool
async def aouter(strategy: str, gate: str, journal: str, returns: str) -> str:
    """As ``outer``, awaiting them."""
    group = _inner(strategy, gate, journal)
    try:
        await group
    finally:
        _note(group, returns)
    toolexec.checkpoint()
    return "not asked"
