"""What the library logs while it does what a test wants to see."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


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
        here.propagate = propagates
        here.removeHandler(keep)
