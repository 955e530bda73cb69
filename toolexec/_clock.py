"""The only reader of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from toolexec._control import CONTROL
from toolexec._errors import DeclarationError


class Clock(Protocol):
    """What tells the time and calls back; ``toolexec.testing.ManualClock`` is another one."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        """Run ``call`` once ``now()`` has reached ``when``, on whatever thread; returns what cancels that.

        ``call`` is quick, runs no user code and does not raise.
        """
        ...


class MonotonicClock:
    """The system's monotonic clock; callbacks run on the control thread."""

    if TYPE_CHECKING:

        def now(self) -> float:
            """As in :class:`Clock`."""
            ...

    else:
        now = staticmethod(time.monotonic)  # no frame of its own: it is read twice in every call

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        """As in :class:`Clock`."""
        return CONTROL.call_at(when, call)


def check_clock(clock: Any) -> Clock:
    """Refuse what cannot tell the time.

    Raises:
        DeclarationError: It lacks one of the two methods.
    """
    if isinstance(clock, type) or not all(callable(getattr(clock, name, None)) for name in ("now", "call_at")):
        raise DeclarationError(f"clock is {clock!r}; it takes an object with now() and call_at(when, call)")
    found: Clock = clock
    return found


MONOTONIC: Clock = MonotonicClock()
