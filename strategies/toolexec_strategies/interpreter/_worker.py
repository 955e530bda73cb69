"""One warm interpreter: made, driven and closed by a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final

from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._settings import import_path, pack_path
from toolexec_strategies._remote._wire import AskWords, ask_frame
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.interpreter import _life
from toolexec_strategies.interpreter._inlet import Inlet
from toolexec_strategies.interpreter._inside import NUMBER

_ALONE: Final = "from toolexec_strategies.interpreter._inside import wait_until_alone; wait_until_alone()"


class Interpreter:
    """An interpreter that answers one call at a time, over pipes.

    A daemon thread of this process stands inside it all the time: going in and out by
    ``Interpreter.call`` costs ten times a round trip over pipes.  An interpreter that is stuck in a
    tool is so no reason for the program not to exit.

    Args:
        on_gone: Called with it once it is closed.

    Attributes:
        reader: Reads what it says; for the one thread whose call runs there.
        failure: Why it ended by itself, in words.
        gone: Set once it is closed.
        calls: How many calls it was given; the number of the last.
        ending: Whether it takes no more calls.
        left: Whether a call in it was left behind, so that nobody waits for its end.
    """

    def __init__(self, on_gone: Callable[[Interpreter], object]) -> None:
        self._inside_requests, requests = os.pipe()
        self._answers, self._inside_answers = os.pipe()
        self._inside_asks, asks = os.pipe()
        self._held = {self._answers, self._inside_requests, self._inside_answers, self._inside_asks}
        os.set_blocking(asks, False)
        self._requests, self._asks = Inlet(requests), Inlet(asks)
        self.reader = _wire.Reader(self._answers)
        self.failure = "it ended"
        self.gone = threading.Event()
        self._on_gone = on_gone
        self._path = import_path()
        self.calls = 0
        self.ending = False
        self.left = False

    def start(self) -> None:
        """Have it made."""
        run_in_thread(self._drive)

    def request(self, payload: bytes) -> None:
        """Send the call that ``calls`` has counted already.

        Raises:
            OSError: It ended.
        """
        path = import_path()
        settings = NUMBER.pack(self.calls)
        if path != self._path:
            self._path = path
            settings += pack_path(path)
        frames = (_wire.SETTINGS, settings), (_wire.REQUEST, payload)
        if not self._requests.write(lambda fd: _wire.send(fd, *frames)):
            raise BrokenPipeError("the interpreter ends")

    def ask(self, words: AskWords) -> None:
        """Ask a call to stop; any thread, never blocks."""
        frame = ask_frame(words)
        try:
            self._asks.write(lambda fd: os.write(fd, frame))
        except OSError:  # it ended; or does not listen, and is left behind soon
            pass

    def end(self) -> None:
        """Have it end once its call, if any, is over; any thread, never blocks, any number of times."""
        self.ending = True
        self._requests.close()
        self._asks.close()

    def release(self) -> None:
        """End it, and give back what the reading side holds: only for who reads, or when nobody does.  Once."""
        self.end()
        self._close(self._answers)

    def forget(self) -> None:
        """In a forked copy of the host, which has no other interpreter: close what was inherited."""
        self.end()
        for fd in self._held:
            os.close(fd)

    def _drive(self) -> None:
        inside: Any = None
        try:
            inside = _life.create()
            inside.exec(
                f"import sys; sys.path[:] = {self._path!r}\n"
                "from toolexec_strategies.interpreter._inside import serve\n"
                f"serve({self._inside_requests}, {self._inside_answers}, {self._inside_asks})"
            )
        except BaseException as exc:  # noqa: BLE001 - whatever ended it, its call has to be told
            self.failure = f"{type(exc).__name__}: {exc}"
        # Now a call that still waits for its answer sees the end of the pipe, and has the others closed.
        self._close(self._inside_requests)
        self._close(self._inside_answers)
        if inside is not None:
            try:
                inside.exec(_ALONE)
            except BaseException:  # noqa: BLE001 - it could not begin, either
                pass
        self._close(self._inside_asks)  # not before: something in there reads it
        if inside is not None:
            _life.close(inside)
        self._on_gone(self)
        self.gone.set()

    def _close(self, fd: int) -> None:
        self._held.discard(fd)  # first: in a forked copy its number may be another's, once it is closed
        os.close(fd)
