"""Telling a person's Ctrl-C from a KeyboardInterrupt that is a tool's own."""

from __future__ import annotations

import threading
from typing import cast

from toolexec._leaves import leaves

REASON = "interrupted by Ctrl-C"


def pressed(exc: BaseException | None) -> KeyboardInterrupt | None:
    """The KeyboardInterrupt that ended a body on this thread, if a person's Ctrl-C raises it here; else None.

    Python raises that on the main thread alone.  A nursery or a task group may have wrapped it.
    """
    if exc is None or issubclass(type(exc), Exception):
        return None
    if threading.get_ident() != threading.main_thread().ident:
        return None
    for leaf in leaves(exc):
        if issubclass(type(leaf), KeyboardInterrupt):
            return cast("KeyboardInterrupt", leaf)
    return None
