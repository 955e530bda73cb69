"""The fork server as the host holds it: started, asked for children, listened to, ended."""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import queue
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from toolexec.lowlevel import usable_cpus
from toolexec_strategies._remote._settings import Settings
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.fork import _control
from toolexec_strategies.fork._arrival import Arrivals, ServerDied, ServerGone
from toolexec_strategies.fork._limits import Limits
from toolexec_strategies.fork._listener import Listener
from toolexec_strategies.fork._spare import Spare
from toolexec_strategies.fork._start import start_server
from toolexec_strategies.fork._streams import Streams

# How long the server may take to end once its control socket is closed.  It kills and reaps its
# children first, which takes milliseconds; a server that is stopped or hangs in an import is killed.
_END_S: Final = 3.0

# How many forks are on order at once, however many calls wait.  Orders and children then fit into the buffers of
# the control socket many times (Linux takes some 250 messages each way): neither this process, which orders on the
# thread that takes the children in as well, nor the server ever waits for the other to read.
_MOST_ORDERED: Final = 32

_first: Final = deque[Spare].popleft


class ServerProcess:
    """One fork server.

    Its lock is only ever taken on worker threads, which nothing is raised into.  ``enter``, ``leave``
    and ``seize`` do without.

    Args:
        spares: How many idle children to keep ready.
        on_thread_left: Told of a module whose import left a thread running; the server is of no
            more use then.
        settings: What its children take over.
        limits: What a call in one of them may use up.
        streams: Where its output goes.
    """

    def __init__(
        self,
        spares: int,
        on_thread_left: Callable[[str], object],
        settings: Settings,
        limits: Limits,
        streams: Streams,
    ) -> None:
        self.settings = settings
        self.captured = streams.captured
        self.spares = spares
        self.on_thread_left = on_thread_left
        self.usable = True  # may new calls use it?
        self.dead: ServerGone | None = None
        self.epoch = 0
        self.loaded: set[str] = set()
        self._loading: dict[int, deque[str]] = {}
        self._lock = threading.Lock()
        self._idle: deque[Spare] = deque()
        self._waiting: deque[Arrivals] = deque()
        self._held: set[Spare] = set()
        self._ordered = 0
        self._calls: dict[object, None] = {}
        self._processors = usable_cpus()
        self._gone = threading.Event()
        self._control, self.process = start_server(settings.baseline, limits, streams)
        self.listener = Listener(self._control.fileno(), self)
        run_in_thread(self._listen)

    def load(self, names: Iterable[str]) -> None:
        """Have modules imported, once each, by the server; children forked before are of no more use."""
        with self._lock:
            new = [name for name in names if name not in self.loaded]
            if not new or not self.usable:
                return
            self.epoch += 1  # first: who seizes a child looks at what is loaded, and then at this
            self.loaded.update(new)
            self._loading[self.epoch] = deque(new)
            payload = marshal.dumps((new, self.settings.path(), self.settings.folder()))
            self._tell(_control.Message(_control.IMPORT, self.epoch, payload=payload))
            stale: list[Spare] = []
            while self.seize(stale):
                pass
            self._held.difference_update(stale)
        for spare in stale:
            self._close(spare)

    def being_loaded(self) -> str | None:
        """The module that is being imported now."""
        with self._lock:
            for names in self._loading.values():
                return names[0]
        return None

    def seize(self, taken: list[Spare]) -> bool:
        """Take an idle child, if there is one, into ``taken``; whether there was.  Any thread, at any moment.

        In one step: a Ctrl-C in between would lose it.
        """
        try:
            taken.extend(map(_first, (self._idle,)))
        except IndexError:
            return False
        return True

    def take(self, arrivals: Arrivals, timeout: float) -> Spare | None:
        """A child for one call.

        Args:
            arrivals: The call's own queue; whoever puts None there ends the wait.
            timeout: Seconds to wait for one.

        Returns:
            None when the wait was ended.

        Raises:
            ServerGone: The server died, or cannot fork.
            queue.Empty: None came within ``timeout``.
        """
        with self._lock:
            if self.dead is not None:
                raise self.dead
            taken: list[Spare] = []
            if self.seize(taken):
                return taken[0]
            self._waiting.append(arrivals)
            self._order_for_waiting()
        self.listener.hurry()
        try:
            arrival = arrivals.get(timeout=timeout)
        except queue.Empty:
            self._stop_waiting(arrivals)
            raise
        if arrival is None:
            self._stop_waiting(arrivals)
        if isinstance(arrival, ServerGone):
            raise arrival
        return arrival

    def _stop_waiting(self, arrivals: Arrivals) -> None:
        with self._lock:
            if arrivals in self._waiting:
                self._waiting.remove(arrivals)
                return
        # Already served: what came is put back.
        arrival = arrivals.get()
        while arrival is None:
            arrival = arrivals.get()
        if isinstance(arrival, Spare):
            self.give_back(arrival)

    def give_back(self, spare: Spare) -> None:
        """A child whose call never began, or that has served and waits for another."""
        with self._lock:
            if self.usable and spare.epoch == self.epoch:
                self._place(spare)
                return
            self._held.discard(spare)
        self._close(spare)

    def refill(self) -> None:
        """Order what is missing of the spares; best after a call's result was read.

        While a call runs, forking would take the second core from whoever waits for it.
        """
        with self._lock:
            if self.usable:
                # Where calls wait, rehearsals would only delay them.
                missing = len(self._waiting) + self.spares - len(self._idle) - self._ordered
                self._order(missing, rehearse=not self._waiting)

    def drop(self, spare: Spare) -> None:
        """Close a child that has served."""
        with self._lock:
            self._held.discard(spare)
        self._close(spare)

    def drop_idle(self, spare: Spare) -> None:
        """Close a child that has ended, unless a call has just got it, which finds out by itself."""
        try:
            self._idle.remove(spare)
        except ValueError:
            return
        self.drop(spare)

    def _close(self, spare: Spare) -> None:
        self.listener.unwatch(spare)
        spare.close()

    def may_fork(self) -> bool:
        """Whether a fork takes the processor from no call, or a call waits for it."""
        return len(self._calls) < self._processors or bool(self._waiting)

    def is_short(self) -> bool:
        """Whether a call waits for a fork, or the next one will: better what has answered ends before that."""
        return bool(self._waiting) or not (self._idle or self._calls)

    def kill(self, spare: Spare) -> None:
        """SIGKILL to a child and its process group; never blocks, any thread."""
        # The child itself by its pidfd, should the server be busy with an import; whenever a child
        # has died, the server kills what is left of its group.
        spare.signal(signal.SIGKILL)
        self.signal_group(spare, signal.SIGKILL)

    def signal_group(self, spare: Spare, number: int) -> None:
        """Signal a child's process group; never blocks, any thread.

        By way of the server: only who has not yet waited for a process can be sure whose number it is.
        """
        try:
            _control.send(self._control, _control.Message(_control.SIGNAL, spare.pid, number), socket.MSG_DONTWAIT)
        except OSError:  # it died, or does not listen: killing goes by the pidfd too
            pass

    def enter(self, call: object) -> bool:
        """One call more, any thread; False when the server takes no more calls."""
        # First in, and then a look; who retires the server does it the other way round.
        self._calls[call] = None
        if self.usable:
            return True
        self.leave(call)
        return False

    def leave(self, call: object) -> None:
        """One call less, any thread; a retired server ends with its last.  More than once does no harm."""
        self._calls.pop(call, None)
        self._end_if_over()

    def retire(self) -> None:
        """Take no new calls, and end after the last one."""
        self.usable = False
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self.usable or self._calls:
            return
        try:
            run_in_thread(self._end_alone)  # it waits for the listener, which may be this thread
        except RuntimeError:  # the program exits, which ends it as well
            pass

    def _end_alone(self) -> bool:
        self.end()
        return False  # perhaps after the idle threads were sent home: this one would stay

    def end(self) -> None:
        """End the server and every child of it; blocks for milliseconds."""
        with self._lock:
            self.usable = False
        try:
            self._control.shutdown(socket.SHUT_RDWR)  # wakes the listener; the server sees the end
        except OSError:  # the other side is gone already
            pass
        # Popen leaves a process alone that it has seen the end of.
        self.process.send_signal(signal.SIGCONT)  # one that somebody has stopped could not end
        if not self._gone.wait(_END_S):
            self.process.kill()
            self._gone.wait(_END_S)

    def forget(self) -> None:
        """In a forked copy of the host: close what was inherited and touch nothing else."""
        self.usable = False
        for spare in list(self._held):
            spare.close_here()
        self.listener.close()
        with contextlib.suppress(OSError):  # it was about to be closed
            os.close(self._control.detach())
        self.process.returncode = 0  # not this process's child: nothing to wait for, nothing to warn of

    def _order_for_waiting(self) -> None:
        self._order(len(self._waiting) - self._ordered, rehearse=False)

    def _order(self, count: int, *, rehearse: bool) -> None:
        for _ in range(min(count, _MOST_ORDERED - self._ordered)):
            self._ordered += 1
            self._tell(_control.Message(_control.FORK, int(rehearse)))

    def _tell(self, message: _control.Message) -> None:
        try:
            _control.send(self._control, message)
        except OSError:  # it died: the listener tells everybody
            pass

    def _listen(self) -> None:
        """Hand out what the server sends, until it ends; on a thread of its own."""
        try:
            self.listener.listen(self._obey)
        finally:  # whatever it was, nobody listens any more, and nobody may wait for this server
            self._died()

    def _obey(self) -> bool:
        message = _control.receive(self._control)
        if message is None:
            return False
        if message.kind == _control.CHILD:
            self._arrived_with(message)
        elif message.kind == _control.FAILED:
            self._fork_failed(f"the fork server cannot fork: {os.strerror(message.first)}")
        elif message.kind in (_control.IMPORTED, _control.THREAD):
            self._imported(message.first, left_thread=message.kind == _control.THREAD)
        return True

    def _arrived_with(self, message: _control.Message) -> None:
        if len(message.fds) >= _control.FEWEST_FDS + self.captured:
            self._arrived(Spare(message.first, message.second, message.fds, captured=self.captured))
            return
        # This process had no descriptors left: the kernel drops those that it cannot hand over.  The
        # child ends, because the other end of its wire is closed.
        for fd in message.fds:
            os.close(fd)
        self._fork_failed(f"this process cannot hold a child's pipes: {os.strerror(errno.EMFILE)}")

    def _arrived(self, spare: Spare) -> None:
        with self._lock:
            self._ordered -= 1
            self._held.add(spare)
            stale = not self._waiting and (not self.usable or spare.epoch != self.epoch)
            if stale:
                self._held.discard(spare)
            else:
                self._place(spare)
            self._order_for_waiting()
        if stale:
            self._close(spare)

    def _place(self, spare: Spare) -> None:
        if not self.captured:
            self.listener.watch(spare)
        if self._waiting:
            self._waiting.popleft().put(spare)
        else:
            self._idle.append(spare)

    def _fork_failed(self, why: str) -> None:
        with self._lock:
            self._ordered -= 1
            if self._waiting:
                self._waiting.popleft().put(ServerGone(why))
            self._order_for_waiting()

    def _imported(self, epoch: int, *, left_thread: bool) -> None:
        with self._lock:
            names = self._loading[epoch]
            name = names.popleft()
            if not names:
                del self._loading[epoch]
        if left_thread:
            self.on_thread_left(name)
            self.retire()

    def _died(self) -> None:
        try:
            code: int | None = self.process.wait(_END_S)
        except subprocess.TimeoutExpired:  # it closed the socket and lives on, or hangs
            self.process.kill()
            code = self.process.wait()
        gone = ServerDied(f"the fork server died (exit code {code})")
        with self._lock:
            self.usable = False
            self.dead = gone
            waiting = list(self._waiting)
            self._waiting.clear()
            idle: list[Spare] = []
            while self.seize(idle):
                pass
            self._held.difference_update(idle)
            held = list(self._held)
        for arrivals in waiting:
            arrivals.put(gone)
        for spare in idle:
            self._close(spare)
        self.listener.leave()
        for spare in held:
            if spare.rider is not None:
                spare.rider.hand_over(spare)
        self.listener.close()
        self._control.close()
        self._gone.set()
