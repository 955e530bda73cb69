"""Opening a Group: what starts at once, and what waits for a place, a limit or its turn."""

from __future__ import annotations

import queue
from collections.abc import Sequence

from toolexec._control import CONTROL
from toolexec._errors import WorkerLost
from toolexec._group import Group
from toolexec._outcome import Outcome
from toolexec._schedule import Entry, Window
from toolexec._task import Task
from toolexec._waiting import wake_all


def open_group(group: Group, tasks: Sequence[Task], window: int | None) -> None:
    """Start what may start; the rest is left to the control thread, as calls settle.

    Args:
        group: The Group; calls that have joined it take their places in its windows.
        tasks: Those of its calls that are to start.
        window: How many may be in flight at once, over all strategies; None leaves it to each.
    """
    if _is_free(group, tasks, window):
        for task in tasks:
            start(task)
    else:
        _open_window(group, tasks, window)


def _open_window(group: Group, tasks: Sequence[Task], window: int | None) -> None:
    shares: dict[object, int | None] = {}
    entries = [_entry(task, window, shares) for task in tasks]
    running = [_running(task, window, shares) for task in group._joined if task._return is None]
    limited = any(_is_limited(entry) for entry in entries)
    if not limited and not _crowded([*entries, *running], shares):
        for task in tasks:
            start(task)
        return
    opening = Window(entries, shares, running)
    group._window = opening
    for entry in entries:
        entry.item._entry = entry
    for entry in running:
        group._joined[entry.item] = entry
    if not limited:
        # Only this Group's own window is concerned, and nobody else knows it yet.
        for entry in opening.take():
            start(entry.item)
        _give_back(group, entries)
        return
    # Limits are shared with other Groups, so the control thread decides; what may start has started
    # before this returns.
    opened: queue.SimpleQueue[None] = queue.SimpleQueue()

    def open_window() -> None:
        for entry in opening.take():
            start(entry.item)
        opened.put(None)

    CONTROL.post(open_window)
    opened.get()
    _give_back(group, entries)
    _start_deciding(tasks)


def _give_back(group: Group, entries: Sequence[Entry[Task]]) -> None:
    """Give back the places of calls that had settled before: those that were asked to stop from the start may have."""
    # First the place, and then a look; whoever settles does it the other way round.
    for entry in entries:
        if entry.item._return is not None:
            group._let_go(entry.item, entry)


def _is_free(group: Group, tasks: Sequence[Task], window: int | None) -> bool:
    """Whether it is plain that nothing keeps any of them waiting, as for most Groups it is."""
    if group._joined:
        return False
    for task in tasks:
        job = task._job
        if task._steps is not None or job is None or job.call.limits or task.function._definition.exclusive:
            return False
    if len(group._lazy) == len(group._places):
        return True
    if window is not None:
        return len(tasks) <= window
    strategies = {task._strategy for task in tasks if task._strategy is not None}
    return all(strategy.window is None or len(tasks) <= strategy.window for strategy in strategies)


def _start_deciding(tasks: Sequence[Task]) -> None:
    for task in tasks:
        if task._is_gated():
            start(task)


def _is_limited(entry: Entry[Task]) -> bool:
    """Whether when it starts is for the control thread to say, also because it may have to be decided on first."""
    return entry.exclusive or bool(entry.limits) or entry.gated or _in_turn(entry)


def _entry(task: Task, window: int | None, shares: dict[object, int | None]) -> Entry[Task]:
    strategy, place, job, steps = task._strategy, task._place, task._job, task._steps
    assert job is not None
    limits, gated = job.call.limits, False
    if steps is not None and steps.gated:
        limits, gated = steps.limits, True
        if steps.strategy is not None:  # or else there is no such tool, and nothing but the decision to come
            strategy, place = steps.strategy, steps.place
    assert strategy is not None
    assert place is not None
    key = None if window is not None else strategy
    exclusive = task.function._definition.exclusive
    entry = Entry(task, key, limits, exclusive=exclusive, lazy=place.lazy, gated=gated)
    if window is not None:
        shares[key] = window
    elif not place.lazy:
        shares[key] = strategy.window
    elif _in_turn(entry) or shares.get(key) is not None:
        shares[key] = 1
    else:
        shares[key] = None  # a lazy place runs its calls one at a time by itself
    return entry


def _in_turn(entry: Entry[Task]) -> bool:
    """Whether it is a lazy call with more than one step: all are taken in its turn, before those behind it."""
    steps = entry.item._steps
    return entry.lazy and steps is not None and (steps.gated or steps.repeats)


def _running(task: Task, window: int | None, shares: dict[object, int | None]) -> Entry[Task]:
    steps = task._steps
    key = None if window is not None else task._strategy if steps is None else steps.strategy
    shares.setdefault(key, None)
    return Entry(task, key, ())  # what limits it holds, it holds where it was started


def _crowded(entries: Sequence[Entry[Task]], shares: dict[object, int | None]) -> bool:
    if all(entry.lazy for entry in entries):
        return False
    counts: dict[object, int] = {}
    for entry in entries:
        counts[entry.share] = counts.get(entry.share, 0) + 1
    return any((size := shares[key]) is not None and count > size for key, count in counts.items())


def start(task: Task) -> None:
    """Give a task to its place, unless it was asked to stop before."""
    job, place = task._job, task._place
    assert job is not None
    assert place is not None
    # In this order: an interrupt first sets the flag and then looks whether the job was handed over.
    task._handed = True
    call = job.call
    if call.asks or call.barred is not None:
        if call.barred is not None:
            call.ask(call.barred)
        job.deliver(job.stopped())
        return
    try:
        place.start(job)
    except Exception as exc:  # noqa: BLE001 - a strategy that cannot start a call must not lose it
        lost = WorkerLost(f"its strategy could not start the call: {type(exc).__name__}: {exc}")
        lost.__cause__ = exc
        job.deliver(Outcome("lost", exception=lost))
    if place.lazy and task._group._each:
        wake_all(task._group._each)  # who waits runs it
