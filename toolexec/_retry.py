"""Retry: which calls are attempted again, how often, and after how long."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolexec._errors import DeclarationError, ToolError
from toolexec._outcome import Outcome

_STATUSES = ("raised", "lost", "timeout")

# What a wait between two attempts grows to at most: longer, and whoever waits thinks that it hangs.  A guess.
_MOST_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A call that failed is attempted again, up to so many attempts in all; ``Return.attempts`` counts them.

    Only a tool that is declared ``idempotent=True`` is: another body may have had effects before it
    failed.  A call that was lost before its body began is attempted again whatever its tool.  A ``ToolError``
    is an answer and no failure; an interrupt, the end of the Group's time, and a body that was left behind
    end the matter.  Between attempts the call keeps its place in windows and limits.

    Attributes:
        attempts: How many in all, two or more.
        on: Statuses ("raised", "lost", "timeout": the call's own limit), and classes of exceptions.
        backoff: Seconds before the second attempt, each time twice as long, up to 30; or a function of
            the number of attempts made that gives the seconds.

    Raises:
        DeclarationError: One of them is something else.
    """

    attempts: int = 3
    on: Sequence[str | type[BaseException]] | str | type[BaseException] = _STATUSES
    backoff: float | Callable[[int], float] = 0.5

    def __post_init__(self) -> None:
        try:
            wanted = tuple(self._wanted)
        except TypeError:
            wanted = ()
        if not wanted:
            raise DeclarationError(f"Retry: on is {self.on!r}; it takes statuses and exceptions' classes, one at least")
        object.__setattr__(self, "on", wanted)  # to be read for every call, whatever it was
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 2:
            raise DeclarationError(f"Retry: attempts is {self.attempts!r}; it takes a whole number, two or more")
        for item in self._wanted:
            if item not in _STATUSES and not (isinstance(item, type) and issubclass(item, BaseException)):
                raise DeclarationError(
                    f"Retry: on has {item!r}; it takes {', '.join(map(repr, _STATUSES))}, and classes of exceptions"
                )
            if isinstance(item, type) and issubclass(item, ToolError):
                raise DeclarationError(
                    f"Retry: on has {item.__name__}, which is never retried: a ToolError is the tool's answer; raise "
                    "another exception where another attempt may help"
                )
        if not callable(self.backoff) and not _is_delay(self.backoff):
            raise DeclarationError(f"Retry: backoff is {self.backoff!r}; it takes seconds, zero or more, or a function")

    @property
    def _wanted(self) -> Sequence[Any]:
        return (self.on,) if isinstance(self.on, str | type) else self.on

    def wants(self, outcome: Outcome, attempts: int, *, idempotent: bool) -> bool:
        """Whether there is to be another attempt.

        Args:
            outcome: How the last one ended.
            attempts: How many bodies have begun.
            idempotent: Whether the tool says so of itself.
        """
        if outcome.abandoned or (attempts and not idempotent) or isinstance(outcome.exception, ToolError):
            return False
        return outcome.status in _STATUSES and any(
            outcome.status == item if isinstance(item, str) else isinstance(outcome.exception, item)
            for item in self._wanted
        )

    def delay_s(self, made: int) -> float:
        """Seconds to wait after so many attempts.

        Raises:
            ValueError: The function that tells them gave something else.
        """
        if not callable(self.backoff):
            return float(min(_MOST_S, self.backoff * 2 ** min(made - 1, 64)))
        delay = self.backoff(made)
        if not _is_delay(delay):
            raise ValueError(f"Retry: backoff gave {delay!r}, where seconds are due, zero or more")
        return float(delay)


def _is_delay(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < math.inf
