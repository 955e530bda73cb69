"""What the library logs while it does what a test wants to see."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager

# What the library logs from where nothing may block, it logs on a thread of this name.
_WARNS = "toolexec-warning"

# How long a warning may take.  A guess, for a machine that is busy with something else; it takes longer only where a
# handler hangs.
_WARNED_WITHIN_S = 5.0


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
        for thread in threading.enumerate():
            if thread.name == _WARNS:
                thread.join(_WARNED_WITHIN_S)
        here.propagate = propagates
        here.removeHandler(keep)
