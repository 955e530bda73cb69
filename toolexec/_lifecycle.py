"""The end of the program, and the child of an ``os.fork()``."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING

from toolexec._clock import MONOTONIC
from toolexec._discovery import forget_shared
from toolexec._errors import WorkerLost
from toolexec._group import LIVE
from toolexec._outcome import Outcome
from toolexec._strategy import INSTANCES

if TYPE_CHECKING:
    from toolexec._task import Task

# Empty until the program is on its way out.
_exit: list[bool] = []


def refuse_when_exiting() -> None:
    """Refuse new work once the program is on its way out.

    Raises:
        RuntimeError: It is.
    """
    if _exit:
        raise RuntimeError("the program is exiting: no call can be started any more")


def close_shared() -> None:
    """Close the strategies that are used by name; the next use makes new ones.  Blocks, bounded by grace."""
    for strategy in forget_shared():
        strategy.close()


def unsettled() -> list[Task]:
    """The calls of this process that are claimed and have no Return yet, in no order."""
    return [task for group in list(LIVE) for task in group.tasks if task.alive]


@atexit.register
def _at_exit() -> None:
    _exit.append(True)
    strategies = list(INSTANCES)
    # All are asked before the first is waited for, so that the whole takes the largest grace, not the sum.
    until = max((strategy._refuse_work("the program is exiting") for strategy in strategies), default=MONOTONIC.now())
    for strategy in strategies:
        strategy._park_live(until)
    for strategy in strategies:
        strategy.shutdown()


def _after_fork_in_child() -> None:
    # Whoever ran these calls stayed in the parent.  Nobody is woken, no place is told: the loops
    # behind them share their descriptors with the parent's.
    groups = list(LIVE)
    LIVE.clear()
    for group in groups:
        group._each.clear()
        group._all.clear()
        group._places = ()
        for task in group._tasks:
            if task._return is None:
                task._waiters = ()
                task._tracing = task._entry = None
                lost = WorkerLost("this process was forked while the call ran; it goes on in the parent only")
                group._open[task] = True  # one that a thread was just making visible has stayed there too
                task._come_to(Outcome("lost", exception=lost))
    for strategy in list(INSTANCES):
        strategy.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
