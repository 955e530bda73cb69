"""Answering a call by hand: Returns that no tool has made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from toolexec._deferred import is_deferred
from toolexec._return import Return, cancelled_form, error_form

if TYPE_CHECKING:
    from toolexec._outcome import Outcome
    from toolexec._task import Task


class ByHand:
    """What a Function has for it."""

    __slots__ = ("_ahead", "_cancelled", "_claimed", "_refusal", "_return", "_task")

    _ahead: bool  # started before its response had ended, and not yet in the Group of that
    _cancelled: bool
    _claimed: bool
    _refusal: Return  # the last that was made by hand; not there before
    _return: Return | None
    _task: Task | None

    if TYPE_CHECKING:

        @property
        def id(self) -> str | None: ...
        @property
        def name(self) -> str: ...
        def _settle_deferred(self, answer: Outcome) -> Return: ...

    def return_(self, value: Any) -> Return:
        """A Return of this call with ``value``; it settles nothing by itself, see ``Context.record`` and ``answer``."""
        return Return(id=self.id, name=self.name, value=value)

    def error(self, exc: BaseException, **extra: Any) -> Return:
        """The in-band error Return for ``exc``."""
        value = error_form(exc, **extra)
        return Return(id=self.id, name=self.name, value=value, status="raised", exception=exc)

    def cancel(self, reason: str = "function call cancelled", **extra: Any) -> Return:
        """A Return that says the call was cancelled; the call is no longer pending.

        One in flight is interrupted as well; whichever answer comes first is the call's.  One that is
        deferred is settled: this is its Return, and nobody can approve it any more.

        Raises:
            ToolexecError: It was deferred, and somebody else has settled it at this moment.
        """
        return self._answer_cancelled(reason, "cancelled", **extra)

    def _answer_cancelled(self, reason: str, status: Literal["cancelled", "denied", "budget"], **extra: Any) -> Return:
        from toolexec._call_state import check_reason  # there is a call, so it is loaded: declaring does without

        value = cancelled_form(check_reason(reason), **extra)
        if is_deferred(self):
            from toolexec._outcome import Outcome  # likewise

            return self._settle_deferred(Outcome(status, value, reason=reason))
        self._cancelled = True
        if self._task is not None and self._task.alive and not self._task._is_decided_here():
            self._task.interrupt(reason)
        ret = Return(id=self.id, name=self.name, value=value, status=status, reason=reason)
        self._refusal = ret
        if not self._claimed and self._return is None:
            self._return = ret
        return ret

    def deny(self, reason: str = "this call is not allowed", **extra: Any) -> Return:
        """A Return that says the call was not allowed, for an intercept; the call is no longer pending.

        One that is deferred is settled, as by ``Context.deny``.

        Raises:
            ToolexecError: As for ``cancel``.
        """
        return self._answer_cancelled(reason, "denied", **{**extra, "denied": True})

    def unavailable(self) -> Return:
        """The in-band answer to a call of a tool that is not there."""
        value = {"error": True, "type": "NoSuchToolError", "message": "tool not found"}
        return Return(id=self.id, name=self.name, value=value, status="unknown_tool")

    def budget_spent(self) -> Return:
        """The in-band answer that says the model makes too many calls; the call is no longer pending.

        One that is deferred is settled.

        Raises:
            ToolexecError: As for ``cancel``.
        """
        return self._answer_cancelled(
            "you are making too many tool calls",
            "budget",
            action=["stop requesting tool calls"],
            advice=["produce a response from tool calls already made", "temporary error that resets on the next turn"],
        )
