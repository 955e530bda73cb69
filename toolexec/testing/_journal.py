"""Journal: what happened in which order, written from wherever tools run."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Journal:
    """A list of lines that calls append to, in one order for all threads, processes and interpreters.

    That something did *not* happen before something else is shown by writing both down and
    comparing.  As a :class:`Gate` it is a path and nothing else; the file is made by the first line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str = os.fspath(path)

    def __reduce__(self) -> Any:
        return Journal, (self.path,)

    def write(self, line: str) -> None:
        """Append one short line.  Any thread, process or interpreter; never blocks."""
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    @contextmanager
    def span(self, label: str) -> Generator[None]:
        """Write ``+label`` before the block and ``-label`` after it."""
        self.write(f"+{label}")
        try:
            yield
        finally:
            self.write(f"-{label}")

    def lines(self) -> list[str]:
        """The lines so far."""
        try:
            return Path(self.path).read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []

    def most_at_once(self) -> int:
        """How many spans were open at the same time, at the most."""
        depth = most = 0
        for line in self.lines():
            depth += {"+": 1, "-": -1}.get(line[:1], 0)
            most = max(most, depth)
        return most
