"""Frames over a descriptor: one byte for the kind, eight for the length, then the payload."""

from __future__ import annotations

import io
import marshal
import os
import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

# The kinds of frames.  Host to worker:
SETTINGS: Final = b"E"  # sys.path and the like, as marshal; empty where nothing changed
REQUEST: Final = b"Q"  # a packed parcel
REQUEST_OF_MORE: Final = b"M"  # likewise, and another may follow
ASK: Final = b"A"  # stop, please
# Worker to host:
STARTED: Final = b"S"  # the body begins now
PROGRESS: Final = b"P"
LOG: Final = b"L"  # a log record
HEARD: Final = b"H"  # the ask has reached the call
RESULT: Final = b"R"  # a packed outcome; of that call nothing follows
RESULT_BYTES: Final = b"B"  # likewise, in place of it: a result that is bytes, as it is
READY: Final = b"Y"  # another request may come

_KINDS: Final = (
    SETTINGS + REQUEST + REQUEST_OF_MORE + ASK + STARTED + PROGRESS + LOG + HEARD + RESULT + RESULT_BYTES + READY
)
_HEADER: Final = struct.Struct("!cQ")

# Small frames come several in one read; a payload larger than this is read straight into its own
# buffer, whose size is known from the header.  No larger, because a forked child and its rehearsal have
# to make one each, of memory that is new to them.  (A buffer grown chunk by chunk took 65 s for 100 MB.)
_CHUNK: Final = 8192

# What a payload may be large, to be looked at before it is taken.
MOST_BUFFERED: Final = _CHUNK - _HEADER.size

# The most the reader sets aside on the word of a header alone.  Not a limit on what a call may
# send: it only tells garbage on the wire (a tool may write to any descriptor) from a length.
_MOST: Final = 1 << 46

# Of a reason, in characters: an ask has to fit a socket's buffer beside all else.
_MOST_REASON: Final = 1024

Payload = bytes | bytearray | memoryview
Frame = tuple[bytes, Payload]


class Garbled(Exception):
    """What came over the wire is no frame."""


if hasattr(os, "readv"):

    def _read_into(fd: int, view: memoryview) -> int:
        return os.readv(fd, [view])

else:  # Windows, where only the interpreter strategy comes by, and so Python 3.14 or newer

    def _read_into(fd: int, view: memoryview) -> int:
        return int(os.readinto(fd, view))  # type: ignore[attr-defined, unused-ignore]


class Reader:
    """Reads frames from a descriptor that nobody else reads.

    Args:
        fd: The descriptor; it stays its maker's.
        wait: Called when a non-blocking descriptor has nothing to read; returns when it has, or
            raises what shall come out of :meth:`frame`.  None for a blocking descriptor, and while
            nobody asks for a whole frame.
    """

    __slots__ = ("_buffer", "_end", "_fd", "_start", "_view", "wait")

    def __init__(self, fd: int, wait: Callable[[], object] | None = None) -> None:
        self._fd = fd
        self.wait: Callable[[], object] | None = wait
        self._buffer = bytearray(_CHUNK)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0  # what was read and not yet handed out

    def frame(self) -> tuple[bytes, bytes]:
        """The next frame; the payload is the caller's to keep.

        Raises:
            EOFError: The other side closed, between two frames or within one.
            Garbled: This is no frame.
        """
        self._have(_HEADER.size)
        peeked = self.peek()
        assert peeked is not None
        self._start += _HEADER.size
        return peeked[0], self._take(peeked[1])

    def fill(self) -> bool:
        """Read what there is room for, without waiting; whether there may be more of it now.

        Raises:
            EOFError: The other side closed.
        """
        self._make_room()
        room = len(self._buffer) - self._end
        try:
            count = _read_into(self._fd, self._view[self._end :])
        except BlockingIOError:
            return False
        if count == 0 and room:
            raise EOFError("the other side closed the wire")
        self._end += count
        return count == room

    def peek(self) -> tuple[bytes, int] | None:
        """Kind and length of the next frame; None while it is not known.

        Raises:
            Garbled: This is no frame.
        """
        if self._end - self._start < _HEADER.size:
            return None
        kind, length = _HEADER.unpack_from(self._buffer, self._start)
        if kind not in _KINDS or length > _MOST:
            raise Garbled(f"no frame begins with {bytes(self._view[self._start : self._start + _HEADER.size])!r}")
        return kind, length

    def payload(self, length: int) -> memoryview | None:
        """What the frame that was peeked at holds, until the next read; None while not all of it is there."""
        start = self._start + _HEADER.size
        return None if self._end - start < length else self._view[start : start + length]

    def skip(self, length: int) -> None:
        """Go on to what follows a frame that is there."""
        self._start += _HEADER.size + length

    def rest(self) -> bytes:
        """What was read beyond the last frame; it is then the caller's."""
        rest = bytes(self._view[self._start : self._end])
        self._start = self._end = 0
        return rest

    def _have(self, count: int) -> None:
        """Fill the buffer until it holds ``count`` unread bytes."""
        if self._end - self._start >= count:
            return
        self._make_room()
        while self._end < count:
            self._end += self._read(self._view[self._end :])

    def _make_room(self) -> None:
        if self._start:
            rest = self._buffer[self._start : self._end]
            self._start, self._end = 0, len(rest)
            self._view[: self._end] = rest

    def _take(self, length: int) -> bytes:
        ready = min(length, self._end - self._start)
        head = self._view[self._start : self._start + ready]
        self._start += ready
        if ready == length:
            return bytes(head)
        try:
            # Bytes that are read into their place: what a BytesIO was made of is its own, unless somebody
            # else holds it, and is what it gives in the end.  Nor are they set to zero before.
            file = io.BytesIO(bytes(length))
        except (MemoryError, OverflowError):
            raise Garbled(f"a frame announces {length} bytes, more than there is memory for") from None
        with file.getbuffer() as view:
            view[:ready] = head
            while ready < length:
                with view[ready:] as room:
                    ready += self._read(room)
        return file.getvalue()

    def _read(self, view: memoryview) -> int:
        while True:
            try:
                count = _read_into(self._fd, view)
            except BlockingIOError:
                assert self.wait is not None, "a descriptor without wait has to block"
                self.wait()
                continue
            if count == 0:
                raise EOFError("the other side closed the wire")
            return count


