"""Supervision: what a Context lets run, and on what conditions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolexec._budget import Budget, Spending
from toolexec._errors import DeclarationError
from toolexec._intercept import check_intercept
from toolexec._json import class_name, is_object
from toolexec._loop_guard import LoopGuard
from toolexec._outcome import Outcome
from toolexec._retry import Retry
from toolexec._return import cancelled_form
from toolexec._runner import is_async

if TYPE_CHECKING:
    from toolexec._function import Function

_log = logging.getLogger("toolexec")


class Supervision:
    """The options of a Context that have a say in its calls, and what a turn has used up of them.

    Attributes:
        intercept: See ``Intercept``.
        retry: See ``Retry``.
        on_confirm: Asked whether a call may run that has to be confirmed.
    """

    __slots__ = ("_budget", "_guard", "_names", "_predicates", "_spending", "intercept", "on_confirm", "retry")

    def __init__(
        self,
        intercept: Any,
        confirm: Any,
        on_confirm: Any,
        budget: Any,
        guard: Any,
        retry: Any,
        *,
        tools: Iterable[str],
        history: bool,
    ) -> None:
        self.intercept = check_intercept(intercept)
        known = list(tools)
        self._names, self._predicates = _confirmed(confirm, known)
        self.on_confirm: Callable[..., Any] | None = _callable_or_none("on_confirm", on_confirm)
        if on_confirm is not None and confirm is None:  # nobody would be asked, and every call would run
            raise DeclarationError("on_confirm is given without confirm, which says what calls it is asked about")
        self._budget = _budget(budget, known)
        self._guard = _guard(guard, history=history)
        if not isinstance(retry, Retry | None):
            raise DeclarationError(f"retry is {retry!r}; it takes tx.Retry(...)")
        self.retry: Retry | None = retry
        self.next_turn()

    def next_turn(self, spent: Mapping[str, int] | None = None) -> None:
        """The Budget begins anew, or with what was ``spent``."""
        self._spending = None if self._budget is None else Spending(self._budget, spent)

    @property
    def spent(self) -> dict[str, int]:
        """How many calls this turn has counted, by tool."""
        return {} if self._spending is None else dict(self._spending.spent)

    def warning(self, context: Any) -> str | None:
        """What the guard has to say about the calls of this turn."""
        if self._guard is None:
            return None
        try:
            said: object = self._guard.call(context)
        except Exception:  # noqa: BLE001 - the user's code; what cannot be judged does not run
            _log.exception("toolexec: the guard %s raised", type(self._guard).__name__)
            return "whether these calls may run could not be decided, so they did not run"
        return said if isinstance(said, str) else None if not said else "the guard has stopped these calls"

    def guards(self, context: Any, function: Function) -> bool:
        """Whether what the guard has to say is about this call too."""
        return not isinstance(self._guard, LoopGuard) or self._guard.concerns(context, function)

    def holds(self, context: Any, function: Function) -> bool:
        """Whether a call of a stream has to wait for its response's end, for the guard to see all of that."""
        return isinstance(self._guard, LoopGuard) and self._guard.may_warn(context, function)

    def refuses(self, function: Function, warning: str | None) -> Outcome | None:
        """Count a call; the outcome, if guard or Budget refuse it."""
        allowed = self._spending is None or self._spending.allows(function.name)
        if warning is not None:
            return Outcome("budget", cancelled_form(warning), reason=warning)
        if allowed:
            return None
        ret = function.budget_spent()
        return Outcome(ret.status, ret.value, reason=ret.reason)

    def may_ask_about(self, function: Function) -> bool:
        """Whether it could be that a call has to be confirmed."""
        return bool(self._predicates) or function.name in self._names

    def confirms(self, function: Function) -> bool:
        """Whether a call has to be confirmed; raises what a predicate raises."""
        return function.name in self._names or any(_judged(predicate, function) for predicate in self._predicates)


def _judged(predicate: Callable[[Function], object], function: Function) -> bool:
    said: Any = predicate(function)
    if inspect.isawaitable(said):  # which would count as yes, and never be awaited
        close = getattr(said, "close", None)
        if close is not None:
            close()
        raise TypeError(f"confirm has {predicate!r}, which gave a {class_name(said)}; what may be async is on_confirm")
    return True if said is None else bool(said)  # with a "return" forgotten, somebody is asked


def _confirmed(given: Any, tools: Sequence[str]) -> tuple[frozenset[str], Sequence[Callable[[Function], object]]]:
    takes = "it takes names of tools, and functions that judge a call"
    try:
        items: list[Any] = (
            [given] if isinstance(given, str) or callable(given) else list(() if given is None else given)
        )
    except TypeError:
        raise DeclarationError(f"confirm is {given!r}; {takes}") from None
    for item in items:
        if isinstance(item, str):
            _check_tool("confirm", item, tools)
        if not isinstance(item, str) and not callable(item):
            raise DeclarationError(f"confirm has {item!r}; {takes}")
        if not isinstance(item, str) and is_async(item):
            raise DeclarationError(f"confirm has {item!r}, which is async; what may be async is on_confirm")
    return frozenset(item for item in items if isinstance(item, str)), [item for item in items if callable(item)]


def _check_tool(option: str, name: str, tools: Sequence[str]) -> None:
    if name not in tools:  # a limit that is written wrong would be none
        import difflib  # only a mistake needs it

        close = difflib.get_close_matches(name, tools, 1)
        meant = f" (did you mean {close[0]!r}?)" if close else ""
        there = ", ".join(tools) or "none"
        raise DeclarationError(f"{option}: there is no tool named {name!r}{meant}; this Context has: {there}")


def _callable_or_none(option: str, given: Any) -> Any:
    if given is not None and not callable(given):
        raise DeclarationError(f"{option} is {given!r}; it takes a function, sync or async, which is given the call")
    return given


def _budget(given: Any, tools: Sequence[str]) -> Budget | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return Budget(per_turn=given)
    if not isinstance(given, Budget | None):
        raise DeclarationError(f"budget is {given!r}; it takes a number of calls a turn, or tx.Budget(...)")
    for name in () if given is None else given.per_tool:
        _check_tool("budget", name, tools)
    return given


def _guard(given: Any, *, history: bool) -> Any:
    made = _guard_of(given)
    if not history and isinstance(made, LoopGuard):
        raise DeclarationError(
            "guard: a LoopGuard looks at the calls of the turn, which history=False does not keep; leave one out"
        )
    return made


def _guard_of(given: Any) -> Any:
    if given is None or given is False:
        return None
    if given is True:
        return LoopGuard()
    if is_object(given):
        try:
            return LoopGuard(**given)
        except TypeError as exc:
            if isinstance(exc, DeclarationError):
                raise
            raise DeclarationError(f"guard is {given!r}; a dict takes what tx.LoopGuard does: threshold") from None
    if not callable(getattr(given, "call", None)) or isinstance(given, type):
        raise DeclarationError(
            f"guard is {given!r}; it takes True, tx.LoopGuard(...), or an object whose call(context) gives a warning"
        )
    if is_async(given.call):
        raise DeclarationError(
            f"guard is {given!r}, whose call is async; it is asked where the calls start, and answers at once"
        )
    return given
