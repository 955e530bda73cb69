"""A cache of daemon threads: uncapped, reused while warm, never joined."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable

# Long enough that a burst of turns finds its threads warm, short enough that a quiet program does
# not keep them.  No measurement behind it.
_IDLE_S = 10.0

_idle: list[_Worker] = []
# How often the idle ones were sent home: a worker that was busy meanwhile follows them.
_retired = itertools.count(1)
_last_retired = [0]


class _Worker:
    """One thread and the queue it waits on."""

    __slots__ = ("inbox",)

    def __init__(self) -> None:
        # SimpleQueue: its put takes no Python-level lock, so a starter may be cut by a signal
        # handler or an Interrupt anywhere and leaves nothing locked.
        self.inbox: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()

    def loop(self) -> None:
        while True:
            try:
                work = self.inbox.get(timeout=_IDLE_S)
            except queue.Empty:
                try:
                    _idle.remove(self)
                except ValueError:
                    # Somebody took this worker out of the list between the time-out and now: what
                    # they want done is about to arrive.
                    work = self.inbox.get()
                else:
                    return
            era = _last_retired[0]
            if work is None or work() is False:
                return
            del work  # or the last call's arguments and result live until the next one comes
            # Only now, not before the work delivered its result: what delivering calls (a tracer, a
            # waiter's callback) may block, and must delay no other call.
            _idle.append(self)
            if _last_retired[0] != era:
                # The idle ones were retired between the delivery, which may have caused it, and here.
                try:
                    _idle.remove(self)
                except ValueError:  # somebody took this worker already: their work, or its end, will arrive
                    continue
                return


def run_in_thread(work: Callable[[], object]) -> None:
    """Run ``work`` on a daemon thread, an idle one if there is one.

    It must not raise.  When it returns exactly False, its thread is not used again.  Never blocks;
    any thread may call it.  Daemon, because a stuck tool must not keep the program from exiting;
    uncapped, because a cap lets nested groups starve each other (windows bound what runs).
    """
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        threading.Thread(target=worker.loop, name="toolexec-worker", daemon=True).start()
    worker.inbox.put(work)


def retire_idle() -> None:
    """End the threads that have nothing to do, and those that have just delivered; the next call makes new ones."""
    _last_retired[0] = next(_retired)
    while True:
        try:
            worker = _idle.pop()
        except IndexError:
            return
        worker.inbox.put(None)


if hasattr(os, "register_at_fork"):
    # The threads did not come along into the child; a job put into their inboxes would never run.
    os.register_at_fork(after_in_child=_idle.clear)
