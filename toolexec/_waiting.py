"""Parking a thread or a task until something settles; lock-free on both sides.

Whoever waits first registers a wake-up and only then looks whether it still has to wait; whoever
settles first publishes and only then wakes.  So one of the two always sees the other.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from toolexec._bell import Bell
from toolexec._clock import MONOTONIC, Clock
from toolexec._errors import WrongLoop
from toolexec._loop_kind import running_loop

Wakers = list[Callable[[], object]]

# A signal that comes just before the main thread falls asleep does not wake it; so it looks up now and
# then.  Short for a person who pressed Ctrl-C, and no load.
_BEAT_S = 0.5


def wake_all(wakers: Wakers) -> None:
    """Wake everybody; they look for themselves whether it was for them."""
    if wakers:
        for wake in wakers[:]:
            wake()


def park(wakers: Wakers, done: Callable[[], bool], clock: Clock, until: float | None) -> None:
    """Block this thread until ``done()`` or until ``clock`` reaches ``until``.

    Ctrl-C ends it on the main thread.
    """
    beat = _BEAT_S if threading.current_thread() is threading.main_thread() else None
    parking: queue.SimpleQueue[None] = queue.SimpleQueue()

    def wake() -> None:
        parking.put(None)

    wakers.append(wake)
    cancel = None
    try:
        if until is not None and clock is not MONOTONIC:
            cancel = clock.call_at(until, wake)
        while not done():
            pause = beat
            if until is not None:
                left = until - clock.now()
                if left <= 0:
                    break
                if clock is MONOTONIC:
                    pause = left if beat is None else min(left, beat)
            try:
                parking.get(timeout=pause)
            except queue.Empty:
                continue
    finally:
        if cancel is not None:
            cancel()
        wakers.remove(wake)


async def apark(wakers: Wakers, done: Callable[[], bool], clock: Clock, until: float | None) -> None:
    """:func:`park` for a task of asyncio or trio, without blocking its loop."""
    while not done() and (until is None or clock.now() < until):
        bell = Bell()
        wakers.append(bell.ring)
        cancel = None
        try:
            if until is not None:
                cancel = clock.call_at(until, bell.ring)
            if not done():
                await bell.wait()
        finally:
            if cancel is not None:
                cancel()
            wakers.remove(bell.ring)


def refuse_running_loop(instead: str) -> None:
    """Raise WrongLoop where an event loop runs on this thread.

    Raises:
        WrongLoop: Names the await form.
    """
    kind = running_loop()
    if kind is not None:
        raise WrongLoop(f"this would block the running {kind} loop; use {instead}")


def check_timeout(timeout: float | None) -> None:
    """Refuse a timeout that is no number of seconds."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
        raise ValueError(f"timeout is {timeout!r}: it takes seconds, zero or more, or None to wait without end")
