"""Outcome: what a worker hands back about one attempt, before the engine makes a Return of it."""

from __future__ import annotations

from typing import Any

from toolexec._current import CurrentCall
from toolexec._errors import Interrupt
from toolexec._return import Status


class Outcome:
    """How one attempt at a call ended.

    A strategy delivers one; the engine adds id, name and times, traces it and publishes the Return.

    Attributes:
        status: As in ``Return.status``.
        value: The tool's value when ``ok``; else the in-band form where the worker has made it
            already (a child process formats its traceback where the frames are), or None.
        exception: What was raised.
        reason: Why it was stopped.
        output: What the tool printed, where captured.
        abandoned: Whether a worker was left behind.
    """

    __slots__ = ("abandoned", "exception", "output", "reason", "status", "value")

    def __init__(
        self,
        status: Status,
        value: Any = None,
        *,
        exception: BaseException | None = None,
        reason: str | None = None,
        output: str | None = None,
        abandoned: bool = False,
    ) -> None:
        self.status: Status = status
        self.value = value
        self.exception = exception
        self.reason = reason
        self.output = output
        self.abandoned = abandoned


def stopped(call: CurrentCall) -> Outcome:
    """The outcome of a call that ended because it was asked to."""
    return Outcome("cancelled", exception=call.interrupt(), reason=call.reason)


def failed(call: CurrentCall, exc: BaseException) -> Outcome:
    """The outcome of a body that raised; an Interrupt counts as such only if it was asked for."""
    if call.asked and issubclass(type(exc), Interrupt):
        return Outcome("cancelled", exception=exc, reason=call.reason)
    return Outcome("raised", exception=exc)
