"""Warnings from where nothing may block, not even what the user has made of logging."""

from __future__ import annotations

import logging
import threading

from toolexec._beside import run_beside

_log = logging.getLogger("toolexec")

# So that as a rule a warning is there before what it is about, on a busy machine too.  A guess.
_SAID_S = 0.2

# Warnings that some handler has not let through yet.
_unsaid: list[object] = []


def warn_beside(text: str, *args: object) -> None:
    """Log a warning on a helper thread, and wait for it for a moment at most.

    A tool that hangs in a handler holds the handler's lock; and that may be the very tool that is
    to be stopped here.  Behind a warning that hangs already, none is waited for.
    """
    said = threading.Lock()
    said.acquire()

    def say() -> None:
        try:
            _log.warning(text, *args)
        finally:
            _unsaid.remove(said)
            said.release()

    hangs = bool(_unsaid)
    _unsaid.append(said)
    run_beside(say, "warning")
    if not hangs:
        said.acquire(timeout=_SAID_S)
