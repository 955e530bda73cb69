"""A cache of daemon threads: uncapped, reused while warm, never joined.

Waking a thread costs more than most calls, so work is not handed to a thread of its own: it lies in one
queue, and at most one thread is on its way to it at any time.  Who takes work wakes the next one before
it begins, if more is there: bodies that block get a thread each, and bodies that end at once are run by
one thread, one after another, as fast as it can.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable

from toolexec.lowlevel import MONOTONIC

# Long enough that a burst of turns finds its threads warm, short enough that a quiet program does
# not keep them.  No measurement behind it.
_IDLE_S = 10.0

# How soon a thread is asked for again where the system gives none.  A guess; a busy one is mostly sooner.
_AGAIN_S = 0.05

# Deques and lists: what is done to them is atomic and takes no Python-level lock, so a starter may be cut
# by a signal handler or an Interrupt anywhere and leaves nothing locked.
_work: deque[Callable[[], object]] = deque()
_idle: list[_Worker] = []
# Whoever pops it wakes a thread, which puts it back before it looks for work: who finds none may leave
# that to the thread on its way.
_may_wake = [1]
# How often the idle ones were sent home: a worker that was busy meanwhile follows them.
_retired = itertools.count(1)
_last_retired = [0]


class _Worker:
    """One thread and what wakes it."""

    __slots__ = ("_woken",)

    def __init__(self) -> None:
        self._woken: queue.SimpleQueue[int | None] = queue.SimpleQueue()

    def wake(self) -> None:
        """Have it look for work."""
        self._woken.put(_last_retired[0])

    def retire(self) -> None:
        """Have it end."""
        self._woken.put(None)

    def loop(self) -> None:
        while (era := self._awaited()) is not None:
            if not _run_all():
                return
            # Only now, not before the work delivered its result: what delivering calls (a tracer, a
            # waiter's callback) may block, and must delay no other call.
            _idle.append(self)
            # The idle ones were retired since it was woken, perhaps because of what it has delivered; unless
            # somebody took this worker already: their work, or its end, will arrive.
            if _last_retired[0] != era and self._leaves():
                return

    def _awaited(self) -> int | None:
        """Wait to be woken: how often the idle ones had been retired then; None to end."""
        try:
            return self._woken.get(timeout=_IDLE_S)
        except queue.Empty:
            # Or somebody took this worker between the time-out and now, and is about to wake it.
            return None if self._leaves() else self._woken.get()

    def _leaves(self) -> bool:
        try:
            _idle.remove(self)
        except ValueError:
            return False
        return True


def _run_all() -> bool:
    """Run what work there is; whether the thread may be used again."""
    _may_wake.append(1)
    while True:
        try:
            work = _work.popleft()
        except IndexError:
            return True
        if _work and _may_wake:
            _wake_if_due()
        if work() is False:
            return False
        del work  # or the last call's arguments and result live until the next one comes


def run_in_thread(work: Callable[[], object]) -> None:
    """Run ``work`` on a daemon thread, an idle one if there is one.

    It must not raise.  When it returns exactly False, its thread is not used again.  Never blocks;
    any thread may call it.  Daemon, because a stuck tool must not keep the program from exiting;
    uncapped, because a cap lets nested groups starve each other (windows bound what runs).
    """
    _work.append(work)
    try:
        _wake_one()
    except BaseException as exc:  # no thread can be started; or a Ctrl-C, perhaps before one was woken
        _may_wake[:] = [1]
        taken = False
        try:
            _work.remove(work)
        except ValueError:  # by a thread that ran already
            taken = True
        _wake_if_due()  # others may have left theirs to the thread that was to be woken here
        if taken and isinstance(exc, RuntimeError):
            return
        raise


def _wake_one() -> None:
    """Have one more thread look for work, unless one is on its way."""
    try:
        _may_wake.pop()
    except IndexError:
        return
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.wake()  # before it starts: a Ctrl-C that cuts the start would leave it waiting for that
        try:
            threading.Thread(target=worker.loop, name="toolexec-worker", daemon=True).start()
        except RuntimeError:
            _may_wake[:] = [1]
            raise
    else:
        worker.wake()


def _wake_if_due() -> None:
    """Have a thread look for work that is there; where none can be started, a busy one does it, or one later on."""
    if not _work:
        return
    try:
        _wake_one()
    except RuntimeError:
        MONOTONIC.call_at(MONOTONIC.now() + _AGAIN_S, _wake_if_due)


def retire_idle() -> None:
    """End the threads that have nothing to do, and those that have just delivered; the next call makes new ones."""
    _last_retired[0] = next(_retired)
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return
        worker.retire()


def _forget() -> None:
    _work.clear()
    _idle.clear()
    _may_wake[:] = [1]


if hasattr(os, "register_at_fork"):
    # The threads did not come along into the child; work that waits for them belongs to the parent.
    os.register_at_fork(after_in_child=_forget)
