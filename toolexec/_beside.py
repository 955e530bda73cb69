"""Running the user's code beside what must not block on it."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from typing import Any

# Threads of a subinterpreter, which threading does not know.
_unknown: list[Any] = []


def run_beside(call: Callable[[], object], name: str) -> None:
    """Run ``call`` on a thread that does not hold up the program's end.

    Here and now, where none can be started: the program is on its way out.

    Args:
        call: Has to see to what it raises.
        name: Tells what the thread is for.
    """
    try:
        start_beside(call, name)
    except RuntimeError:
        call()


def start_beside(call: Callable[[], object], name: str) -> None:
    """:func:`run_beside`, where it must not be run here.

    Raises:
        RuntimeError: No thread can be started.
    """
    try:
        threading.Thread(target=call, name=f"toolexec-{name}", daemon=True).start()
    except RuntimeError:
        if sys.version_info < (3, 13):
            raise
        # A subinterpreter has no daemon threads; but it waits only for those that threading knows.
        _unknown.append(_thread.start_joinable_thread(call, daemon=True))
        for thread in _unknown[:]:
            if thread.is_done():
                try:
                    _unknown.remove(thread)
                except ValueError:  # another thread was faster
                    continue
                thread.join()


def join_beside() -> None:
    """In a subinterpreter: wait until what was run beside has ended, and its threads with it.  Without a bound."""
    while True:
        try:
            thread = _unknown.pop()
        except IndexError:
            return
        thread.join()
