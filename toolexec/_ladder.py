"""The ladder: from asking a call to stop, by force where there is force, to its Return within grace.

All of it runs on the control thread.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from toolexec._outcome import Outcome

if TYPE_CHECKING:
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

# The first three quarters are for the body (its own clean-up, its hook); what is left is for a
# process to obey SIGTERM.  From the design; no measurement behind it.
_STOP_AT = 0.75

# How long a killed worker's end may take to be reported: far more than the millisecond it takes.
_REPORT_S = 1.0


def climb(task: Task) -> None:
    """Begin to stop a call that was asked; its flag is set already."""
    job, place, strategy = task._job, task._place, task._strategy
    if task._return is not None or job is None or place is None or strategy is None:
        return
    if not task._handed or (task._begun_at is None and not strategy.isolated):
        # It has not begun, and will not: who starts it looks at the flag first.
        job.deliver(job.stopped())
        return
    if place.lazy:
        return  # it runs on the thread of whoever waits; nothing is raised there and nothing is left behind
    clock = task._group._clock
    start = clock.now()
    grace = strategy.grace
    if grace > 0:
        job.call.cancel_once()
        place.ask(job)
        task._undo.append(clock.call_at(start + _STOP_AT * grace, partial(_stop, task)))
    task._undo.append(clock.call_at(start + grace, partial(_kill, task)))
    if task._return is not None:  # settled meanwhile, perhaps before it could see the timers
        for undo in task._undo:
            undo()


def _stop(task: Task) -> None:
    if task._return is None and task._job is not None and task._place is not None:
        task._place.stop(task._job)


def _kill(task: Task) -> None:
    if task._return is not None or task._job is None or task._place is None:
        return
    if task._place.kill(task._job):
        clock = task._group._clock
        task._undo.append(clock.call_at(clock.now() + _REPORT_S, partial(_leave, task)))
    else:
        _leave(task)


def _leave(task: Task) -> None:
    job, place = task._job, task._place
    if task._return is not None or job is None or place is None:
        return
    place.leave(job)
    _log.warning("toolexec: tool %r did not stop within its grace and was left behind", task.function.name)
    stopped = job.stopped()
    job.deliver(Outcome("cancelled", exception=stopped.exception, reason=stopped.reason, abandoned=True))
