"""Deferral: calls that were put off, and which of them somebody settles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from toolexec._call_state import check_reason
from toolexec._deferred import ids_of, is_deferred, the_deferred
from toolexec._errors import ToolexecError
from toolexec._function import Function
from toolexec._functions import Functions
from toolexec._launch import launch_deferred
from toolexec._outcome import Outcome
from toolexec._return import Return, cancelled_form
from toolexec._task import Task

if TYPE_CHECKING:
    from toolexec._group import Group


class Deferrals:
    """What a Context has for it; no part of its API by itself."""

    _put_off: dict[int, Function]  # by identity
    _launching: dict[str, Any]

    if TYPE_CHECKING:

        def _calls(self) -> Iterable[Function]: ...
        def _choice(self, function: Function, strategy: Any = None) -> Any: ...
        def _open(self, functions: Sequence[Function], strategy: Any = None, **options: Any) -> Group: ...

    @property
    def deferred(self) -> Functions:
        """The calls that an intercept or ``on_confirm`` has put off, and nobody has settled.

        Those of responses in call order, then those that were given to ``submit``, in the order they were put off.
        """
        return Functions((function for function in self._deferrable() if is_deferred(function)), self._open)

    def approve(self, call: str | Function, *, strategy: Any = None, timeout: float | None = None) -> Task:
        """Start a deferred call; nobody is asked about it again.

        Its ``deferred`` Return is no more; ``wait`` and ``run`` give the new one.

        Args:
            call: Its id; or the call, where several have one id.
            strategy: For a tool that has none of its own; the Context's by default.
            timeout: Seconds the call has, from the start of its body, beside its tool's own limit.

        Raises:
            ToolexecError: No call of this id is deferred, or not any more, or it is another Context's; nothing was
                started.
            TypeError: It is no call.
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
        check_reason(reason)
        form = cancelled_form(reason, **{**extra, "denied": True})
        return self._settle(call, None, answer=Outcome("denied", form, reason=reason)).wait()

    def answer(self, call: str | Function, value: Any) -> Return:
        """Answer a deferred call with a value, as if its tool had returned that.

        Args:
            call: As for ``approve``.
            value: The value.

        Raises:
            ToolexecError: As for ``approve``.
            TypeError: It is a Return, or ``DEFER``.
        """
        from toolexec._intercept import Defer  # few Contexts ever put a call off

        if isinstance(value, Return | Defer):
            raise TypeError(f"answer takes what the tool would have returned, not {value!r}; see also deny and approve")
        return self._settle(call, None, answer=Outcome("ok", value)).wait()

    def _settle(self, call: str | Function, strategy: Any, **options: Any) -> Task:
        if not isinstance(call, str | Function):
            hint = "; the call of a Task is its function" if isinstance(call, Task) else ""
            raise TypeError(f"{call!r} is no call; it takes an id, which is a str, or one of context.deferred{hint}")
        known = list(self._deferrable())
        if isinstance(call, Function) and not any(call is function for function in known):
            whose = call._launching.get("context")
            if whose is not None and whose is not self:
                ours = ids_of(self.deferred) or "none"
                raise ToolexecError(
                    f"the call {call!r} is another Context's; it takes one of this one's deferred: {ours}"
                )
        function = the_deferred(known, call)
        return launch_deferred(function, self._choice(function, strategy), **self._launching, **options)

    def _deferrable(self) -> Iterator[Function]:
        """The calls that may be deferred: those of responses, and then what else was put off."""
        received = list(self._calls())
        yield from received
        known = {id(function) for function in received}
        yield from (function for function in self._submitted() if id(function) not in known)

    def _submitted(self) -> list[Function]:
        """What was put off, and has no other Return yet; calls of responses among them."""
        for key, function in list(self._put_off.items()):
            if function._return is not None and not is_deferred(function):
                self._put_off.pop(key, None)
        return list(self._put_off.values())

    def _note(self, function: Function) -> None:
        """A call was put off.  Whoever holds the others holds this one too: it may belong to no response."""
        self._submitted()  # lets go of what was settled: memory stays flat
        self._put_off[id(function)] = function
        if not function._launching:
            function._launching = self._launching  # settled by itself, it is this Context's all the same
