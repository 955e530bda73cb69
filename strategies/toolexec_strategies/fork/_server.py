"""The fork server: a process with one thread that imports tools' modules and forks a child per call."""

from __future__ import annotations

import importlib
import marshal
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import NoReturn

from toolexec import current_call
from toolexec.lowlevel import Parcel
from toolexec_strategies._remote import _wire
from toolexec_strategies._remote._carry import pack_request
from toolexec_strategies._remote._settings import Settings
from toolexec_strategies.fork import _child, _control, _platform
from toolexec_strategies.fork._child import flush_output
from toolexec_strategies.fork._limits import Limits
from toolexec_strategies.fork._streams import Outlets, Streams

# How long the rest of a killed process group may take to be gone before its leader's death is
# reported without it.  SIGKILL takes effect within a millisecond unless the kernel itself hangs.
_GROUP_GONE_S = 0.05

# How long a child that was killed at the end may take to be reaped.
_LAST_REAP_S = 1.0


def main(fd: int, limits: Limits, streams: Streams) -> NoReturn:
    """Serve one host over its control socket until that closes.

    Args:
        fd: The control socket.
        limits: What a call may use up.
        streams: Where its output goes.
    """
    outlets = Outlets(streams)
    with socket.socket(fileno=fd) as control:
        _Server(control, limits, outlets).run()
    os._exit(0)


def warm_up() -> None:
    """A tool that does next to nothing: a child runs it before its call, so that its memory is its own by then."""
    current_call()  # what tools ask for is imported here, in the server, or each child would import it


class _Server:
    def __init__(self, control: socket.socket, limits: Limits, outlets: Outlets) -> None:
        self.control = control
        self.limits = limits
        self.outlets = outlets
        self.epoch = 0
        self.exit_pipes: dict[int, int] = {}
        self.pid = os.getpid()
        request = pack_request(Parcel(None, "warm-up", warm_up, (), {}, "asyncio"), "fork")
        self.warm = [(_wire.SETTINGS, Settings({}, None).pack()), (_wire.REQUEST, request.payload)]
        self.wakeup, self.waker = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self.waker, False)
        # From 3.15 the modules of the standard library import some of theirs at first use: also here, and in no child.
        traceback.format_exception(ValueError())
        _platform.adopt_orphans()
        self.own_signals()

    def own_signals(self) -> None:
        """Set what the server needs; again after each import, which may have set anything."""
        # Blocked from before a child exists until it can handle it: otherwise an interrupt right
        # after the fork was lost in 83 % of tries.
        signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGURG})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, _wake)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self.wakeup in ready:
                self.drain_wakeup()
                self.reap()
            if self.control.fileno() in ready:
                message = _control.receive(self.control)
                if message is None:  # the host closed, or died
                    return self.end()
                self.obey(message)

    def obey(self, message: _control.Message) -> None:
        if message.kind == _control.FORK:
            self.fork(rehearse=message.first == 1)
        elif message.kind == _control.SIGNAL and message.first in self.exit_pipes:  # not waited for: still that one
            _signal_group(message.first, message.second)
        elif message.kind == _control.IMPORT:
            self.epoch = message.first
            self.load(*marshal.loads(message.payload))  # noqa: S302 - see S301

    def load(self, names: list[str], path: list[str], folder: str | None) -> None:
        """Import modules for the children to come, and report each, so that the host knows at which one this died."""
        sys.path[:] = path
        if folder is not None:
            try:
                os.chdir(folder)
            except OSError:  # the child of a call finds out by itself
                pass
        importlib.invalidate_caches()
        for name in names:
            try:
                importlib.import_module(name)
            except BaseException:  # noqa: BLE001 - its call's child imports it again, and its error is that call's
                pass
            self.own_signals()
            flush_output()  # or each child would print what the module printed without a line's end
            # A fork copies one thread, and every lock that any other thread holds.
            left_thread = _platform.thread_count() > 1
            self.tell(_control.Message(_control.THREAD if left_thread else _control.IMPORTED, self.epoch))
            if left_thread:
                return

    def fork(self, *, rehearse: bool) -> None:
        ours, theirs = socket.socketpair()
        exit_read, exit_write = os.pipe()
        output = self.outlets.pipe()
        try:
            pid = os.fork()
        except OSError as exc:
            for fd in (ours.detach(), theirs.detach(), exit_read, exit_write, *output):
                os.close(fd)
            self.tell(_control.Message(_control.FAILED, exc.errno or 0))
            return
        if pid == 0:
            for fd in (ours.detach(), exit_read, exit_write, self.wakeup, self.waker, self.control.detach()):
                os.close(fd)
            for fd in self.exit_pipes.values():
                os.close(fd)
            self.outlets.connect(output)
            _child.live(theirs.detach(), self.pid, self.limits, self.warm if rehearse else None)
        self.exit_pipes[pid] = exit_write
        fds = [ours.fileno(), exit_read, *output[:1]]
        pidfd = _platform.open_pidfd(pid)
        if pidfd is not None:
            fds.append(pidfd)
        self.tell(_control.Message(_control.CHILD, pid, self.epoch, fds=tuple(fds)))
        for fd in (ours.detach(), theirs.detach(), *fds[1:], *output[1:]):
            os.close(fd)

    def tell(self, message: _control.Message) -> None:
        try:
            _control.send(self.control, message)
        except OSError:  # the host is gone: the next turn of the loop sees it
            pass

    def drain_wakeup(self) -> None:
        try:
            while os.read(self.wakeup, 512):
                pass
        except BlockingIOError:
            pass

    def reap(self) -> None:
        """Take note of every dead child: end its process group, wait for it, report it."""
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None:
                return
            exit_pipe = self.exit_pipes.pop(dead.si_pid, None)
            if exit_pipe is None:  # an orphan that was adopted
                os.waitpid(dead.si_pid, 0)
                continue
            status = _end_group(dead.si_pid)
            try:
                os.write(exit_pipe, _control.EXIT.pack(status))
            except OSError:  # the host gave this one up
                pass
            os.close(exit_pipe)

    def end(self) -> None:
        for pid in self.exit_pipes:
            _signal_group(pid, signal.SIGKILL)
        deadline = time.monotonic() + _LAST_REAP_S
        while self.exit_pipes and time.monotonic() < deadline:
            self.reap()
            if self.exit_pipes:
                time.sleep(0.001)


def _wake(_number: int, _frame: object) -> None:
    """A handler has to be there for the wake-up descriptor to be written to."""


def _signal_group(pid: int, number: int) -> None:
    """Signal a child and its process group; the child must not have been waited for."""
    try:
        os.killpg(pid, number)
    except OSError:  # it has not made its group yet, or (macOS) is a zombie
        try:
            os.kill(pid, number)
        except OSError:
            pass


def _end_group(pid: int) -> int:
    """Kill what is left of a dead child's process group and reap it; the child's wait status.

    While the child is an unreaped zombie, its number is nobody else's, and so is its group's.
    """
    _signal_group(pid, signal.SIGKILL)
    status: int | None = None
    deadline = time.monotonic() + _GROUP_GONE_S
    while True:
        try:
            # Members of the group whose parent died are this process's children by now, on Linux.
            reaped, one = os.waitpid(-pid, os.WNOHANG)
        except ChildProcessError:
            break
        if reaped == pid:
            status = one
        elif reaped == 0:
            if time.monotonic() > deadline:
                break
            time.sleep(0.0005)
    return os.waitpid(pid, 0)[1] if status is None else status  # it had not made its group yet
