"""Rendezvous: calls that return only if they run at the same time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Self

from toolexec.testing import _fifo
from toolexec.testing._fifo import TIMEOUT_S


class Rendezvous:
    """A meeting of ``parties`` calls: nobody goes on before all have come.

    As a :class:`Gate` it is a path, works across every boundary, and is made by the test's ``with``.
    That calls overlap is shown by letting them meet; if they cannot, each fails after ``timeout``
    seconds.  It serves for one meeting.
    """

    def __init__(self, path: str | os.PathLike[str], parties: int) -> None:
        """Name a meeting; nothing is made.

        Args:
            path: A folder that does not exist yet.
            parties: How many calls have to come.
        """
        self.path: str = os.fspath(path)
        self.parties = parties
        self._arrivals = f"{self.path}/arrivals"
        self._door = f"{self.path}/door"
        self._held: list[int] = []

    def __reduce__(self) -> Any:
        return Rendezvous, (self.path, self.parties)

    def __enter__(self) -> Self:
        Path(self.path).mkdir()
        self._held = [_fifo.make(self._door)]
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it; who still waits there gets an error.  A second call does nothing."""
        while self._held:
            os.close(self._held.pop())
        shutil.rmtree(self.path, ignore_errors=True)

    def meet(self, *, timeout: float = TIMEOUT_S) -> None:
        """Block this thread until all have come.

        Raises:
            TimeoutError: They did not; the text says how many did.
        """
        with _fifo.opened(self._door) as door:
            self._arrive()
            _fifo.wait_readable(door, timeout, self._alone())

    async def ameet(self, *, timeout: float = TIMEOUT_S) -> None:
        """:meth:`meet` without blocking the loop (asyncio or trio)."""
        with _fifo.opened(self._door) as door:
            self._arrive()
            await _fifo.await_readable(door, timeout, self._alone())

    def _arrive(self) -> None:
        # Each appends first and only then counts: so the last one, at least, counts all.
        fd = os.open(self._arrivals, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, b".")
            if os.fstat(fd).st_size >= self.parties:
                _fifo.ring(self._door)
        finally:
            os.close(fd)

    def _alone(self) -> str:
        return f"waiting for others at a meeting of {self.parties}: they do not run at the same time"
