"""In a child that may serve several calls: what one call leaves of itself in its process."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from toolexec_strategies.fork import _platform


class Traces:
    """The state of the process before a call."""

    def __init__(self) -> None:
        _platform.adopt_orphans()  # or what a tool's child starts and leaves would not be seen here
        self._environment = dict(os.environ)
        self._umask = _umask()
        self._handlers = _handlers()

    def wiped_out(self) -> bool:
        """Undo what the call did to the process; False when something stays that only its end ends."""
        if threading.active_count() > 1 or _platform.thread_count() > 1 or _has_children():
            return False
        if dict(os.environ) != self._environment:
            for name in set(os.environ) - set(self._environment):
                del os.environ[name]
            os.environ.update(self._environment)
        os.umask(self._umask)
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:
                if handler is None:  # not set by Python, and so not to be set again by it
                    return False
                signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return True


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _handlers() -> dict[int, Any]:
    return {int(number): signal.getsignal(number) for number in signal.valid_signals()}


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
