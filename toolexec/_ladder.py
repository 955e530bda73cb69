"""The ladder: from asking a call to stop, by force where there is force, to its Return within grace.

All of it runs on the control thread (or, with a clock that is moved by hand, where it is moved).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from toolexec._beside import run_beside
from toolexec._call_state import Ask, CallState
from toolexec._clock import MONOTONIC
from toolexec._control import CONTROL
from toolexec._hook import take_hook
from toolexec._outcome import Outcome
from toolexec._warn import warn_beside

if TYPE_CHECKING:
    from toolexec._job import Job
    from toolexec._task import Task

# The hook of a body that still runs gets the second half; so does one that began before.  The last
# quarter is for a process to obey SIGTERM.  From the design; no measurement behind it.
_HOOK_AT = 0.5
_STOP_AT = 0.75

# What of an outer call's grace a call inside it may take, so that the outer one has time to clean up.
_INNER_SHARE = 0.8

# How long a killed worker's end may take to be reported: far more than the millisecond it takes.
_REPORT_S = 1.0


def ask_all(tasks: Sequence[Task], ask: Ask) -> list[Task]:
    """Ask calls to stop; those for which that is new.

    Stores and messages only, so any thread or signal handler may.  All are asked before the first is
    stopped, or another would begin in its place.
    """
    try:
        asked = [task for task in tasks if task._job is not None and task._return is None and _ask(task, ask)]
        for task in asked:
            _cancel_at_once(task)
        for task in asked:
            CONTROL.post(partial(climb, task))
    except BaseException:  # a Ctrl-C in between: nobody would ask these again
        for task in tasks:
            if task._job is not None and ask in task._job.call.asks[:1]:
                CONTROL.post(partial(climb, task))
        raise
    return asked


def _ask(task: Task, ask: Ask) -> bool:
    while True:
        job = task._job
        assert job is not None
        new = job.call.ask(ask)
        # First the flag, and then a look: another job that takes this one's place does it the other way round.
        if task._job is job:
            return new


def _cancel_at_once(task: Task) -> None:
    """Cancel what an async body awaits, from here: by way of the control thread it takes one more wake-up."""
    job, strategy = task._job, task._strategy
    if job is None or strategy is None or not job.begun:
        return
    call = job.call
    # Where others are to hear of it, inner calls or callbacks, they come first: see ``climb``.
    if not call.asked or not call.cancels or call.inner or call.wakers or call.listeners:
        return
    if _limit_grace(call, strategy.grace) > 0:
        call.cancel_once()


def interrupt_all(tasks: Sequence[Task], ask: Ask, *, after_running: bool) -> None:
    """Interrupt calls as their user wants it; any thread or signal handler."""
    if after_running:
        for task in tasks:
            task._bar(ask)
    else:
        for task in ask_all(tasks, ask):  # a hook that runs here takes its time
            task._tell_here()


def climb(task: Task) -> None:
    """Begin to stop a call that was asked; its flag is set already."""
    job, place, strategy = task._job, task._place, task._strategy
    if task._return is not None or job is None or place is None or strategy is None:
        return
    call = job.call
    if not call.asked:
        return  # it was the job before this one that was, by the end of its own time
    grace = _limit_grace(call, strategy.grace)
    if place.lazy and grace > 0 and not call.asks[0].tells and take_hook(call):
        # Nothing is raised into a body on its waiter's thread: its hook is all that can be told.
        run_beside(job.run_taken_hook, "hook")
    if not task._handed or not (job.begun or strategy.isolated):
        # It has not begun, and will not: who starts it looks at the flag first.
        job.finish(job.stopped())
        return
    reach_inner(call)
    call.notify()
    if place.lazy:
        return  # nor is it ever left behind: who waits is who runs it
    if grace > 0:
        call.cancel_once()
        place.ask(job)
    _climb_within(task, grace)


def bar(task: Task) -> None:
    """Stop a call only if it has not begun; what bars it is set already."""
    job, strategy = task._job, task._strategy
    if job is None or strategy is None or job.call.barred is None:
        return
    if not task._handed or not (job.begun or strategy.isolated) or task._is_gated():
        job.call.ask(job.call.barred)
        climb(task)


def reach_inner(call: CallState) -> None:
    """Ask the calls that a call's body has started; an outer limit of time is for them an interrupt."""
    ask = Ask(call.reason)
    tasks = [(task, task._job.call) for group in call.inner[:] for task in group._tasks if task._job is not None]
    # All are asked before the first is stopped, or the next would begin in its place.
    new = [inner.ask(ask) for _, inner in tasks]
    for (task, _), is_new in zip(tasks, new, strict=True):
        (climb if is_new else _climb_faster)(task)


