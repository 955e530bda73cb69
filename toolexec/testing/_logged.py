"""What the library logs while it does what a test wants to see."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

# What the library logs from where nothing may block, it logs on a thread of this name.
_WARNS = "toolexec-warning"

# How long a warning may take.  A guess, for a machine that is busy with something else; it takes longer only where a
# handler hangs.
_WARNED_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.001


@contextmanager
def logged() -> Generator[list[str]]:
    """The warnings and errors of ``toolexec`` meanwhile, as texts, kept from everybody else: they are expected."""
    texts: list[str] = []
    here = logging.getLogger("toolexec")

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    keep = Keep(logging.WARNING)
    propagates = here.propagate
    here.addHandler(keep)
    here.propagate = False
    try:
        yield texts
    finally:
        until = time.monotonic() + _WARNED_WITHIN_S
        while any(thread.name == _WARNS for thread in threading.enumerate()) and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)  # not join: it refuses a thread that is just being started
        here.propagate = propagates
        here.removeHandler(keep)
