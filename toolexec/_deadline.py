"""Limits of time: of a call, of a tool, of a Group, and of silence; the nearest wins and names itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from toolexec._call_state import Ask
from toolexec._time_limits import NO_LIMITS

if TYPE_CHECKING:
    from toolexec._group import Group
    from toolexec._job import Job
    from toolexec._task import Task


def start_clock(task: Task, begun_at: float) -> None:
    """A body begins."""
    limits, job, clock = task._limits, task._job, task._group._clock
    if limits is NO_LIMITS or job is None:
        return
    if limits.timeout is not None:
        over = begun_at + limits.timeout
        call = job.call
        call.deadline = over if call.deadline is None else min(over, call.deadline)
        ask = Ask(f"the {limits.whose}'s time limit of {limits.timeout:g} s is over", timeout=True, again=True)
        task._undo.append(clock.call_at(over, partial(task._ask_attempt, job, ask)))
    if limits.idle_timeout is not None:
        task._active_at = begun_at
        _watch_silence(task, job)
    if task._return is not None:
        for undo in task._undo:
            undo()


def _watch_silence(task: Task, job: Job) -> None:
    idle, clock = task._limits.idle_timeout, task._group._clock
    if task._return is not None or task._job is not job or idle is None:
        return
    over = task._active_at + idle
    if clock.now() < over:
        # One timer at a time, and none is moved by a report: it looks again when it is due.
        task._undo.append(clock.call_at(over, partial(_watch_silence, task, job)))
    else:
        reason = f"the tool's idle limit of {idle:g} s is over: no progress for that long"
        task._ask_attempt(job, Ask(reason, timeout=True, again=True))


def start_group_clock(group: Group, timeout: float) -> None:
    """The Group's time runs from now, for calls that wait as well."""
    over = group._clock.now() + timeout
    for task in group._tasks:
        if task._job is None:
            continue
        call = task._job.call
        # A call that was started ahead goes by a clock of its own, and may have less time left already.
        its_over = over if task._group is group else task._group._clock.now() + timeout
        call.deadline = its_over if call.deadline is None else min(its_over, call.deadline)
        task._due = its_over if task._due is None else min(its_over, task._due)
    ask = Ask(f"the group's time limit of {timeout:g} s is over", timeout=True)
    group._undo.append(group._clock.call_at(over, partial(group._ask, ask)))
    if group._done():
        for undo in group._undo:
            undo()
