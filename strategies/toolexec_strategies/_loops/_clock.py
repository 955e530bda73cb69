"""The clock of the loop that calls run in: what it shows, and timers that it fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from toolexec.lowlevel import MONOTONIC, Timer, Timers


class LoopClock(ABC):
    """A ``toolexec.lowlevel.Clock`` that counts as its loop does, so that limits keep pace with what they limit.

    A loop's own timer is dear (a task, under trio), so there is one, the alarm, for the earliest of
    ours.  What is still to come when the loop ends is left to the process's clock.

    Args:
        now: Tells the loop's time, in seconds; any thread.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now: Callable[[], float] = now
        """The loop's time, in seconds.  Any thread."""
        self._timers = Timers()
        self._posted: deque[Timer] = deque()  # set from other threads
        self._alarm_at: float | None = None
        self._ended = False

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        """Run ``call`` in the loop once ``now()`` has reached ``when``; returns what cancels that.  Any thread."""
        timer = Timer(when, call)
        if not self._ended and self._is_here():
            self._timers.push(timer)
            self._wind()
        else:
            self._posted.append(timer)
            if self._ended or not self._post(self._take_posted):
                self.end()
        return timer.cancel

    def end(self) -> None:
        """The loop is ending, and fires nothing any more.  Any thread, any number of times."""
        self._ended = True
        left = self._timers.clear()
        while self._posted:
            try:
                left.append(self._posted.popleft())
            except IndexError:  # another thread took it
                break
        offset = MONOTONIC.now() - self.now()
        for timer in left:
            MONOTONIC.call_at(timer.when + offset, timer.fire)

    def release(self) -> None:
        """Nobody needs it any more: leave nothing of it in the loop.  Any thread."""
        if self._is_here():
            self._close()
        else:
            self._post(self._close)

    @abstractmethod
    def _close(self) -> None:
        """:meth:`release`, in the loop."""

    @abstractmethod
    def _is_here(self) -> bool:
        """Whether its loop runs on this thread."""

    @abstractmethod
    def _post(self, call: Callable[[], object]) -> bool:
        """Have ``call`` run in the loop, soon; False when that has ended."""

    @abstractmethod
    def _set_alarm(self, when: float) -> None:
        """Have :meth:`_ring` run in the loop at ``when``, and not at the time set before."""

    def _take_posted(self) -> None:
        while self._posted:
            self._timers.push(self._posted.popleft())
        self._wind()

    def _wind(self) -> None:
        when = self._timers.next_at()
        if when is not None and (self._alarm_at is None or when < self._alarm_at):
            self._alarm_at = when
            self._set_alarm(when)

    def _ring(self) -> None:
        self._alarm_at = None
        while (timer := self._timers.pop_due(self.now())) is not None:
            timer.fire()
        self._wind()
