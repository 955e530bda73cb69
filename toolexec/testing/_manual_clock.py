"""ManualClock: time that moves when the test says so."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

# As for gates: far more than a step of a test takes.
_TIMEOUT_S = 20.0


class ManualClock:
    """A ``toolexec.Clock`` that stands still until ``advance``; for ``Context(clock=...)``.

    Safe to use from several threads; due calls run on the thread that advances.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._changed = threading.Condition()
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Callable[[], object]]] = []

    def now(self) -> float:
        """The time it shows, in seconds."""
        return self._now

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        """Run ``call`` once the clock shows ``when``, here and now if it does already; returns what cancels that."""
        timer = (when, next(self._order), call)
        with self._changed:
            waits = when > self._now
            if waits:
                heapq.heappush(self._timers, timer)
                self._changed.notify_all()
        if not waits:
            call()

        def cancel() -> None:
            with self._changed:
                if timer in self._timers:
                    self._timers.remove(timer)
                    heapq.heapify(self._timers)

        return cancel

    def advance(self, seconds: float) -> None:
        """Move the time forward and run what falls due, in the order of its times, before returning.

        Raises:
            ValueError: ``seconds`` is negative.
        """
        if seconds < 0:
            raise ValueError(f"seconds is {seconds!r}: time never goes back")
        until = self._now + seconds
        while True:
            with self._changed:
                if not self._timers or self._timers[0][0] > until:
                    self._now = until
                    return
                when, _, call = heapq.heappop(self._timers)
                self._now = max(self._now, when)
            call()

    @property
    def timers(self) -> int:
        """How many calls are waiting for their time."""
        return len(self._timers)

    def wait_for_timers(self, count: int = 1, *, timeout: float = _TIMEOUT_S) -> None:
        """Block until at least ``count`` calls wait for their time: only then does advancing reach them.

        Raises:
            TimeoutError: Fewer do, after ``timeout`` seconds of the real time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._timers) >= count, timeout):
                raise TimeoutError(f"after {timeout:g} s only {len(self._timers)} of {count} timers were set")
