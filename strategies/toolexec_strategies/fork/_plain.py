"""A plain call under fork: sent by whoever submits it, answered to the one thread that listens to all children."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from toolexec.lowlevel import Job, Outcome
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import pack_plain_request, unpack_plain_outcome
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.fork._flight import Flight
from toolexec_strategies.fork._process import ServerProcess
from toolexec_strategies.fork._spare import Spare
from toolexec_strategies.fork._stopping import RELEASED, SIGNALLED

if TYPE_CHECKING:
    from toolexec_strategies.fork._strategy import ForkStrategy

# What a request may be large, to be sent by whoever submits it: a fresh wire takes as much at one go.
_SMALL: Final = 1 << 15


class PlainFlight(Flight):
    """A flight that needs no thread of its own while nothing out of the ordinary happens.

    A call is plain if neither to pack it nor to unpack what it comes to runs anybody's code, and nobody's
    has to hear of its start and end.  If it is none, or no child is ready, or it turns out to be none
    later on (it reports progress, fails, is asked to stop, its child dies), a thread flies it, or what is
    left of it, as any other: ``hand_over``.
    """

    def __init__(self, strategy: ForkStrategy, job: Job) -> None:
        super().__init__(strategy, job)
        self.plain = False

    def begin_anew(self) -> None:
        super().begin_anew()
        self.ears = [1]  # whoever pops it sees to the end of the call, in place of the listener
        self.embarked = False  # has whoever sends the request done with it?

    def is_heard(self, server: ServerProcess) -> bool:
        return self.plain and not server.listener.deaf

    def depart(self) -> bool:
        """Send the call off from here, if it is plain and a child is ready; whether it is seen to.

        On whatever thread submits it: takes no lock, does not block, and may be cut anywhere (see ``mend``).
        """
        job, strategy = self.job, self.strategy
        if job.watched or not strategy.carries_nothing:
            return False
        request = pack_plain_request(job.to_send(), _SMALL)
        if request is None:
            return False
        self.plain = True
        self.request = request
        server = strategy.ready_server(request, is_async=job.is_async, loop=job.parcel.loop)
        if server is None or server.listener.deaf:
            return False
        self.server = server
        if not server.enter(self):
            return False
        if not server.seize(self.taken):
            server.leave(self)
            return False
        spare = self.taken[0]
        # The order is half of a handshake: whoever asks sets the flag first and looks for the child then.
        self.spare = spare
        if job.asked or spare.epoch != server.epoch:
            return False  # ``fly`` gives it back
        self.embark(server, spare)
        return True

    def land(self) -> bool:
        while not self.embarked:  # the child was faster than who has sent the request, and is about to see that
            time.sleep(0)
        return super().land()

    def mend(self) -> None:
        """See to the call, where ``depart`` was cut by a Ctrl-C or by an Interrupt of the call around this one."""
        run_in_thread(self._mend)

    def _mend(self) -> None:
        self.embarked = True
        self.job.ask("interrupted")
        if self.spare is None or self.unsent is None:
            self.fly()
            return
        spare, server = self.spare, self.server
        assert server is not None
        if self.over:
            return
        if self.claim(SIGNALLED):
            server.kill(spare)  # half of its request may be there
        elif self.claims[0] is RELEASED:  # it was answered, and its child is another call's
            return
        self.hand_over(spare)  # the listener may have heard of the child's end already, while nobody rode it

    def embark(self, server: ServerProcess, spare: Spare) -> None:
        self.count(spare)
        self.unsent = self.frames(server)
        spare.rider = self
        try:
            if _wire.write_some(spare.wire, self.unsent):
                self.sent = True
                self.askable.append(1)
                if self.job.asked:  # asked while the request was under way
                    self.ask()
        except OSError:  # it ended
            pass
        finally:
            self.embarked = True
        # First the request, and then a look; who ceases to listen does it the other way round.
        if not self.sent or server.listener.deaf:
            self.hand_over(spare)

    def hear(self, spare: Spare) -> None:
        """Take in what the child has said, as far as it is plain; on the listening thread."""
        try:
            more = True
            while more and spare.rider is self:
                more = spare.fill()
                self._take_in(spare)
        except (EOFError, OSError, _wire.Garbled):
            self.hand_over(spare)
        except Exception as exc:  # noqa: BLE001 - as in ``fly``; nor may the listener end by it
            spare.rider = None
            self.fail(exc)
            assert self.server is not None
            self.server.kill(spare)
            self.server.listener.see_off(spare)

    def _take_in(self, spare: Spare) -> None:
        reader = spare.reader
        while (peeked := reader.peek()) is not None:
            kind, length = peeked
            payload = reader.payload(length)
            if payload is None and length <= _wire.MOST_BUFFERED:
                return
            if kind == _wire.STARTED:
                reader.skip(length)
                self.job.begin()
                continue
            plain = None if payload is None or self.job.asked else _plain_outcome(kind, payload)
            if plain is None:  # code of the user's is to hear of it, or it is too large to be read on the side
                self.hand_over(spare)
            else:
                reader.skip(length)
                self._answered(spare, plain)
            return

    def _answered(self, spare: Spare, outcome: Outcome) -> None:
        server = self.server
        assert server is not None
        try:
            self.ears.pop()
        except IndexError:
            return
        spare.rider = None
        if self.more and _is_ready(spare) and self.claim(RELEASED):
            server.give_back(spare)  # first, so that it is there for whatever call is started by the answer
            self._deliver(outcome)
            return
        self._deliver(outcome)
        if self.more:  # it may wait for another call, which it is not to get
            server.kill(spare)
        elif server.is_short():
            spare.dismiss()
        server.listener.see_off(spare)

    def _deliver(self, outcome: Outcome) -> None:
        self.job.deliver(outcome)
        self.end()

    def hand_over(self, spare: Spare) -> None:
        """Leave the rest to a thread of its own; any thread; more than once does no harm."""
        ears = self.ears
        if not ears:  # somebody sees to it
            return
        spare.rider = None
        try:
            run_in_thread(partial(self._take_over, ears))
        except RuntimeError:  # the program exits, and starts no threads any more
            self._take_over(ears)

    def _take_over(self, ears: list[int]) -> None:
        # Here and not before: a Ctrl-C on the way would leave nobody to see to the call.
        try:
            ears.pop()
        except IndexError:
            return
        self.fly()


def _plain_outcome(kind: bytes, payload: memoryview) -> Outcome | None:
    if kind == _wire.RESULT:
        return unpack_plain_outcome(payload)
    return Outcome("ok", bytes(payload)) if kind == _wire.RESULT_BYTES else None


def _is_ready(spare: Spare) -> bool:
    """Whether the child has said, along with its answer, that another call may come."""
    reader = spare.reader
    try:
        if reader.peek() is None:
            spare.fill()
        if reader.peek() != (_wire.READY, 0):
            return False
    except (EOFError, OSError, _wire.Garbled):
        return False
    reader.skip(0)
    return True
