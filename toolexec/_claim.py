"""Claims: of several who would start a call at once one does, and the others leave it to that one.

A claim is made behind the Task whose Return it is to replace, which was no more than deferred; the first
one behind nobody.  There is one behind each, so who comes late loses, however late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolexec._deferred import is_deferred

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._return import Return
    from toolexec._task import Task

Claims = dict["Task | None", "tuple[Task, Return | None]"]


def claim(function: Function, task: Task, behind: Task | None, *, once: bool) -> bool:
    """Claim a call for a Task; whether it is to have it.  Takes no lock: a Ctrl-C may cut it anywhere.

    Args:
        function: The call.
        task: The Task.
        behind: Whose Return it is to replace.
        once: Whether it is left to whoever has it.  (Who names one call, and starts it, means it.)
    """
    mine = (task, function._return)
    while function._claims.setdefault(behind, mine) is not mine:
        if once:
            return False
        behind = newest(function)
    if mine[1] is not None and is_deferred(function):
        function._return = None
    function._claimed = True
    function._task = task  # last: who sees it must not take the Return that is replaced for its own
    return True


def newest(function: Function) -> Task | None:
    """The Task that has claimed a call last, perhaps at this moment."""
    claims = list(function._claims.values())
    return claims[-1][0] if claims else function._task


def unclaim(function: Function, task: Task) -> None:
    """The Task never starts: the call is as it was before, as far as it was claimed at all."""
    for behind, (whose, put_off) in list(function._claims.items()):
        if whose is task:
            if function._task is task:
                function._task = behind
            del function._claims[behind]
            function._claimed = bool(function._claims)
            if function._return is None:
                function._return = put_off
