"""Running the user's code beside what must not block on it."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable


def run_beside(call: Callable[[], object], name: str) -> None:
    """Run ``call`` on a thread that does not hold up the program's end.

    Here and now, where none can be started: the program is on its way out.

    Args:
        call: Has to see to what it raises.
        name: Tells what the thread is for.
    """
    try:
        threading.Thread(target=call, name=f"toolexec-{name}", daemon=True).start()
    except RuntimeError:
        try:
            # A subinterpreter has no daemon threads; but it waits only for those that threading knows.
            _thread.start_new_thread(call, ())
        except RuntimeError:
            call()
