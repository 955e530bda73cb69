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
    shares: dict[object, int | None] = {}
    entries = [_entry(task, window, shares) for task in tasks]
    running = [_running(task, window, shares) for task in group._joined if task._return is None]
    limited = any(entry.exclusive or entry.limits for entry in entries)
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


def _entry(task: Task, window: int | None, shares: dict[object, int | None]) -> Entry[Task]:
    strategy, place, job = task._strategy, task._place, task._job
    assert strategy is not None
    assert place is not None
    assert job is not None
    key = None if window is not None else strategy
    # A lazy place runs its calls one at a time by itself.
    shares[key] = window if window is not None else None if place.lazy else strategy.window
    return Entry(task, key, job.call.limits, exclusive=task.function._definition.exclusive, lazy=place.lazy)


def _running(task: Task, window: int | None, shares: dict[object, int | None]) -> Entry[Task]:
    key = None if window is not None else task._strategy
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
    if job.asked or job.call.barred is not None:
        if job.call.barred is not None:
            job.call.ask(job.call.barred)
        job.deliver(job.stopped())
        return
    try:
        place.start(job)
    except Exception as exc:  # noqa: BLE001 - a strategy that cannot start a call must not lose it
        lost = WorkerLost(f"its strategy could not start the call: {type(exc).__name__}: {exc}")
        lost.__cause__ = exc
        job.deliver(Outcome("lost", exception=lost))
    if place.lazy:
        wake_all(task._group._each)  # who waits runs it
