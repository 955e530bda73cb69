"""Running a tool's own hook, once, after an interrupt."""

from __future__ import annotations

import inspect
import logging
from typing import Any

from toolexec._call_state import CallState
from toolexec._ctrl_c import pressed
from toolexec._loop_kind import LoopKind, is_cancellation
from toolexec._own_loop import run_to_end
from toolexec._runner import has_hook, interrupt_runner

_log = logging.getLogger("toolexec")


def run_hook(call: CallState, loop: LoopKind = "asyncio") -> bool:
    """Run the hook of a call's runner on this thread, unless somebody has; what it raises is logged.

    An async one gets a loop of its own.

    Returns:
        Whether it was run here.
    """
    if not take_hook(call):
        return False
    run_taken_hook(call, loop)
    return True


def run_taken_hook(call: CallState, loop: LoopKind = "asyncio") -> None:
    """:func:`run_hook`, for who has taken it."""
    try:
        result: object = interrupt_runner(call.runner)
        if inspect.isawaitable(result):
            hook = CallState(call.id, call.name, call.clock)
            outcome = run_to_end(result, hook, loop)
            if outcome.exception is not None:
                raise outcome.exception
    except BaseException as exc:
        if pressed(exc) is not None:
            raise
        _note(call, exc)


async def arun_hook(call: CallState) -> None:
    """:func:`run_hook` in the running loop; raises only its own cancellation, and a person's Ctrl-C."""
    if not take_hook(call):
        return
    try:
        result: Any = interrupt_runner(call.runner)
        if inspect.isawaitable(result):
            await result
    except BaseException as exc:  # SystemExit too: it must not end the loop
        if (ctrl_c := pressed(exc)) is not None:
            raise ctrl_c from None
        if is_cancellation(exc) or issubclass(type(exc), GeneratorExit):  # or the loop was closed under it
            raise
        _note(call, exc)


def take_hook(call: CallState) -> bool:
    """Whether the caller is the one to run the hook, and there is one."""
    return has_hook(call.runner) and call.take_hook()


def _note(call: CallState, exc: BaseException) -> None:
    _log.warning("toolexec: the hook of tool %r raised", call.name, exc_info=exc)
