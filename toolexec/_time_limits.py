"""TimeLimits: how long a call may take, as it is declared."""

from __future__ import annotations

import math
from typing import NamedTuple


class TimeLimits(NamedTuple):
    """What one call's clock is held to, from the start of its body.

    Attributes:
        timeout: Seconds in all, or None.
        idle_timeout: Seconds without a report of progress, or None.
        whose: Whose ``timeout`` is, in words.
    """

    timeout: float | None = None
    idle_timeout: float | None = None
    whose: str = "tool"

    def or_call(self, timeout: float | None) -> TimeLimits:
        """With a limit for this one call beside the tool's: the smaller one counts."""
        if timeout is None or (self.timeout is not None and self.timeout <= timeout):
            return self
        return self._replace(timeout=timeout, whose="call")


NO_LIMITS = TimeLimits()


def check_limit(name: str, seconds: object) -> float | None:
    """Refuse a limit that is no number of seconds, more than zero.

    Raises:
        ValueError: It names the option, and what it takes.
    """
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ValueError(f"{name} is {seconds!r}: it takes seconds, more than zero, or None for no limit")
    return float(seconds)
