"""Running the user's code beside what must not block on it."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_beside(call: Callable[[], object], name: str) -> None:
    """Run ``call`` on a daemon thread of its own; here, where the program exits and starts no threads any more.

    Args:
        call: Has to see to what it raises.
        name: Tells what the thread is for.
    """
    try:
        threading.Thread(target=call, name=f"toolexec-{name}", daemon=True).start()
    except RuntimeError:
        call()
