"""Timers in the order of their times: of the control thread, or of one event loop."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

# Cancelled timers stay where they are until there are many; below this it is not worth looking for
# them.  No measurement behind it.
_MANY = 256


class Timer:
    """One call that is due at some time, unless it is cancelled before; any thread may do that.

    Attributes:
        when: The time it is due, on whatever clock.
    """

    __slots__ = ("_call", "when")

    def __init__(self, when: float, call: Callable[[], object]) -> None:
        self.when: float = when
        self._call: Callable[[], object] | None = call

    @property
    def alive(self) -> bool:
        """Whether it was neither cancelled nor fired."""
        return self._call is not None

    def cancel(self) -> None:
        """Drop it; any number of times, also after it fired."""
        self._call = None

    def fire(self) -> None:
        """Make the call, if it is alive."""
        call, self._call = self._call, None
        if call is not None:
            call()


class Timers:
    """The timers of one thread, which alone may touch them."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()  # of two at one time, the one set first
        self._full = _MANY

    def push(self, timer: Timer) -> None:
        """Add one."""
        if len(self._heap) >= self._full:
            self._heap = [entry for entry in self._heap if entry[2].alive]
            heapq.heapify(self._heap)
            self._full = max(_MANY, 2 * len(self._heap))
        heapq.heappush(self._heap, (timer.when, next(self._order), timer))

    def next_at(self) -> float | None:
        """When the next is due, or None when there is none."""
        heap = self._heap
        while heap and not heap[0][2].alive:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: float) -> Timer | None:
        """Take out one that is due, in the order of their times; None when there is none."""
        when = self.next_at()
        return None if when is None or when > now else heapq.heappop(self._heap)[2]

    def clear(self) -> list[Timer]:
        """Take out all; those that are alive."""
        left = [timer for _, _, timer in sorted(self._heap, key=lambda entry: entry[:2]) if timer.alive]
        self._heap.clear()
        return left