def finish_off(task: Task) -> None:
    """Use the last means at once: somebody pressed Ctrl-C a second time."""
    _kill(task)


def hook_begun(task: Task, job: Job) -> None:
    """The body has ended and its hook runs: that gets its share of the grace, and no more."""
    if task._return is None and task._job is job:
        _after(task, _HOOK_AT * job.call.grace, _leave)


def _limit_grace(call: CallState, grace: float) -> float:
    """Set the grace of a call from now on: what is left of the grace around it bounds it."""
    parent = call.parent
    if parent is not None and parent.asked and (left := parent.grace_left()) is not None:
        grace = min(grace, _INNER_SHARE * left)
    call.grace = grace
    call.ends_at = call.clock.now() + grace
    return grace


def _climb_faster(task: Task) -> None:
    """The call around it was asked: what is left of this one's grace may have become less."""
    job = task._job
    if task._return is not None or job is None:
        return
    left = job.call.grace_left()
    if left is None:
        return  # it was asked just now, and its turn on this thread is still to come
    grace = _limit_grace(job.call, left)
    if grace < left:
        _climb_within(task, grace)


def _climb_within(task: Task, grace: float) -> None:
    # All count from one moment: a clock may be moved on while they are being set.
    now = task._group._clock.now()
    if grace > 0:
        _after(task, _HOOK_AT * grace, _late_hook, now)
        _after(task, _STOP_AT * grace, _stop, now)
    _after(task, grace, _kill, now)


def _after(task: Task, delay: float, rung: Callable[[Task], None], now: float | None = None) -> None:
    """Take a rung in ``delay`` seconds, from ``now`` on if that is given, unless the call has settled by then."""
    group, step = task._group, partial(_take, rung, task, task._job)
    clock = group._clock
    if now is None:
        now = clock.now()
    if group._in_loop:
        # The loop's clock stands still while something blocks the loop, and for ever once it has
        # ended; so the process's clock runs beside it.  A rung that is taken twice does no harm.
        task._undo.append(clock.call_at(now + delay, partial(CONTROL.post, step)))
        task._undo.append(MONOTONIC.call_at(MONOTONIC.now() + delay, step))
    else:
        task._undo.append(clock.call_at(now + delay, step))
    if task._return is not None:  # settled meanwhile, perhaps before it could see the timers
        for undo in task._undo:
            undo()


def _take(rung: Callable[[Task], None], task: Task, job: Job | None) -> None:
    if task._job is job:
        rung(task)


def _late_hook(task: Task) -> None:
    job, place = task._job, task._place
    if task._return is None and task._concluded is None and job is not None and place is not None:
        place.hook(job)


def _stop(task: Task) -> None:
    job, place = task._job, task._place
    if task._return is None and job is not None and place is not None and not job.over:
        place.stop(job)


def _kill(task: Task) -> None:
    if task._return is not None or task._job is None or task._place is None or task._place.lazy:
        return
    if not task._job.over and task._place.kill(task._job):
        _after(task, _REPORT_S, _leave)
    else:
        _leave(task)


def _leave(task: Task) -> None:
    job, place = task._job, task._place
    if task._return is not None or job is None or place is None:
        return
    consequence = None if job.over else place.leave(job)
    note = "" if consequence is None else f"; {consequence}"
    if task._concluded is not None:  # only its hook hangs
        warn_beside("toolexec: the hook of tool %r did not return within its grace%s", task.function.name, note)
        job.deliver(task._concluded)
        return
    warn_beside("toolexec: tool %r did not stop within its grace and was left behind%s", task.function.name, note)
    stopped = job.stopped()
    job.deliver(Outcome("cancelled", exception=stopped.exception, reason=stopped.reason, abandoned=True))
