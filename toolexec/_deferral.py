"""Deferral: calls that were put off, and which of them somebody settles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from toolexec._deferred import is_deferred, the_deferred
from toolexec._errors import ToolexecError
from toolexec._function import Function
from toolexec._functions import Functions
from toolexec._outcome import Outcome
from toolexec._return import cancelled_form

if TYPE_CHECKING:
    from toolexec._group import Group
    from toolexec._return import Return
    from toolexec._task import Task


class Deferrals:
    """What a Context has for it; no part of its API by itself."""

    if TYPE_CHECKING:

        def _calls(self) -> Iterable[Function]: ...
        def _open(self, functions: Sequence[Function], strategy: Any = None, **options: Any) -> Group: ...

    @property
    def deferred(self) -> Functions:
        """The calls that an intercept or ``on_confirm`` has put off, and nobody has settled, in call order."""
        return Functions((function for function in self._calls() if is_deferred(function)), self._open)

    def approve(self, call: str | Function, *, strategy: Any = None, timeout: float | None = None) -> Task:
        """Start a deferred call; nobody is asked about it again.

        Its ``deferred`` Return is no more; ``wait`` and ``run`` give the new one.

        Args:
            call: Its id; or the call, where several have one id, or it belongs to no response.
            strategy: For a tool that has none of its own; the Context's by default.
            timeout: Seconds the call has, from the start of its body, beside its tool's own limit.

        Raises:
            ToolexecError: No call of this id is deferred, or not any more; nothing was started.
        """
        return self._settle(call, strategy, decided=True, call_timeout=timeout)

    def deny(self, call: str | Function, reason: str = "this call is not allowed", **extra: Any) -> Return:
        """Answer a deferred call: it is not to run, its status is ``denied``.

        Args:
            call: As for ``approve``.
            reason: Why, in words fit for the model.
            **extra: What else the answer says.

        Raises:
            ToolexecError: As for ``approve``.
        """
        form = cancelled_form(reason, **{**extra, "denied": True})
        return self._settle(call, None, answer=Outcome("denied", form, reason=reason)).wait()

    def answer(self, call: str | Function, value: Any) -> Return:
        """Answer a deferred call with a value, as if its tool had returned that.

        Args:
            call: As for ``approve``.
            value: The value.

        Raises:
            ToolexecError: As for ``approve``.
        """
        return self._settle(call, None, answer=Outcome("ok", value)).wait()

    def _settle(self, call: str | Function, strategy: Any, **options: Any) -> Task:
        if not isinstance(call, str | Function):
            raise TypeError(f"{call!r} is no call; it takes an id, which is a str, or one of context.deferred")
        function = the_deferred(list(self._calls()), call)
        behind = function._task
        the_deferred((), function)  # looked at again: another's Task is there only after this Return was taken away
        tasks = self._open([function], strategy, once=True, behind=behind, **options).tasks
        if not tasks:
            raise ToolexecError(f"the call {function!r} was settled by somebody else at this moment")
        return tasks[0]
