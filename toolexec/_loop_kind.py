"""The kinds of event loop: which one runs here, and how it cancels."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

LoopKind = Literal["asyncio", "trio"]


def running_loop() -> LoopKind | None:
    """The kind of event loop that is running on this thread, without importing either library.

    trio is asked first: in guest mode asyncio reports a running loop inside trio's tasks too.
    """
    # Another thread may be in the middle of importing either (the first async call of a process does,
    # on its own thread): what is not there yet runs no loop.
    lowlevel = getattr(sys.modules.get("trio"), "lowlevel", None)
    in_trio_task = getattr(lowlevel, "in_trio_task", None)
    if in_trio_task is not None and in_trio_task():
        return "trio"
    get_running_loop = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    if get_running_loop is not None and get_running_loop() is not None:
        return "asyncio"
    return None


def is_cancellation(exc: BaseException) -> bool:
    """Whether it is what the loop that runs here raises into a task to cancel it."""
    kind = running_loop()
    if kind is None:
        return False
    cancelled = sys.modules[kind].CancelledError if kind == "asyncio" else sys.modules[kind].Cancelled
    return issubclass(type(exc), cancelled)


def shield() -> AbstractContextManager[Any]:
    """What keeps a cancelled scope, which raises anew at every await, from cutting what is awaited inside.

    Scopes are trio's, and under asyncio anyio's, in which Starlette and others run what they call.  A cancellation of
    asyncio's own comes once, and passes through when somebody asks again.
    """
    library = sys.modules.get("trio" if running_loop() == "trio" else "anyio")
    scope: Any = getattr(library, "CancelScope", None)  # None while another thread still imports it
    return nullcontext() if scope is None else scope(shield=True)
