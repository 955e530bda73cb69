"""Named pipes as signals: a way to wait that works across threads, loops, processes and interpreters."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from toolexec.lowlevel import running_loop

# Far more than any step of a test takes, and below the limit that a test runner sets for a whole
# test: so the error that comes out is the one that names what was waited for.
TIMEOUT_S = 20.0

# A thread that is blocked in one long system call would see an Interrupt only at its end.  Short,
# because many checks wait for just that; a wake-up costs some microseconds.
_SLICE_MS = 10


def make(path: str) -> int:
    """Make a named pipe and hold both its ends open.

    While they are held, opening it never blocks, and what was written stays until it is read.
    """
    os.mkfifo(path)
    # Both ends by one descriptor: POSIX leaves that open, and every system that has mkfifo does it.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def ring(path: str) -> None:
    """Make ``path`` readable for everybody who waits for that, now or later."""
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.write(fd, b"!")
    except BlockingIOError:  # full, so readable already
        pass
    finally:
        os.close(fd)


@contextmanager
def opened(path: str) -> Generator[int]:
    """The end of ``path`` to wait at for a ring, by :func:`wait_readable`; nothing is to be read from it."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


def wait_readable(fd: int, timeout: float, waited_for: str) -> None:
    """Block this thread until there is something to read.

    Raises:
        TimeoutError: There was not within ``timeout`` seconds; the text says ``waited_for``.
        BrokenPipeError: Whoever held it closed it without ringing.
    """
    until = time.monotonic() + timeout
    while not _readable(fd, _SLICE_MS, waited_for):
        if time.monotonic() > until:
            raise TimeoutError(f"after {timeout:g} s still {waited_for}")


async def await_readable(fd: int, timeout: float, waited_for: str) -> None:
    """:func:`wait_readable` from a task of asyncio or trio, without blocking its loop."""
    if running_loop() == "trio":
        trio: Any = sys.modules["trio"]
        with trio.move_on_after(timeout):
            await trio.lowlevel.wait_readable(fd)
    else:
        await _await_in_asyncio(fd, timeout)
    if not _readable(fd, 0, waited_for):
        raise TimeoutError(f"after {timeout:g} s still {waited_for}")


async def _await_in_asyncio(fd: int, timeout: float) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    readable = loop.create_future()

    def settle() -> None:
        loop.remove_reader(fd)
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(fd, settle)
    try:
        await asyncio.wait([readable], timeout=timeout)
    finally:
        loop.remove_reader(fd)


def is_readable(fd: int) -> bool:
    """Whether there is something to read."""
    return _readable(fd, 0, "looking whether there is something to read")


def _readable(fd: int, timeout_ms: int, waited_for: str) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    found = poller.poll(timeout_ms)
    if not found:
        return False
    if not found[0][1] & select.POLLIN:
        raise BrokenPipeError(f"closed by the test, with a call still {waited_for}")
    return True