class AskWords(NamedTuple):
    """What an ask says.

    Attributes:
        reason: Why, in words.
        timeout: Whether a limit of time is over.
        grace: Seconds from now to the end of the call, at the latest.
        number: Which of a worker's calls is meant, where it serves several and might take it for another.
        left: Whether the call is left behind: it is told, if it was not asked before, but no hook runs and nothing is
            raised.
    """

    reason: str
    timeout: bool
    grace: float
    number: int = 0
    left: bool = False


def ask_frame(words: AskWords) -> bytes:
    """A whole frame that asks to stop, small enough to be written at one go."""
    payload = marshal.dumps((words.reason[:_MOST_REASON], *words[1:]))
    return _HEADER.pack(ASK, len(payload)) + payload


def read_ask(data: bytes) -> AskWords | None:
    """What a frame of :func:`ask_frame` says, or None when this is none, or not yet the whole of it."""
    if len(data) < _HEADER.size:
        return None
    kind, length = _HEADER.unpack_from(data)
    payload = data[_HEADER.size :]
    if kind != ASK or len(payload) < length:
        return None
    return unpack_ask(payload)


def unpack_ask(payload: Payload) -> AskWords:
    """What the payload of such a frame says."""
    return AskWords(*marshal.loads(payload))  # noqa: S302 - both sides are one Python, and loading it runs no code


def send(fd: int, *frames: Frame, wait: Callable[[], object] | None = None) -> None:
    """Write frames whole, one after another.

    Args:
        fd: The descriptor.
        *frames: Kind and payload each.
        wait: Called when a non-blocking descriptor takes no more; returns when it does, or raises
            what shall come out of here.  None for a blocking descriptor.

    Raises:
        OSError: The other side is gone.
    """
    write(fd, views_of(*frames), wait)


def views_of(*frames: Frame) -> list[Payload]:
    """What is to be written for them."""
    views: list[Payload] = []
    for kind, payload in frames:
        views.append(_HEADER.pack(kind, len(payload)))
        if len(payload):
            views.append(payload)
    return views


def write(fd: int, views: list[Payload], wait: Callable[[], object] | None = None) -> None:
    """Write all of ``views``, which are empty then; as :func:`send`."""
    while not write_some(fd, views):
        assert wait is not None, "a descriptor without wait has to block"
        wait()


def write_some(fd: int, views: list[Payload]) -> bool:
    """Write as much of ``views`` as a non-blocking descriptor takes, and take that out of them; whether it was all.

    Raises:
        OSError: The other side is gone.
    """
    while views:
        try:
            count = _write(fd, views)
        except BlockingIOError:
            return False
        while count and count >= len(views[0]):
            count -= len(views.pop(0))
        if count:
            views[0] = memoryview(views[0])[count:]
    return True


def _write(fd: int, views: Sequence[Payload]) -> int:
    if hasattr(os, "writev"):
        return os.writev(fd, views)
    return os.write(fd, views[0])
