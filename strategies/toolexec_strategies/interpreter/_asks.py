"""Inside an interpreter: the thread that hears asks, and interrupts the call that runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from toolexec.lowlevel import CallState, Outcome, Parcel, has_hook, run_beside, start_beside
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._asked import Asked
from toolexec_strategies._remote._serve import ended_by, stopped
from toolexec_strategies._workers import AGAIN_S, LOCKS_MAY_STAY, OneShot

_log = logging.getLogger("toolexec")


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
        start_beside(self._listen, "asks")

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

    def over(self, _: CallState) -> None:
        """The body has ended; its hook has its time."""
        current, self._current = self._current, None
        self.usable = current is None or current.end()

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


class _Running:
    """The call that runs, and how it is interrupted."""

    def __init__(self, number: int, call: CallState, parcel: Parcel) -> None:
        self.number = number
        self.shot: OneShot[Outcome] = OneShot(call, lambda exc: ended_by(call, exc))
        self._asked = Asked(call, parcel.loop)
        self._call = call
        self._polls = parcel.polls
        self._token = [1]  # whoever pops it decides: the first ask, or the end of the body

    def hear(self, words: _wire.AskWords) -> None:
        """Tell the call and its hook, then interrupt the body; once, and on a thread of its own."""
        try:
            self._token.pop()
        except IndexError:
            return
        if words.left:
            self._asked.leave(words)
            return
        self._asked.listen(lambda: words)
        run_beside(self._interrupt, "interrupt")

    def end(self) -> bool:
        """The body is over: no ask is heard any more, and the hook has its time if one was.

        Returns:
            Whether all is as if there had been none: no hook goes on, no lock can have stayed taken.
        """
        try:
            self._token.pop()
        except IndexError:
            if self._asked.wait():
                return not (LOCKS_MAY_STAY and self.shot.fired)
            if has_hook(self._call.runner):
                _log.warning("toolexec: the hook of tool %r did not return within its grace", self._call.name)
            return False
        return True

    def _interrupt(self) -> None:
        call = self._call
        self._asked.wait()
        call.cancel_once()
        if self._polls:
            return
        while not self.shot.fire():
            if not call.grace_left():  # it is left behind
                self.shot.give_up()
                return
            time.sleep(AGAIN_S)
