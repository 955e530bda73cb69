"""Which calls are deferred: put off by who supervises them, until somebody settles them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolexec._errors import ToolexecError

if TYPE_CHECKING:
    from toolexec._by_hand import ByHand
    from toolexec._function import Function


def is_deferred(function: Function | ByHand) -> bool:
    """Whether a call waits for somebody to settle it."""
    return function._return is not None and function._return.status == "deferred"


def the_deferred(calls: Iterable[Function], which: str | Function) -> Function:
    """The deferred call that is meant.

    Args:
        calls: Those to look among.
        which: Its id, or itself, which may be another's.

    Raises:
        ToolexecError: There is no such one, or there are two.
    """
    if not isinstance(which, str):
        if is_deferred(which):
            return which
        raise ToolexecError(f"the call {which!r} is not deferred{_stands(which)}")
    of_that_id = [function for function in calls if function.id == which]
    deferred = [function for function in of_that_id if is_deferred(function)]
    if len(deferred) == 1:
        return deferred[0]
    if deferred:
        raise ToolexecError(
            f"{len(deferred)} deferred calls have the id {which!r}; give the one that you mean, out of context.deferred"
        )
    if of_that_id:
        raise ToolexecError(f"the call with the id {which!r} is not deferred{_stands(of_that_id[-1])}")
    waiting = ids_of(function for function in calls if is_deferred(function))
    raise ToolexecError(
        f"no call has the id {which!r}; deferred are: {waiting or 'none'} (a submitted one is known only while it is)"
    )


def ids_of(functions: Iterable[Function]) -> str:
    """Calls by their ids, for a message."""
    return ", ".join(repr(function.id if function.id is not None else function.name) for function in functions)


def _stands(function: Function) -> str:
    if function._return is not None:
        return f": its Return is {function._return.status!r}"
    return ": it runs" if function._claimed else ": it has not been started"
