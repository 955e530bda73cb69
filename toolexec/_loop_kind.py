"""The kinds of event loop, and which one runs here."""

from __future__ import annotations

import sys
from typing import Literal

LoopKind = Literal["asyncio", "trio"]


def running_loop() -> LoopKind | None:
    """The kind of event loop that is running on this thread, without importing either library.

    trio is asked first: in guest mode asyncio reports a running loop inside trio's tasks too.
    """
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return "trio"
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return "asyncio"
    return None
