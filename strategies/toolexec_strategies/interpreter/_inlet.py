"""The host's end of a pipe into an interpreter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable


class Inlet:
    """A descriptor that one thread may close while another writes to it.

    It is closed once nobody writes any more: the number of a closed descriptor may be another's by
    then, who would get what was meant for the interpreter.  Takes no lock, and closing never waits.

    Args:
        fd: The descriptor, which is closed here and nowhere else.
    """

    __slots__ = ("_closed", "_fd", "_free")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._free = [1]  # who writes has taken this out; who closes the descriptor, for good
        self._closed = False

    def write(self, write: Callable[[int], object]) -> bool:
        """Call ``write`` with the descriptor, after those who do so already; False when it is closed."""
        while True:
            try:
                self._free.pop()
                break
            except IndexError:
                if self._closed:
                    return False
                time.sleep(0)
        try:
            write(self._fd)
        finally:
            self._free.append(1)
            if self._closed:
                self._close()
        return True

    def close(self) -> None:
        """Close it, now or when the last write is through; any number of times."""
        self._closed = True
        self._close()

    def _close(self) -> None:
        try:
            self._free.pop()
        except IndexError:  # closed already, or it will be by who writes
            return
        os.close(self._fd)
