"""One call under fork, from the host: its request, its child, its answer or its loss."""

from __future__ import annotations

import logging
import queue
from typing import TYPE_CHECKING, Final

from toolexec import UnsendableError
from toolexec.lowlevel import Job, Outcome
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import Request, pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies.fork._arrival import ServerDied, ServerGone
from toolexec_strategies.fork._capture import Capture
from toolexec_strategies.fork._child import WHERE
from toolexec_strategies.fork._ends import ended, lost, process_of
from toolexec_strategies.fork._listener import EXIT_S
from toolexec_strategies.fork._process import ServerProcess
from toolexec_strategies.fork._spare import Exited, Spare
from toolexec_strategies.fork._stopping import RELEASED, Stoppable

if TYPE_CHECKING:
    from toolexec_strategies.fork._strategy import ForkStrategy

_log = logging.getLogger("toolexec")

# An interrupted call is delivered only when its process group is gone, which should be at once.
_EXIT_BEFORE_DELIVERY_S: Final = 0.2

# How long after the wire's end the exit report may take; beyond it the tool has closed the wire itself.
_REPORT_S: Final = 0.5


class Flight(Stoppable):
    """One job and the child it runs in, on a thread that may block: ``fly`` runs on a worker thread."""

    def __init__(self, strategy: ForkStrategy, job: Job) -> None:
        super().__init__(job)
        self.strategy = strategy
        self.request: Request | None = None
        self.retried = False

    def begin_anew(self) -> None:
        super().begin_anew()
        self.taken: list[Spare] = []  # a child on its way to this call
        self.unsent: list[_wire.Payload] | None = None  # what is left of the request; None before any of it was sent
        self.sent = False
        self.more = False  # may its child serve another call afterwards?

    def fly(self) -> None:
        """Run the call, or what is left of it, and deliver it; on a worker thread; never raises."""
        try:
            if self._fly():
                return
        except Exception as exc:  # noqa: BLE001 - a fault of ours; whoever waits must not wait for ever
            self.fail(exc)
        else:
            self.end()

    def fail(self, exc: Exception) -> None:
        """It met an error of ours."""
        self.job.deliver(lost(f"the fork strategy met an error of its own; please report it: {exc!r}"))
        _log.error("toolexec: the fork strategy met an error of its own; please report it", exc_info=exc)
        self.end()

    def end(self) -> None:
        super().end()
        self.job.slot = None  # or job and flight would keep each other, arguments and all
        if self.server is not None:
            self.server.leave(self)

    def _fly(self) -> bool:
        """Whether the call is under way, and somebody else's affair."""
        if self.unsent is not None:
            return self.land()
        if self.taken:
            self._step_back()
        return self._pack() and self._take_off()

    def land(self) -> bool:
        """The request is with a child, or half of it: the rest.  As :meth:`_fly`."""
        assert self.server is not None
        assert self.spare is not None
        try:
            self._travel(self.server, self.spare)
        except ServerGone as exc:
            return not self._gives_up(exc) and self._take_off()
        return False

    def _pack(self) -> bool:
        job = self.job
        if self.request is None:
            try:
                self.request = pack_request(job.to_send(), "fork", self.strategy.carried.values(job.context))
            except UnsendableError as exc:
                job.deliver(Outcome("unsendable", exception=exc))
                return False
        self.packed = True
        return True

    def _take_off(self) -> bool:
        job, request = self.job, self.request
        assert request is not None
        while True:
            try:
                self.server = self.strategy.server_for(self, request, is_async=job.is_async, loop=job.parcel.loop)
            except OSError as exc:
                job.deliver(lost(f"the fork server cannot be started: {exc}"))
                return False
            try:
                return self._board(self.server)
            except ServerGone as exc:
                if self._gives_up(exc):
                    return False

    def _gives_up(self, exc: ServerGone) -> bool:
        """There is no child to be had of this server, or it died: whether that is the end of the call."""
        job, server = self.job, self.server
        assert server is not None
        # Nothing of the call has begun: a server that died idle costs no call.
        self.strategy.server_failed(server)
        server.leave(self)
        if self.retried or job.asked or not isinstance(exc, ServerDied):
            job.deliver(job.stopped() if job.asked else lost(str(exc)))
            return True
        self.retried = True
        return False

    def _step_back(self) -> None:
        """Give the child back: it is too late for this call, or the child too old."""
        server, spare = self.server, self.taken[0]
        assert server is not None
        self.let_go(server, spare)
        server.leave(self)

    def _board(self, server: ServerProcess) -> bool:
        """Get a child and run the call in it, or see it off; whether it is under way.

        Raises:
            ServerGone: There is none to be had.
        """
        job, timeout = self.job, self.strategy.start_timeout
        try:
            spare = None if job.asked else server.take(self.arrivals, timeout)
        except queue.Empty:
            self.strategy.server_failed(server)  # it ends when its last call has
            job.deliver(lost(f"the fork server gave no child within {timeout:g} s (start_timeout)"))
            return False
        # As in ``depart``.
        self.spare = spare
        if spare is None or job.asked:
            if spare is not None:
                self.let_go(server, spare)
            job.deliver(job.stopped())
            return False
        if self.is_heard(server):
            self.embark(server, spare)
            return True
        self.count(spare)
        self.unsent = self.frames(server)
        self._travel(server, spare)
        return False

    def is_heard(self, server: ServerProcess) -> bool:
        """Whether the server's listener is to hear the answer."""
        return False

    def embark(self, server: ServerProcess, spare: Spare) -> None:
        """Send the request, and leave the rest to the listener."""
        raise NotImplementedError

    def count(self, spare: Spare) -> None:
        """The child is to serve this call."""
        most = self.strategy.calls_per_child
        spare.calls += 1
        self.more = most is None or spare.calls < most

    def frames(self, server: ServerProcess) -> list[_wire.Payload]:
        """What is to be sent."""
        assert self.request is not None
        kind = _wire.REQUEST_OF_MORE if self.more else _wire.REQUEST
        return _wire.views_of((_wire.SETTINGS, server.settings.pack()), (kind, self.request.payload))

    def _travel(self, server: ServerProcess, spare: Spare) -> None:
        """Run the call in a child and see it end.

        Raises:
            ServerDied: Before anything of the call had begun.
        """
        job = self.job
        server.listener.unwatch(spare)
        capture = None if spare.output is None else Capture(spare.output, job.printed)
        if capture is not None:
            spare.listen(capture.read)
        try:
            outcome = self._converse(server, spare)
        except ServerDied:
            self.begin_anew()
            server.drop(spare)
            raise
        self.request = None
        if job.asked:
            if self.more:  # it may wait for another call, which it is not to get
                self.more = False
                server.kill(spare)
            spare.dismiss()
            spare.await_exit(_EXIT_BEFORE_DELIVERY_S)
        if capture is not None:
            outcome.output = capture.rest()
        job.deliver(outcome)
        del outcome
        if self._is_reusable(spare):
            self.spare = None
            if capture is not None:  # what a thread of the tool's wrote afterwards is not the next call's
                capture.rest()
            server.give_back(spare)
            return
        try:
            if not spare.await_exit(EXIT_S):
                server.kill(spare)
                spare.await_exit(EXIT_S)
        finally:
            server.drop(spare)
        # Not before: forking costs a core for a millisecond, which is now the caller's.
        server.refill()

    def _is_reusable(self, spare: Spare) -> bool:
        """Whether the child waits for another call; from here on nothing is done to it for the sake of this one."""
        if not self.more:
            return False
        spare.reader.wait = spare.wait_readable
        try:
            kind, _ = spare.reader.frame()
        except (Exited, EOFError, OSError, _wire.Garbled):
            return False
        finally:
            spare.reader.wait = None
        return kind == _wire.READY and self.claim(RELEASED)

    def _converse(self, server: ServerProcess, spare: Spare) -> Outcome:
        job = self.job
        spare.reader.wait = spare.wait_readable
        try:
            if not self.sent:
                assert self.unsent is not None
                try:
                    _wire.write(spare.wire, self.unsent, spare.wait_writable)
                except OSError:
                    raise EOFError from None
                self.sent = True
                self.askable.append(1)
                if job.asked:  # asked while the request was under way
                    self.ask()
            return hear(job, spare.reader, WHERE, self.was_heard)
        except Exited:
            return self._ended(server, spare)
        except (EOFError, OSError):
            if spare.await_exit(_REPORT_S):
                return self._ended(server, spare)
            why = "closed the descriptor that its answer was to come through"
        except _wire.Garbled as exc:
            why = f"wrote to the descriptor that its answer was to come through ({exc})"
        finally:
            spare.reader.wait = None
        server.kill(spare)
        spare.await_exit(EXIT_S)
        return job.stopped() if job.asked else lost(f"tool {job.parcel.name!r} (pid {spare.pid}) {why}", pid=spare.pid)

    def _ended(self, server: ServerProcess, spare: Spare) -> Outcome:
        job, status, name = self.job, spare.status, self.job.parcel.name
        if status is None:
            spare.abandon()
            self.strategy.server_failed(server)
        if job.asked:
            return job.stopped()
        if status is not None:
            return ended(status, name, spare.pid, self.strategy.limits)
        if not job.begun:
            # It says so before its body begins, and what it has said is read by now.
            raise ServerDied("the fork server died before the call began")
        return lost(f"the fork server died, and with it {process_of(name, spare.pid)}", pid=spare.pid)
