"""Gate: a tool stops at it until the test has seen it there and lets it pass."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Self

from toolexec.testing import _fifo
from toolexec.testing._fifo import TIMEOUT_S


class Gate:
    """A place in a tool's body where it waits for the test.

    It is a path and nothing else: so it works alike for tools on threads, in loops, in other
    processes and in other interpreters, and can be pickled, captured by a closure, or sent to a
    tool as text.

    The test makes it, by ``with Gate(path) as gate``, looks who has come, and opens it.  The tool
    uses ``Gate(path)`` without ``with``.  Every wait here ends in an error after ``timeout``
    seconds, and a test that leaves the block releases, by an error too, whoever still stands there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Name a gate; nothing is made.

        Args:
            path: A folder that does not exist yet.
        """
        self.path: str = os.fspath(path)
        self._arrivals = f"{self.path}/arrivals"
        self._door = f"{self.path}/door"
        self._held: list[int] = []
        self._unread = b""
        self._reached: list[str] = []

    def __reduce__(self) -> Any:
        return Gate, (self.path,)

    # The test's side

    def __enter__(self) -> Self:
        Path(self.path).mkdir()
        self._held = [_fifo.make(self._arrivals), _fifo.make(self._door)]
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the gate; who still stands there, and who comes later, gets an error.  A second call does nothing."""
        while self._held:
            os.close(self._held.pop())
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def reached(self) -> tuple[str, ...]:
        """The labels of the calls that have been seen here, in the order they came."""
        return tuple(self._reached)

    def wait_until_reached(self, count: int = 1, *, timeout: float = TIMEOUT_S) -> None:
        """Block until ``count`` calls in all have come.

        Raises:
            TimeoutError: Fewer came; the text names them.
        """
        while len(self._reached) < count:
            _fifo.wait_readable(self._held[0], timeout, self._waiting_for(count))
            self._read()

    async def until_reached(self, count: int = 1, *, timeout: float = TIMEOUT_S) -> None:
        """:meth:`wait_until_reached` from a task of asyncio or trio."""
        while len(self._reached) < count:
            await _fifo.await_readable(self._held[0], timeout, self._waiting_for(count))
            self._read()

    def open(self) -> None:
        """Let everybody pass, those who stand here and those who will come.  A second call does nothing."""
        _fifo.ring(self._door)

    def _read(self) -> None:
        *lines, self._unread = (self._unread + os.read(self._held[0], 65536)).split(b"\n")
        self._reached.extend(line.decode() for line in lines)

    def _waiting_for(self, count: int) -> str:
        return f"waiting for {count} calls at a gate, which {len(self._reached)} have reached: {self._reached}"

    # The tool's side

    def arrive(self, label: str = "") -> None:
        """Show the test that somebody is here, without waiting.

        Args:
            label: Who; the test finds it in ``reached``.
        """
        fd = os.open(self._arrivals, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(fd, f"{label}\n".encode())  # so short that it is written as a whole
        finally:
            os.close(fd)

    @property
    def is_open(self) -> bool:
        """Whether the test has opened it; holds nothing meanwhile, and so is for who may be stopped for good anywhere.

        Raises:
            FileNotFoundError: The test has left.
        """
        with _fifo.opened(self._door) as door:
            return _fifo.is_readable(door)

    def pass_through(self, label: str = "", *, timeout: float = TIMEOUT_S) -> None:
        """Arrive, and block this thread until the test opens the gate."""
        # Opened first: whoever is interrupted once it was seen here leaves no descriptor half-way in its hands.
        with _fifo.opened(self._door) as door:
            self.arrive(label)
            _fifo.wait_readable(door, timeout, f"standing at a gate that nobody opened ({label!r})")

    async def apass_through(self, label: str = "", *, timeout: float = TIMEOUT_S) -> None:
        """Arrive, and wait until the test opens the gate, without blocking the loop (asyncio or trio)."""
        with _fifo.opened(self._door) as door:
            self.arrive(label)
            await _fifo.await_readable(door, timeout, f"standing at a gate that nobody opened ({label!r})")
