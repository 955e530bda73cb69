"""A trio run's clock; ``trio.testing.MockClock`` too."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import trio

from toolexec.lowlevel import catch_up
from toolexec_strategies._loops._clock import LoopClock


class TrioClock(LoopClock):
    """The clock of the trio run on this thread."""

    def __init__(self) -> None:
        clock = trio.lowlevel.current_clock()
        super().__init__(clock.current_time)
        self._token = trio.lowlevel.current_trio_token()
        self._watching = False  # is there a task that fires the timers?
        self._sleep: trio.CancelScope | None = None  # where it sleeps, once it has begun
        self._closed = False
        self._pause: _Pause | None = None
        testing = sys.modules.get("trio.testing")
        if testing is not None and isinstance(clock, testing.MockClock):
            self._pause = _Pause()
            trio.lowlevel.add_instrument(self._pause)

    def _close(self) -> None:
        self._closed = True
        if self._sleep is not None:
            self._sleep.cancel()
        if self._pause is not None:
            trio.lowlevel.remove_instrument(self._pause)
            self._pause = None

    def _is_here(self) -> bool:
        return trio.lowlevel.in_trio_run() and trio.lowlevel.current_trio_token() is self._token

    def _post(self, call: Callable[[], object]) -> bool:
        try:
            self._token.run_sync_soon(call)
        except trio.RunFinishedError:
            return False
        return True

    def _set_alarm(self, when: float) -> None:
        if self._watching:
            if self._sleep is not None:
                self._sleep.deadline = when
            return
        try:
            # A system task: the caller's scopes must not stop it.
            trio.lowlevel.spawn_system_task(self._watch)
            self._watching = True
        except RuntimeError:  # the last callbacks of a run come when it takes no task any more
            self.end()

    async def _watch(self) -> None:
        try:
            while not self._closed:
                alarm_at = math.inf if self._alarm_at is None else self._alarm_at
                with trio.CancelScope(deadline=alarm_at) as self._sleep:
                    await trio.sleep_forever()
                if not self._closed:
                    self._ring()
        finally:
            self._watching = False
            self._sleep = None
            if not self._closed:  # the run is ending
                self.end()


class _Pause(trio.abc.Instrument):
    """Holds the time until the engine has caught up with the run.

    A MockClock jumps to the next deadline as soon as every task waits.  But some wait for the engine,
    whose decisions are made on a thread that the run knows nothing of: their time has not come.
    """

    def before_io_wait(self, timeout: float) -> None:
        catch_up()
