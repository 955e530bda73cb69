"""Claims: of several who would start a call at once one does, and the others leave it to that one.

A claim is made behind the Task whose Return it is to replace, which was no more than deferred; the first
one behind nobody.  There is one behind each, so who comes late loses, however late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolexec._deferred import is_deferred

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._task import Task


def claim(function: Function, task: Task, behind: Task | None, *, once: bool) -> bool:
    """Claim a call for a Task; whether it is to have it.  Takes no lock: a Ctrl-C may cut it anywhere.

    Args:
        function: The call.
        task: The Task.
        behind: Whose Return it is to replace.
        once: Whether it is left to whoever has it.  (Who names one call, and starts it, means it.)
    """
    replaced = function._return
    if replaced is not None:
        task._replaced = replaced
    while vars(function if behind is None else behind).setdefault("_claim", task) is not task:
        if once:
            return False
        behind = newest(function)
    if replaced is not None and is_deferred(function):
        function._return = None
    function._claimed = True
    function._task = task  # last: who sees it must not take the Return that is replaced for its own
    return True


def newest(function: Function) -> Task | None:
    """The Task that has claimed a call last, perhaps at this moment."""
    last: Task | None = None
    while (task := _claim_behind(function, last)) is not None:
        last = task
    return function._task if last is None else last


def unclaim(function: Function, task: Task) -> None:
    """The Task never starts: the call is as it was before, as far as it was claimed at all."""
    behind: Task | None = None
    while (there := _claim_behind(function, behind)) is not None:
        if there is not task:
            behind = there
            continue
        if function._task is task:
            function._task = behind
        holder, after = vars(function if behind is None else behind), _claim_behind(function, task)
        if after is None:
            del holder["_claim"]
        else:
            holder["_claim"] = after
        function._claimed = _claim_behind(function, None) is not None
        if function._return is None:
            function._return = task._replaced
        return


def _claim_behind(function: Function, behind: Task | None) -> Task | None:
    task: Task | None = vars(function if behind is None else behind).get("_claim")
    return task
