"""One call under fork, from the host: its request, its child, its answer or its loss."""

from __future__ import annotations

import logging
import os
import queue
import signal
import threading
from typing import TYPE_CHECKING, Final

from toolexec import UnsendableError, WorkerLost
from toolexec.lowlevel import Job, Outcome
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import Request, pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.fork._capture import Capture
from toolexec_strategies.fork._child import NO_WIRE, WHERE
from toolexec_strategies.fork._process import ServerDied, ServerGone, ServerProcess
from toolexec_strategies.fork._spare import Exited, Spare

if TYPE_CHECKING:
    from toolexec_strategies.fork._strategy import ForkStrategy

# A handler runs within microseconds, or when the tool's C code lets it.
_AGAIN_S: Final = 0.005
_AGAIN_MOST_S: Final = 0.1

_log = logging.getLogger("toolexec")

# A child ends within a millisecond of its answer, unless flushing its output blocks; then it is killed.
_EXIT_S: Final = 1.0

# An interrupted call is delivered only when its process group is gone, which should be at once.
_EXIT_BEFORE_DELIVERY_S: Final = 0.2

# How long after the wire's end the exit report may take; beyond it the tool has closed the wire itself.
_REPORT_S: Final = 0.5


class Flight:
    """One job and the child it runs in.

    ``fly`` runs on a worker thread; ``ask``, ``stop`` and ``kill`` on any, without blocking.
    """

    def __init__(self, strategy: ForkStrategy, job: Job) -> None:
        self.strategy = strategy
        self.job = job
        self.packed = False
        self.spare: Spare | None = None
        self.server: ServerProcess | None = None
        self.arrivals: queue.SimpleQueue[Spare | ServerGone | None] = queue.SimpleQueue()
        # One ask per call, by whoever gets the token; it is there once the whole request is sent,
        # so that the ask's frame comes after it.
        self.askable: list[int] = []
        self.unsaid: bytes | None = None  # the words of the ask, while they are not on the wire
        self.reader: _wire.Reader
        self.more = False  # may its child serve another call afterwards?
        self.heard = threading.Event()  # the ask has reached the call, or the call is over

    def fly(self) -> None:
        """Run the call and deliver it; never raises."""
        try:
            self._fly()
        except Exception as exc:  # noqa: BLE001 - a fault of ours; whoever waits must not wait for ever
            self.job.deliver(_lost(f"the fork strategy met an error of its own; please report it: {exc!r}"))
            _log.exception("toolexec: the fork strategy met an error of its own; please report it")
        finally:
            self.heard.set()
            self.job.slot = None  # or job and flight would keep each other, arguments and all

    def _fly(self) -> None:
        job = self.job
        try:
            request = pack_request(job.to_send(), "fork", self.strategy.carried.values(job.context))
        except UnsendableError as exc:
            job.deliver(Outcome("unsendable", exception=exc))
            return
        self.packed = True
        for last in (False, True):
            try:
                server = self.strategy.server_for(request, is_async=job.is_async, loop=job.parcel.loop)
            except OSError as exc:
                job.deliver(_lost(f"the fork server cannot be started: {exc}"))
                return
            self.server = server
            try:
                self._board(server, request)
                return
            except ServerGone as exc:
                # Nothing of the call has begun: a server that died idle costs no call.
                self.strategy.server_failed(server)
                if last or job.asked or not isinstance(exc, ServerDied):
                    job.deliver(job.stopped() if job.asked else _lost(str(exc)))
                    return
            finally:
                server.leave()

    def _board(self, server: ServerProcess, request: Request) -> None:
        """Get a child and run the call in it.

        Raises:
            ServerGone: There is none to be had.
        """
        job, timeout = self.job, self.strategy.start_timeout
        try:
            spare = None if job.asked else server.take(self.arrivals, timeout)
        except queue.Empty:
            self.strategy.server_failed(server)  # it ends when its last call has
            job.deliver(_lost(f"the fork server gave no child within {timeout:g} s (start_timeout)"))
            return
        # The order is half of a handshake: whoever asks sets the flag first and looks for the child then.
        self.spare = spare
        if spare is None or job.asked:
            if spare is not None:
                self.spare = None
                server.give_back(spare)
            job.deliver(job.stopped())
            return
        most = self.strategy.calls_per_child
        spare.calls += 1
        self.more = most is None or spare.calls < most
        self._travel(server, spare, request)

    def _travel(self, server: ServerProcess, spare: Spare, request: Request) -> None:
        """Run the call in a child and see it end.

        Raises:
            ServerDied: Before anything of the call had begun.
        """
        job = self.job
        capture = None if spare.output is None else Capture(spare.output, job.printed)
        if capture is not None:
            spare.listen(capture.read)
        try:
            outcome = self._converse(server, spare, request)
        except ServerDied:
            self.spare = None
            self.askable.clear()
            server.drop(spare)
            raise
        del request
        if job.asked:
            if self.more:  # it may wait for another call, which it is not to get
                self.more = False
                self._kill(spare)
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
            if not spare.await_exit(_EXIT_S):
                self._kill(spare)
                spare.await_exit(_EXIT_S)
        finally:
            server.drop(spare)
        # Not before: forking costs a core for a millisecond, which is now the caller's.
        server.refill()

    def _is_reusable(self, spare: Spare) -> bool:
        """Whether the child waits for another call; from here on nobody asks it to stop for the sake of this one."""
        if not self.more:
            return False
        try:
            self.askable.pop()
        except IndexError:  # somebody did
            return False
        try:
            kind, _ = self.reader.frame()
        except (Exited, EOFError, OSError, _wire.Garbled):
            return False
        return kind == _wire.READY

    def _converse(self, server: ServerProcess, spare: Spare, request: Request) -> Outcome:
        job = self.job
        settings = server.settings.pack()
        self.reader = _wire.Reader(spare.wire, spare.wait_readable)
        try:
            try:
                _wire.send(
                    spare.wire,
                    (_wire.SETTINGS, settings),
                    (_wire.REQUEST_OF_MORE if self.more else _wire.REQUEST, request.payload),
                    wait=spare.wait_writable,
                )
            except OSError:
                raise EOFError from None
            self.askable.append(1)
            if job.asked:  # asked while the request was under way
                self.ask()
            return hear(job, self.reader, WHERE, self.heard.set)
        except Exited:
            return self._ended(server, spare)
        except (EOFError, OSError):
            if spare.await_exit(_REPORT_S):
                return self._ended(server, spare)
            why = "closed the descriptor that its answer was to come through"
        except _wire.Garbled as exc:
            why = f"wrote to the descriptor that its answer was to come through ({exc})"
        self._kill(spare)
        spare.await_exit(_EXIT_S)
        return job.stopped() if job.asked else _lost(f"tool {job.parcel.name!r} (pid {spare.pid}) {why}", pid=spare.pid)

    def _ended(self, server: ServerProcess, spare: Spare) -> Outcome:
        job, status, pid = self.job, spare.status, spare.pid
        if status is None:
            spare.abandon()
            self.strategy.server_failed(server)
        if job.asked:
            return job.stopped()
        if status is None and not job.begun:
            # It says so before its body begins, and what it has said is read by now.
            raise ServerDied("the fork server died before the call began")
        who = f"the process of tool {job.parcel.name!r} (pid {pid})"
        if status is None:
            return _lost(f"the fork server died, and with it {who}", pid=pid)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            why = self.strategy.limits.explain(number)
            if why is None and number == signal.SIGKILL:
                why = "perhaps because the system ran out of memory"
            how = _signal_name(number) if why is None else f"{_signal_name(number)}, {why}"
            return _lost(f"{who} was ended by {how}", pid=pid, signal_number=number)
        code = os.waitstatus_to_exitcode(status)
        guess = " (perhaps because the tool closed a descriptor that is not its own)" if code == NO_WIRE else ""
        return _lost(f"{who} exited with code {code} before it answered{guess}", pid=pid, exit_code=code)

    def ask(self) -> None:
        """Have Interrupt raised in the child, once; a call without a child ends its wait."""
        spare = self.spare
        if spare is None:
            self.arrivals.put(None)
            return
        try:
            self.askable.pop()
        except IndexError:  # asked already; or the request is still under way, and _converse will ask
            return
        call = self.job.call
        left = call.grace_left()
        words = _wire.AskWords(call.reason, call.asks[0].timeout, call.grace if left is None else left)
        self.unsaid = _wire.ask_frame(words)
        self._signal_ask(spare)
        try:
            run_in_thread(lambda: self._insist(spare))
        except RuntimeError:  # the program exits, and starts no threads any more: what is lost now, force makes good
            pass

    def _insist(self, spare: Spare) -> None:
        """Signal again until the child's handler has run.

        Python's handler runs between bytecodes.  A signal that comes after the last one and before
        the system call that then blocks wakes nothing: 1 to 4 % of asks were lost so.
        """
        pause = _AGAIN_S
        while not self.heard.wait(pause):
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
        if self.spare is None:
            self.arrivals.put(None)
        elif self.server is not None:
            self.server.signal_group(self.spare, signal.SIGTERM)

    def kill(self) -> bool:
        """SIGKILL to the child's process group; whether the delivery is near."""
        if self.spare is None:
            self.arrivals.put(None)
            return self.packed
        self._kill(self.spare)
        return True

    def _kill(self, spare: Spare) -> None:
        # The child itself by its pidfd, should the server be busy with an import; whenever a child
        # has died, the server kills what is left of its group.
        spare.signal(signal.SIGKILL)
        if self.server is not None:
            self.server.signal_group(spare, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _lost(
    message: str, *, pid: int | None = None, exit_code: int | None = None, signal_number: int | None = None
) -> Outcome:
    return Outcome("lost", exception=WorkerLost(message, pid=pid, exit_code=exit_code, signal=signal_number))
