"""An asyncio loop's clock, and how its end is noticed."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable

from toolexec_strategies._loops._clock import LoopClock


class Appointment:
    """``loop.call_at``, which also tells when the loop is closed before that time.

    ``loop.close()`` says nothing to anybody, but it lets go of the timers that it holds.  So nobody
    else holds this one, and its end tells (on asyncio's own loops and on uvloop's, from Python 3.11
    to 3.15).
    """

    __slots__ = ("_closed", "_loop", "_timer")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        when: float,
        call: Callable[[], object],
        closed: Callable[[], object],
    ) -> None:
        """In the loop.

        Args:
            loop: The loop.
            when: When ``call`` is due; a time of the loop.
            call: Called in the loop.
            closed: Called in the midst of ``loop.close()``, on its thread.
        """
        self._loop = loop
        self._closed: Callable[[], object] | None = closed
        self._timer = weakref.ref(loop.call_at(when, call), self._let_go)

    def cancel(self) -> None:
        """In the loop."""
        self._closed = None
        timer = self._timer()
        if timer is not None:
            timer.cancel()

    def _let_go(self, _: object) -> None:
        if self._closed is not None and self._loop.is_closed():
            self._closed()


class AsyncioClock(LoopClock):
    """The clock of an asyncio loop: ``loop.time``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop.time)
        self._loop = loop
        self._alarm: Appointment | None = None

    def _close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _is_here(self) -> bool:
        return running_loop_here() is self._loop

    def _post(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # it is closed
            return False
        return True

    def _set_alarm(self, when: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = Appointment(self._loop, when, self._ring, self.end)


def running_loop_here() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that runs on this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
