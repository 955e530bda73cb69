"""In a child that may serve several calls: what one call leaves of itself in its process."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Final

from toolexec_strategies.fork import _platform

# Not asked for each time: that takes as long as all else here.
_SIGNALS: Final = tuple(int(number) for number in signal.valid_signals())

# What ``signal.getsignal`` calls, and then makes an enum of the answer: sixty times a call, that was a quarter of it.
_handler_of: Callable[[int], Any] = importlib.import_module("_signal").getsignal


class Traces:
    """The state of the process before its first call, and after each one that is wiped out."""

    def __init__(self) -> None:
        _platform.adopt_orphans()  # or what a tool's child starts and leaves would not be seen here
        self._environment = _environment()
        self._variables = dict(os.environ)
        self._umask = _umask()
        self._handlers = _handlers()

    def wiped_out(self) -> bool:
        """Undo what the call did to the process; False when something stays that only its end ends."""
        if threading.active_count() > 1 or _platform.thread_count() > 1 or _has_children():
            return False
        if _environment() != self._environment:
            for name in set(os.environ) - set(self._variables):
                del os.environ[name]
            os.environ.update(self._variables)
        os.umask(self._umask)
        for number, handler in self._handlers.items():
            if _handler_of(number) is not handler:
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
    return {number: _handler_of(number) for number in _SIGNALS}


def _environment() -> dict[Any, Any]:
    # As in _settings: its undecoded form, because decoding it takes longer than a short call.
    raw: Any = getattr(os.environ, "_data", os.environ)
    return dict(raw)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
