"""The forked child: one process, one call."""

from __future__ import annotations

import inspect
import os
import signal
import socket
import sys
import threading
import traceback
import types
from contextvars import Context
from typing import Any, NoReturn

from toolexec import Interrupt, WorkerLost
from toolexec.lowlevel import Ask, CallState, Outcome
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import pack_outcome
from toolexec_strategies._remote._serve import answer, entry_frame
from toolexec_strategies._remote._settings import NoFolder, apply_settings
from toolexec_strategies.fork import _platform

WHERE = "the forked child"

# The exit code of a child that had an answer and no wire to send it by.  A tool may end itself by
# the same code; the host's text allows for that.
NO_WIRE = 74  # EX_IOERR

# How long after an Interrupt was swallowed (raised inside a ``__del__`` or a gc callback, where
# Python drops it) the next one is tried.  Longer than any such callback should take.
_AGAIN_S = 0.06


def live(fd: int, server: int, warm: list[tuple[bytes, bytes]] | None) -> NoReturn:
    """Wait for a request, answer it, end.

    Args:
        fd: The wire to the host.
        server: The server's pid.
        warm: The frames of a call of nothing to rehearse; None when a call is waiting already.
    """
    try:
        _Child(fd).run(server, warm)
    except BaseException:  # noqa: BLE001 - whatever it is, this process must never return into the server's loop
        traceback.print_exc()
        os._exit(70)  # EX_SOFTWARE
    os._exit(0)


class _Child:
    def __init__(self, fd: int) -> None:
        self.wire = socket.socket(fileno=fd)
        self.fd = fd
        self.reader = _wire.Reader(fd)
        self.pid = os.getpid()
        self.main_thread = threading.get_ident()
        self.lock = threading.Lock()  # frames of a tool's several threads must not mix
        self.call: CallState | None = None
        self.asked = False
        self.posting = False  # is the main thread writing a frame?
        self.owed = False  # an ask that came meanwhile
        self.delivered = False  # the Interrupt was raised, or the body's task cancelled

    def run(self, server: int, warm: list[tuple[bytes, bytes]] | None) -> None:
        os.setsid()
        _platform.die_with_parent(server)
        self._own_signals()
        numpy_random: Any = sys.modules.get("numpy.random")
        if numpy_random is not None:  # ``random`` reseeds itself after a fork
            numpy_random.seed()
        if warm is not None:
            Context().run(self._rehearse, warm)
        try:
            payload = self._serve()
        except EOFError:  # a spare that is not needed any more
            return
        if os.getpid() != self.pid:  # the tool forked, and this is not the one that was called
            os._exit(0)
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            _flush(stream)
        self.posting = True  # an ask that comes now is too late
        if not self._send(_wire.RESULT, payload):
            os._exit(NO_WIRE)

    def _serve(self) -> bytes:
        settings = self.reader.frame()[1]
        request = self.reader.frame()[1]
        try:
            apply_settings(settings)
        except NoFolder as exc:
            lost = WorkerLost(f"{WHERE} {exc}", pid=self.pid)
            return pack_outcome(Outcome("lost", exception=lost), None, WHERE)
        return answer(request, self._post, WHERE, adopt=self._adopt)

    def _rehearse(self, warm: list[tuple[bytes, bytes]]) -> None:
        """Do once, on a wire to nobody, all that a call does.

        A forked process shares its memory until it writes to it (a reference count is enough), and
        then copying costs more than all else: 300 pages per call, which take 0.3 to 2 ms.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            rehearsal = _Child(ours.fileno())
            _wire.send(theirs.fileno(), *warm)
            rehearsal._send(_wire.RESULT, rehearsal._serve())
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

    def _adopt(self, call: CallState) -> None:
        self.call = call
        # An ask that came while the request was still being read or unpacked.  Should one come
        # right here, the handler finds the call: either of the two tells it.
        if self.asked and not call.asked:
            self._tell(call)

    def _on_ask(self, _number: int, frame: types.FrameType | None) -> None:
        self.asked = True
        if self.posting:
            self.owed = True  # half a frame on the wire would be the end of the call: _post goes on from here
            return
        # Signals are sent again until this arrives, so one may well come while it is being sent.
        self.posting = True
        try:
            self._send(_wire.HEARD, b"")
        finally:
            self.posting = self.owed = False
        call = self.call
        if call is None:  # the request may not be read yet: leave what comes in alone, and see _adopt
            return
        if not call.asked:
            self._tell(call)
        if self.delivered:  # a signal was sent again, because of another that seemed lost
            return
        if call.cancels:  # the body awaits in a loop of its own: its task is cancelled natively
            self.delivered = True
            call.cancel_once()
        elif _under_entry(frame):
            self.delivered = True
            raise call.interrupt()

    def _tell(self, call: CallState) -> None:
        call.ask(Ask(self._reason()))

    def _reason(self) -> str:
        """The words that the host sent along."""
        data = self.reader.rest()
        try:
            data += self.wire.recv(1 << 16, socket.MSG_DONTWAIT)
        except OSError:
            pass
        return _wire.read_ask(data) or "interrupted"

    def _post(self, kind: bytes, payload: bytes) -> None:
        if os.getpid() != self.pid:  # a fork of the tool's: only the first process speaks to the host
            return
        if threading.get_ident() != self.main_thread:
            self._send(kind, payload)
            return
        if self.posting:  # a report out of a ``__del__`` that runs within a report
            return
        self.posting = True
        try:
            self._send(kind, payload)
        finally:
            self.posting = False
        if self.owed:
            self.owed = False
            self._on_ask(signal.SIGURG, inspect.currentframe())

    def _send(self, kind: bytes, payload: bytes) -> bool:
        try:
            with self.lock:
                _wire.send(self.fd, (kind, payload))
            return True
        except OSError:  # the host is gone, and this process will be any moment; or the tool closed the wire
            return False

    def _on_unraisable(self, unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Interrupt) and self.call is not None and self.call.asked:
            self.delivered = False
            again = threading.Timer(_AGAIN_S, os.kill, (self.pid, signal.SIGURG))
            again.daemon = True
            again.start()
        else:
            sys.__unraisablehook__(unraisable)


def _under_entry(frame: types.FrameType | None) -> bool:
    """Whether the frame is the body's, or what the engine called on its behalf.

    The frames are asked and no flag, because between setting a flag and entering the body there is
    always room for a signal.
    """
    while frame is not None:
        if frame.f_code is entry_frame.__code__:
            return True
        frame = frame.f_back
    return False


def _flush(stream: Any) -> None:
    try:
        if stream is not None:
            stream.flush()
    except BaseException:  # noqa: BLE001 - closed by the tool, or its other end is gone
        pass
