"""A child as the host holds it: its wire, its exit report, and the ways to signal it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Final, Protocol

from toolexec_strategies._remote._wire import Reader
from toolexec_strategies.fork import _control, _platform

# How long closing waits for a thread that is in the middle of signalling; that takes microseconds,
# unless a Ctrl-C ended the thread just there.
_SIGNALLER_S: Final = 0.5


class Exited(Exception):
    """The child ended, and all it had written was read.

    Attributes:
        status: The wait status; None when the server died and cannot tell.
    """

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class Rider(Protocol):
    """The call that a child runs, as the one who listens to the child knows it."""

    def hear(self, spare: Spare) -> None:
        """There may be something to read."""

    def hand_over(self, spare: Spare) -> None:
        """Have the rest be heard on a thread of its own."""


class Spare:
    """One forked child, ready for a call or running it.

    Attributes:
        pid: Its process id.
        epoch: How many rounds of imports its server had done when it was forked.
        wire: The socket to it; does not block.
        reader: Reads what comes over it.
        exit_pipe: Where the server reports its end.
        rider: The call in it, while the server's listener is to hear it.
        watched: Whether the listener does.
        output: What it prints, to be read; None where that is not captured.
        calls: How many calls it was given.
        status: The wait status, once known.
        ended: Whether it ended, with or without a known status.
    """

    def __init__(self, pid: int, epoch: int, fds: tuple[int, ...], *, captured: bool) -> None:
        self.pid = pid
        self.epoch = epoch
        self.wire, self.exit_pipe, *rest = fds
        self.output = rest.pop(0) if captured else None
        self._pidfd = rest[0] if rest else None
        self._take_output: Callable[[], bool] | None = None
        self.reader = Reader(self.wire)
        self.rider: Rider | None = None
        self.watched = False
        self._polls: dict[int, select.poll] = {}  # a large result waits a thousand times
        self.calls = 0
        self.status: int | None = None
        self.ended = False
        os.set_blocking(self.wire, False)
        if self.output is not None:
            os.set_blocking(self.output, False)
        # Whoever signals takes the token out and puts it back; whoever closes takes it for good.
        # Without it a descriptor could be closed, and its number mean another child, in between.
        self._token = [1]
        self._closed = False

    def signal(self, number: int) -> bool:
        """Signal the child itself; never blocks, any thread.

        Returns:
            False when somebody else has to send it: there is no pidfd.
        """
        if self._pidfd is None:
            return False
        if self._hold():
            try:
                _platform.signal_pidfd(self._pidfd, number)
            finally:
                self._release()
        return True

    def write(self, frame: bytes) -> bool:
        """Put a small frame on the wire; never blocks, any thread; False when there is no room for it now."""
        if not self._hold():
            return True
        try:
            os.write(self.wire, frame)
        except BlockingIOError:
            return False
        except OSError:  # it ended
            pass
        finally:
            self._release()
        return True

    def dismiss(self) -> None:
        """Bid a child that has answered to end now."""
        self.write(b"\0")

    def _hold(self) -> bool:
        """Keep the descriptors from being closed until ``_release``; False when they are."""
        while not self._closed:
            try:
                self._token.pop()
            except IndexError:  # another thread is at it
                time.sleep(0)
                continue
            return True
        return False

    def _release(self) -> None:
        self._token.append(1)

    def fill(self) -> bool:
        """Read what is there, without waiting; see ``Reader.fill``.

        Raises:
            EOFError: The other side closed, or this one did, and there is nothing.
        """
        if not self._hold():
            raise EOFError
        try:
            return self.reader.fill()
        finally:
            self._release()

    def listen(self, take_output: Callable[[], bool]) -> None:
        """Have output taken while waiting for the wire.

        Args:
            take_output: Called when there is some, or when nobody can write any more; then it returns False.
        """
        self._take_output = take_output
        self._polls.clear()

    def wait_readable(self) -> None:
        """Wait until the wire has something to read.

        Raises:
            Exited: The child ended and there is nothing.
        """
        self._wait_for(select.POLLIN)

    def wait_writable(self) -> None:
        """Wait until the wire takes more.

        Raises:
            Exited: The child ended.
        """
        self._wait_for(select.POLLOUT)

    def _wait_for(self, event: int) -> None:
        # Not the wire's end-of-file tells of a death: a process that the tool started may hold the
        # wire open for ever.  The server's report comes after everything the child wrote.
        while True:
            ready = dict(self._poll(event).poll())
            if self.wire in ready:
                return
            if self.output in ready and self._take_output is not None and not self._take_output():
                # A pipe that nobody can write to any more is always ready.
                self._take_output = None
                self._polls.clear()
            if self.exit_pipe in ready:
                self.await_exit(0)
                raise Exited(self.status)

    def _poll(self, event: int) -> select.poll:
        poll = self._polls.get(event)
        if poll is None:
            poll = self._polls[event] = select.poll()
            poll.register(self.wire, event)
            poll.register(self.exit_pipe, select.POLLIN)
            if self._take_output is not None and self.output is not None:
                poll.register(self.output, select.POLLIN)
        return poll

    def await_exit(self, timeout: float) -> bool:
        """Wait for the exit report, at most ``timeout`` seconds; whether the child is known to have ended."""
        if self.ended:
            return True
        poll = select.poll()
        poll.register(self.exit_pipe, select.POLLIN)
        if not poll.poll(timeout * 1000):
            return False
        report = os.read(self.exit_pipe, _control.EXIT.size)
        if report:
            (self.status,) = _control.EXIT.unpack(report)
        self.ended = True
        return True

    def abandon(self) -> None:
        """The server died: end what it left of the child and its process group."""
        self.signal(signal.SIGKILL)
        try:
            # Where any member of the group is alive, the number is still the group's.
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass

    def close(self) -> None:
        """Give the descriptors back; a child that still waits for its request ends by it.  Once."""
        deadline = time.monotonic() + _SIGNALLER_S
        while True:
            try:
                self._token.pop()
                break
            except IndexError:
                if self._closed:
                    return
                if time.monotonic() > deadline:
                    break
                time.sleep(0)
        self._closed = True
        self.close_here()

    def close_here(self) -> None:
        """Close without regard to anybody: in a process where no other thread is."""
        self._closed = True
        for fd in (self.wire, self.exit_pipe, self.output, self._pidfd):
            if fd is not None:
                with contextlib.suppress(OSError):
                    os.close(fd)
