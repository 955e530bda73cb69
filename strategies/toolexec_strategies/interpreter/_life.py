"""Making interpreters and closing them, up to the end of the program.

A program that ends closes what interpreters there are by itself, also those that something is stuck
in.  But two must not close the same one: it then hangs, or crashes (CPython 3.14 and 3.15).
"""

from __future__ import annotations

import atexit
import importlib
import os
import threading
import warnings
from typing import Any

# How long the end of the program waits for those that are being closed just then.  It takes a few
# milliseconds for one that no thread stands in; the rest is for a busy machine.
_CLOSE_S = 2.0

_open: set[Any] = set()
_closing: set[threading.Event] = set()
_exiting: list[bool] = []


def create() -> Any:
    """A new ``concurrent.interpreters.Interpreter``."""
    interpreters: Any = importlib.import_module("concurrent.interpreters")
    inside = interpreters.create()
    _open.add(inside)  # it is closed when nobody holds it any more, and must not be at the program's end
    return inside


def close(inside: Any) -> None:
    """Close one that no thread stands in, unless the program ends; never raises."""
    closed = threading.Event()
    # The order is half of a handshake: the end of the program sets its flag first, and looks for this then.
    _closing.add(closed)
    try:
        if not _exiting:
            inside.close()
            _open.discard(inside)
    except Exception:  # noqa: BLE001 - whatever holds it, nobody can do more
        pass
    finally:
        closed.set()
        _closing.discard(closed)


@atexit.register
def _at_exit() -> None:
    _exiting.append(True)
    for closed in list(_closing):
        closed.wait(_CLOSE_S)
    if _open:
        # Python's advice is to close them, which is not for the program to do: they are ours.
        warnings.filterwarnings("ignore", "remaining subinterpreters", RuntimeWarning)


if hasattr(os, "register_at_fork"):
    # The threads that were closing some did not come along into the child.
    os.register_at_fork(after_in_child=_closing.clear)
