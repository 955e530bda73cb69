"""Inside an interpreter: the thread that hears asks, and interrupts the call that runs."""

from __future__ import annotations

import _thread
import sys
import time
from collections.abc import Callable

from toolexec.lowlevel import CallState, Outcome, Parcel
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._asked import Asked
from toolexec_strategies._remote._serve import ended_by, stopped
from toolexec_strategies._workers import AGAIN_S, OneShot

# cpython issue 148874: what an exception from outside cut at a ``with`` may have left a lock taken.
_LOCKS_MAY_STAY = sys.version_info[:2] == (3, 14)


class Asks:
    """Hears what comes over a pipe, and sees that it hits the call it is meant for and no other.

    An Interrupt has to be raised from inside: from the main interpreter it would hit another thread
    state of the same system thread.

    Args:
        fd: The descriptor to read from; when its other end is closed, the thread ends.

    Attributes:
        usable: Whether the last call left the interpreter fit for another.
    """

    def __init__(self, fd: int) -> None:
        self.usable = True
        self._reader = _wire.Reader(fd)
        self._current: _Running | None = None
        self._early: _wire.AskWords | None = None
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        # Not by threading: the interpreter would wait for it, and the program for the interpreter.
        _thread.start_new_thread(self._listen, ())

    def running(self, number: int, call: CallState, parcel: Parcel) -> None:
        """This call runs from now on."""
        current = self._current = _Running(number, call, parcel)
        # An ask may have overtaken its call.  Should it come right here, its thread finds the call.
        early = self._early
        if early is not None and early.number == number:
            current.hear(early)

    def guard(self, call: CallState, body: Callable[[], Outcome]) -> Outcome:
        """Run a body so that it can be interrupted; see ``answer``."""
        current = self._current
        assert current is not None
        outcome = current.shot.run(body)
        return stopped(call) if outcome is None else outcome

    def over(self, call: CallState) -> None:
        """The body has ended; its hook has its time."""
        current, self._current = self._current, None
        self.usable = True
        if current is not None and call.asked:
            self.usable = current.asked.wait() and not (_LOCKS_MAY_STAY and current.shot.fired)

    def wait_for_end(self) -> None:
        """Until the thread has ended: an interpreter must not be closed under it."""
        self._ended.acquire()

    def _listen(self) -> None:
        try:
            while True:
                payload = self._reader.frame()[1]
                words = _wire.unpack_ask(payload)
                self._early = words
                current = self._current
                if current is not None and current.number == words.number:
                    current.hear(words)
        except (EOFError, OSError, _wire.Garbled):
            pass
        finally:
            self._ended.release()


class _Running:
    """The call that runs, and how it is interrupted."""

    def __init__(self, number: int, call: CallState, parcel: Parcel) -> None:
        self.number = number
        self.asked = Asked(call, parcel.loop)
        self.shot: OneShot[Outcome] = OneShot(call, lambda exc: ended_by(call, exc))
        self._call = call
        self._polls = parcel.polls
        self._token = [1]

    def hear(self, words: _wire.AskWords) -> None:
        """Tell the call and its hook, then interrupt the body; once, and on a thread of its own."""
        try:
            self._token.pop()
        except IndexError:
            return
        self.asked.listen(lambda: words)
        _thread.start_new_thread(self._interrupt, ())

    def _interrupt(self) -> None:
        self.asked.wait()
        self._call.cancel_once()
        if not self._polls:
            while not self.shot.fire():
                time.sleep(AGAIN_S)
