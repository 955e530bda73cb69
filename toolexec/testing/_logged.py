"""What the library logs while it does what a test wants to see."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def logged() -> Generator[list[str]]:
    """The warnings of ``toolexec`` meanwhile, as texts; they do not go to stderr where nobody handles them."""
    texts: list[str] = []
    here = logging.getLogger("toolexec")

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    keep = Keep(logging.WARNING)
    here.addHandler(keep)
    try:
        yield texts
    finally:
        here.removeHandler(keep)
