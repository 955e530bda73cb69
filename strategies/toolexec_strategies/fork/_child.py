"""The forked child: one process for one call, or for several where that is allowed."""

from __future__ import annotations

import inspect
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Any, NoReturn

from toolexec import Interrupt, WorkerLost
from toolexec.lowlevel import CallState, Outcome, Parcel, settle_inner
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._asked import Asked
from toolexec_strategies._remote._carry import pack_reply
from toolexec_strategies._remote._serve import answer, entry_frame
from toolexec_strategies._remote._settings import Unprepared, apply_settings
from toolexec_strategies.fork import _platform, _reuse
from toolexec_strategies.fork._limits import Limits

WHERE = "the forked child"

# The exit code of a child that had an answer and no wire to send it by.  A tool may end itself by
# the same code; the host's text allows for that.
NO_WIRE = 74  # EX_IOERR

# How long after an Interrupt was swallowed (raised inside a ``__del__`` or a gc callback, where
# Python drops it) the next one is tried.  That may be swallowed as well: a tool may spend nearly all its
# time in such places.  No measurement behind it.
_AGAIN_S = 0.005

# How long a child stays after its answer.  The end of a process and its reaping took a caller on two CPUs
# 0.3 ms of what a call in a ready child takes; it is awake again within less than this.
_LINGER_MS = 1


def live(fd: int, server: int, limits: Limits, warm: list[tuple[bytes, bytes]] | None) -> NoReturn:
    """Wait for a request, answer it, end.

    Args:
        fd: The wire to the host.
        server: The server's pid.
        limits: What the call may use up.
        warm: The frames of a call of nothing to rehearse; None when a call is waiting already.
    """
    try:
        _Child(fd, limits).run(server, warm)
    except BaseException:  # noqa: BLE001 - whatever it is, this process must never return into the server's loop
        try:
            traceback.print_exc()
        finally:  # even where there is no memory to print it
            os._exit(70)  # EX_SOFTWARE
    os._exit(0)


