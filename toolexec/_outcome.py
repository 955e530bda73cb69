"""Outcome: what a worker hands back about one attempt, before the engine makes a Return of it."""

from __future__ import annotations

from typing import Any

from toolexec._call_state import CallState
from toolexec._ctrl_c import pressed
from toolexec._errors import DeadlineExceeded, Interrupt
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
        self.value: Any = value
        self.exception: BaseException | None = exception
        self.reason: str | None = reason
        self.output: str | None = output
        self.abandoned: bool = abandoned


def stopped(call: CallState) -> Outcome:
    """The outcome of a call that ended because it was asked to."""
    return Outcome("cancelled", exception=call.interrupt(), reason=call.reason)


def failed(call: CallState, exc: BaseException) -> Outcome:
    """The outcome of a body that raised ``exc``.

    An Interrupt counts as such only if it was asked for: from this call, or from one around it, whose
    thread this body may share.  Where the call's own callback was told of the interrupt, to stop what
    the body blocks in, whatever leaves the body is its doing.
    """
    if issubclass(type(exc), Interrupt) and (asked := call.asked_around()) is not None:
        return Outcome("cancelled", exception=exc, reason=asked.reason)
    if call.asked and call.told and pressed(exc) is None:
        interrupt = call.interrupt()
        interrupt.__cause__ = exc
        return Outcome("cancelled", exception=interrupt, reason=call.reason)
    return Outcome("raised", exception=exc)


def out_of_time(call: CallState, outcome: Outcome) -> Outcome:
    """The outcome of a call whose limit of time was over before it ended; what it came to is dropped."""
    exceeded = DeadlineExceeded(call.reason)
    if outcome.exception is not None and not issubclass(type(outcome.exception), Interrupt):
        exceeded.__cause__ = outcome.exception
    return Outcome("timeout", exception=exceeded, output=outcome.output, abandoned=outcome.abandoned)
