"""The messages between the host and its fork server."""

from __future__ import annotations

import array
import socket
import struct
from typing import Final, NamedTuple

# Host to server:
FORK: Final = b"F"  # one more child; first: 1 if there is time for a rehearsal
IMPORT: Final = b"I"  # first: the epoch; payload: names, import path, folder, as marshal
SIGNAL: Final = b"G"  # first: the child's pid, second: the signal, for its process group
# Server to host:
CHILD: Final = b"C"  # first: the pid, second: the epoch; fds: wire, exit pipe, output if captured, maybe a pidfd
IMPORTED: Final = b"I"  # one name of an IMPORT is done; first: the epoch
THREAD: Final = b"T"  # likewise, and it left a thread running
FAILED: Final = b"X"  # first: the errno of a fork that failed

_HEADER: Final = struct.Struct("!cQQI")
_MOST_FDS: Final = 4
FEWEST_FDS: Final = 2  # without captured output and without a pidfd

# What the exit pipe carries: the wait status.
EXIT: Final = struct.Struct("!i")


class Message(NamedTuple):
    """One message."""

    kind: bytes
    first: int = 0
    second: int = 0
    payload: bytes = b""
    fds: tuple[int, ...] = ()


def send(control: socket.socket, message: Message, flags: int = 0) -> None:
    """Send a message in one piece.

    One ``send`` each: several threads of the host use one control socket without a lock, and a Unix
    socket does not interleave sends that fit its buffer.

    Raises:
        OSError: The other side is gone; or, with MSG_DONTWAIT, it does not listen.
    """
    header = _HEADER.pack(message.kind, message.first, message.second, len(message.payload))
    if message.fds:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", message.fds))
        control.sendmsg([header, message.payload], [rights], flags)
    else:
        control.sendall(header + message.payload, flags)


def receive(control: socket.socket) -> Message | None:
    """The next message, or None at the end; blocks."""
    header = b""
    fds: list[int] = []
    while len(header) < _HEADER.size:
        try:
            data, passed, _, _ = socket.recv_fds(control, _HEADER.size - len(header), _MOST_FDS)
        except OSError:
            data, passed = b"", []
        fds += passed
        if not data:
            return None
        header += data
    kind, first, second, length = _HEADER.unpack(header)
    payload = b""
    while len(payload) < length:
        data = control.recv(length - len(payload))
        if not data:
            return None
        payload += data
    return Message(kind, first, second, payload, tuple(fds))
