"""Calls inside calls, in a worker that ends with the outer one."""

from __future__ import annotations

import queue

from toolexec._call_state import Ask, CallState
from toolexec._clock import MONOTONIC
from toolexec._control import CONTROL
from toolexec._ladder import ask_all, reach_inner
from toolexec._waiting import park

# How long a worker waits for its own control thread to have reached its inner calls, and for their
# Returns beyond their grace.  Guesses.
_REACH_S = 1.0
_SLACK_S = 0.5


def reach(call: CallState) -> None:
    """In a worker, where a call was asked: ask the calls it has made, then tell who waits and who listens.

    Blocks for as long as the first takes, which is no time where it made none.  Not for a thread
    that an Interrupt is about to be raised in.
    """
    if call.inner:
        reached: queue.SimpleQueue[None] = queue.SimpleQueue()

        def go() -> None:
            reach_inner(call)
            reached.put(None)

        CONTROL.post(go)
        try:
            reached.get(timeout=_REACH_S)
        except queue.Empty:
            pass
    call.notify()


def settle_inner(call: CallState) -> None:
    """In a worker that is about to end: stop the calls that the body has left behind, hooks included."""
    groups = call.inner[:]
    ask_all([task for group in groups for task in group._tasks], Ask("the call around it has ended"))
    for group in groups:
        graces = [task._strategy.grace for task in group._tasks if task._strategy is not None]
        bound = call.grace_left()
        grace = max(graces, default=0.0)
        until = MONOTONIC.now() + (grace if bound is None else min(grace, bound)) + _SLACK_S
        park(group._all, group._done, MONOTONIC, until)
