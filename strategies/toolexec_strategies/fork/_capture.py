"""What a forked call prints, as its host takes it down: read as it comes, kept in part."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Callable
from typing import Final

# Of what a call prints, in characters, half of it from the beginning and half from the end: where it
# says what it is about to do, and where it says how that failed.  What a model can use of a text is
# less; for more there are files.
KEPT: Final = 65_536

_CHUNK_BYTES: Final = 65_536  # what a pipe holds, mostly

# The most a pipe can hold, unless root has allowed more: what was written before the child ended is
# within so much.  A process that left its group may go on writing for ever.
_REST_BYTES: Final = 1 << 20


class Capture:
    """The output of one call.

    Args:
        fd: What to read it from; does not block.
        printed: Called with each piece of it.
    """

    def __init__(self, fd: int, printed: Callable[[str], object]) -> None:
        self._fd = fd
        self._printed = printed
        # Its state holds the beginning of a character whose end is still to come.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head: list[str] = []
        self._room = KEPT // 2  # in the head
        self._tail: deque[str] = deque()
        self._in_tail = 0
        self._cut = 0

    def read(self) -> bool:
        """Take down what is there; False when nobody can write any more."""
        return self._read() != 0

    def rest(self) -> str:
        """Take down what the call has left in the pipe, and give all that was kept."""
        left = _REST_BYTES
        while left > 0 and (count := self._read()):
            left -= count
        self._add(self._decoder.decode(b"", final=True))
        return self._text()

    def _read(self) -> int | None:
        try:
            data = os.read(self._fd, _CHUNK_BYTES)
        except BlockingIOError:
            return None
        self._add(self._decoder.decode(data))
        return len(data)

    def _add(self, text: str) -> None:
        if not text:
            return
        self._printed(text)
        if self._room:
            self._head.append(text[: self._room])
            text = text[self._room :]
            self._room -= len(self._head[-1])
        if text:
            self._tail.append(text)
            self._in_tail += len(text)
            while self._in_tail - len(self._tail[0]) >= KEPT // 2:
                self._drop(len(self._tail.popleft()))

    def _drop(self, count: int) -> None:
        self._in_tail -= count
        self._cut += count

    def _text(self) -> str:
        tail = "".join(self._tail)
        over = max(0, len(tail) - KEPT // 2)
        cut = self._cut + over
        middle = f"\n[... {cut} characters left out ...]\n" if cut else ""
        return "".join(self._head) + middle + tail[over:]
