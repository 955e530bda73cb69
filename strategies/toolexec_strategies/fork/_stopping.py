"""What a call in a forked child needs for being stopped: its ask, its signals, and who may do what with the child."""

from __future__ import annotations

import queue
import signal
import threading
from typing import Final

from toolexec.lowlevel import Job
from toolexec_strategies._remote import _wire
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.fork._arrival import Arrivals
from toolexec_strategies.fork._process import ServerProcess
from toolexec_strategies.fork._spare import Spare

# A handler runs within microseconds, or when the tool's C code lets it.
_AGAIN_S: Final = 0.005
_AGAIN_MOST_S: Final = 0.1

# Who has the child, see Stoppable.claim.
SIGNALLED: Final = "signalled"
RELEASED: Final = "released"


class Stoppable:
    """One job, and the child it is in, as it is stopped.

    ``ask``, ``stop`` and ``kill`` run on any thread, without blocking.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.packed = False
        self.server: ServerProcess | None = None
        self.arrivals: Arrivals = queue.SimpleQueue()
        self.heard: threading.Event | None = None  # the ask has reached the call, or the call is over
        self.over = False
        self.begin_anew()

    def begin_anew(self) -> None:
        """There is no child, and nothing was sent."""
        self.spare: Spare | None = None
        # One ask per call, by whoever gets the token; it is there once the whole request is sent,
        # so that the ask's frame comes after it.
        self.askable: list[int] = []
        self.unsaid: bytes | None = None  # the words of the ask, while they are not on the wire
        self.claims: list[str] = []  # last: see ``kill``

    def claim(self, by: str) -> bool:
        """Claim the child, to signal it or to release it for another call: whichever comes first goes.

        So no signal meets a child that was handed on, and none is handed on that was signalled.
        """
        return _is_first(self.claims, by)

    def let_go(self, server: ServerProcess, spare: Spare) -> None:
        """Part with a child that has not been sent anything: for another call, unless it was signalled."""
        released = self.claim(RELEASED)
        self.begin_anew()
        if released:
            server.give_back(spare)
        else:
            server.kill(spare)
            server.drop(spare)

    def was_heard(self) -> None:
        """The ask has reached the call."""
        assert self.heard is not None
        self.heard.set()

    def end(self) -> None:
        """The call is over."""
        self.over = True
        if self.heard is not None:  # who waits for it makes it first, and looks then whether the call is over
            self.heard.set()

    def ask(self) -> None:
        """Have Interrupt raised in the child, once; a call without a child ends its wait."""
        claims = self.claims  # before the child, as in ``kill``
        spare = self.spare
        if spare is None:
            self.arrivals.put(None)
            return
        try:
            self.askable.pop()
        except IndexError:  # asked already; or the request is still under way, and who sends it will ask
            return
        if not _is_first(claims, SIGNALLED):
            return
        call = self.job.call
        left = call.grace_left()
        words = _wire.AskWords(call.reason, call.asks[0].timeout, call.grace if left is None else left)
        self.unsaid = _wire.ask_frame(words)
        heard = self.heard = threading.Event()
        if self.over:
            return
        self._signal_ask(spare)
        try:
            run_in_thread(lambda: self._insist(spare, heard))
        except RuntimeError:  # the program exits, and starts no threads any more: what is lost now, force makes good
            pass

    def _insist(self, spare: Spare, heard: threading.Event) -> None:
        """Signal again until the child's handler has run.

        Python's handler runs between bytecodes.  A signal that comes after the last one and before
        the system call that then blocks wakes nothing: 1 to 4 % of asks were lost so.
        """
        pause = _AGAIN_S
        while not heard.wait(pause):
            self._signal_ask(spare)
            pause = min(pause * 2, _AGAIN_MOST_S)

    def _signal_ask(self, spare: Spare) -> None:
        if self.unsaid is not None and spare.write(self.unsaid):
            self.unsaid = None
        if not spare.signal(signal.SIGURG):
            assert self.server is not None
            self.server.signal_group(spare, signal.SIGURG)

    def stop(self) -> None:
        """SIGTERM to the child's process group."""
        claims, spare = self.claims, self.spare  # in this order, as in ``kill``
        if spare is None:
            self.arrivals.put(None)
        elif self.server is not None and _is_first(claims, SIGNALLED):
            self.server.signal_group(spare, signal.SIGTERM)

    def kill(self) -> bool:
        """SIGKILL to the child's process group; whether the delivery is near."""
        # The claims first: who begins anew takes the child away before them, so these are never a later
        # child's.  Should they be an earlier one's, that later child finds the call asked, and does not run it.
        claims = self.claims
        spare = self.spare
        if spare is None:
            self.arrivals.put(None)
            return self.packed
        if self.server is not None and _is_first(claims, SIGNALLED):
            self.server.kill(spare)
        return True


def _is_first(claims: list[str], by: str) -> bool:
    claims.append(by)
    return claims[0] is by