class _Child:
    def __init__(self, fd: int, limits: Limits) -> None:
        self.wire = socket.socket(fileno=fd)
        self.fd = fd
        self.limits = limits
        self.reader = _wire.Reader(fd)
        self.pid = os.getpid()
        self.main_thread = threading.get_ident()
        self.lock = threading.Lock()  # frames of a tool's several threads must not mix
        self.call: CallState | None = None
        self.asked: Asked | None = None  # what to do about an ask of this call
        self.polls = False
        self.said = b""  # what has come of the words of an ask
        self.early = False  # an ask came before the request was read
        self.posting = False  # is the main thread where no handler may act?
        self.owed = False  # an ask that came meanwhile
        self.swallowed: queue.SimpleQueue[CallState] | None = None  # an Interrupt was; once there was one
        self._traces: _reuse.Traces | None = None  # what calls leave behind, where several may come

    def run(self, server: int, warm: list[tuple[bytes, bytes]] | None) -> None:
        os.setsid()
        _platform.die_with_parent(server)
        self._own_signals()
        numpy_random: Any = sys.modules.get("numpy.random")
        if numpy_random is not None:  # ``random`` reseeds itself after a fork
            numpy_random.seed()
        if warm is not None:
            self._rehearse(warm)
        while True:
            try:
                reply, more = self._serve()
            except EOFError:  # a spare that is not needed any more
                return
            if os.getpid() != self.pid:  # the tool forked, and this is not the one that was called
                os._exit(0)
            flush_output()
            self.posting = True  # an ask that comes now is too late
            frames = [reply]
            if more and self._is_fresh():
                frames.append((_wire.READY, b""))  # in one piece, which wakes the host once
            if not self._send(*frames):
                os._exit(NO_WIRE)
            if len(frames) == 1:
                self._linger()
                return
            del reply, frames
            self.posting = False

    def _linger(self) -> None:
        """End a little later, unless the host bids to: to take a process down keeps a core from who waits for it."""
        poll = select.poll()
        try:
            poll.register(self.fd, select.POLLIN)
            poll.poll(_LINGER_MS)
        except OSError:
            pass

    def _serve(self) -> tuple[_wire.Frame, bool]:
        settings = self.reader.frame()[1]
        kind, request = self.reader.frame()
        more = kind == _wire.REQUEST_OF_MORE
        if more and self._traces is None:
            self._traces = _reuse.Traces()
        try:
            apply_settings(settings)
            # A context of its own, so that what one call sets the next does not see.
            reply = Context().run(
                answer, request, self._post, WHERE, adopt=self._adopt, ended=self._ended, judge=self._judge
            )
        except Unprepared as exc:
            lost = WorkerLost(f"{WHERE} {exc}", pid=self.pid)
            return pack_reply(Outcome("lost", exception=lost), None, WHERE), False
        return reply, more

    def _is_fresh(self) -> bool:
        """Whether nothing of the call is left here, so that another may come; what can be undone is."""
        asked, self.asked, self.call = self.asked, None, None
        if asked is None or asked.listened or self.early or self._traces is None:
            return False
        return self._traces.wiped_out()

    def _rehearse(self, warm: list[tuple[bytes, bytes]]) -> None:
        """Do once, on a wire to nobody, all that a call does.

        A forked process shares its memory until it writes to it (a reference count is enough), and
        then copying costs more than all else: 300 pages per call, which take 0.3 to 2 ms.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            rehearsal = _Child(ours.fileno(), self.limits)
            _wire.send(theirs.fileno(), *warm)
            reply = rehearsal._serve()[0]
            flush_output()
            rehearsal._send(reply)
            rehearsal.wire.detach()

    def _own_signals(self) -> None:
        # What a fresh Python has: an ignored signal would be inherited by what the tool starts.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # SIGURG: by default it is ignored, so one that strays into what the tool starts harms nothing.
        signal.signal(signal.SIGURG, self._on_ask)
        sys.unraisablehook = self._on_unraisable
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _adopt(self, call: CallState, parcel: Parcel) -> object:
        self.polls = parcel.polls
        self.asked = Asked(call, parcel.loop)
        call.on_listen = self._listen
        self.call = call
        # An ask that came while the request was still being read or unpacked.  Should one come
        # right here, the handler finds the call: either of the two tells it.
        if self.early:
            self.asked.listen(self._words)
            self.asked.wait()
        return self.limits.impose()

    def _listen(self) -> None:
        """Listen for an ask from now on, by a thread: the handler has to wait while the body blocks in C."""
        asked = self.asked
        if asked is None:
            return
        if threading.get_ident() != self.main_thread:
            self._start_listening(asked)
            return
        self.posting = True  # a handler that came just as the thread is started would wait for it in vain
        try:
            self._start_listening(asked)
        finally:
            self._end_of_posting()

    def _hear(self, asked: Asked) -> None:
        with self.limits.exempt():
            asked.hear(partial(self._words, socket.MSG_DONTWAIT), self._words)

    def _start_listening(self, asked: Asked) -> None:
        with self.limits.exempt():
            asked.listen(self._words)

    def _ended(self, call: CallState) -> None:
        self.limits.lift()  # what is left to do takes memory too
        if call.asked and self.asked is not None:
            self.asked.wait()
        settle_inner(call)

    def _judge(self, outcome: Outcome) -> Outcome:
        return self.limits.judge(outcome, self.pid)

    def _on_ask(self, _number: int, frame: types.FrameType | None) -> None:
        if self.posting:
            self.owed = True  # half a frame on the wire would be the end of the call: _post goes on from here
            return
        # Signals are sent again until this arrives, so one may well come while it is being sent.
        self.posting = True
        try:
            self._send((_wire.HEARD, b""))
            call, asked = self.call, self.asked
            if call is None or asked is None:  # the request may not be read yet: see _adopt
                self.early = True
                return
            self._hear(asked)
            asked.wait()
        finally:
            self.posting = self.owed = False
        if call.cancels:  # the body awaits in a loop of its own: its task is cancelled natively
            call.cancel_once()
        elif not self.polls and call.asked and _is_under(entry_frame, frame) and call.deliver_once():
            if _is_under(_Child._on_unraisable, frame):  # what is raised in there is dropped, and nobody is told
                self._deliver_again(call)
            else:
                raise call.interrupt()

    def _words(self, flags: int = 0) -> _wire.AskWords | None:
        """What the host says along with its signal; blocks until it has, but for ``flags``."""
        self.said += self.reader.rest()
        while (words := _wire.read_ask(self.said)) is None:
            try:
                more = self.wire.recv(1 << 16, flags)
            except OSError:  # the tool closed it; or it is empty, and was not to be waited for
                return None
            if not more:
                return None
            self.said += more
        return words

    def _post(self, kind: bytes, payload: bytes) -> None:
        if os.getpid() != self.pid:  # a fork of the tool's: only the first process speaks to the host
            return
        if threading.get_ident() != self.main_thread:
            self._send((kind, payload))
            return
        if self.posting:  # a report out of a ``__del__`` that runs within a report
            return
        self.posting = True
        try:
            self._send((kind, payload))
        finally:
            self._end_of_posting()

    def _end_of_posting(self) -> None:
        self.posting = False
        if self.owed:
            self.owed = False
            self._on_ask(signal.SIGURG, inspect.currentframe())

    def _send(self, *frames: _wire.Frame) -> bool:
        try:
            with self.lock:
                _wire.send(self.fd, *frames)
            return True
        except OSError:  # the host is gone, and this process will be any moment; or the tool closed the wire
            return False

    def _on_unraisable(self, unraisable: Any) -> None:
        call = self.call
        if isinstance(unraisable.exc_value, Interrupt) and call is not None and call.asked:
            self._deliver_again(call)
        else:
            sys.__unraisablehook__(unraisable)

    def _deliver_again(self, call: CallState) -> None:
        """Have the Interrupt raised anew in a moment: it was raised where it had no effect."""
        if self.swallowed is None:
            swallowed: queue.SimpleQueue[CallState] = queue.SimpleQueue()
            self.swallowed = swallowed
            self.posting = True  # as in ``_listen``; what comes meanwhile are the host's other signals of this ask
            try:
                with self.limits.exempt():
                    threading.Thread(target=self._raise_again, args=(swallowed,), daemon=True).start()
            finally:
                self.posting = self.owed = False
        self.swallowed.put(call)

    def _raise_again(self, swallowed: queue.SimpleQueue[CallState]) -> None:
        while True:
            call = swallowed.get()
            time.sleep(_AGAIN_S)
            call.undeliver()
            os.kill(self.pid, signal.SIGURG)


def _is_under(function: Callable[..., Any], frame: types.FrameType | None) -> bool:
    """Whether the frame is the function's, or called on its behalf: for the entry, whether it is the body's.

    The frames are asked and no flag, because between setting a flag and entering the body there is
    always room for a signal.
    """
    code = function.__code__
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def flush_output() -> None:
    """Write out what was printed and is still in a buffer of this process."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # noqa: BLE001 - closed by the tool, or its other end is gone
            pass
    _platform.flush_c_stdout()
