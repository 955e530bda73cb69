"""Starting a fork server: a Python like this one, with its control socket and little else of this process."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from toolexec_strategies._remote._settings import import_path
from toolexec_strategies.fork._limits import Limits
from toolexec_strategies.fork._streams import Streams

# Options that make a Python print or trace about itself: the server's output is the host's.
_OWN_X_OPTIONS: Final = ("importtime", "perf", "perf_jit", "presite", "showrefcount")


def start_server(
    environment: Mapping[str, str], limits: Limits, streams: Streams
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start one.

    Args:
        environment: Its environment.
        limits: What a call in one of its children may use up.
        streams: Where its output goes.

    Returns:
        The host's end of the control socket, and the process.

    Raises:
        OSError: It cannot be started.
    """
    control, theirs = socket.socketpair()
    # Where a host has closed its standard descriptors, a socket may have got the number of one.
    fd = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 3)
    theirs.close()
    try:
        process = subprocess.Popen(
            _command(fd, limits, streams),
            stdin=subprocess.DEVNULL,
            stdout=_standard(1),
            stderr=_standard(2),
            pass_fds=(fd,),
            env=environment,
            start_new_session=True,  # a Ctrl-C at the terminal is not for it
        )
    except BaseException:
        control.close()
        raise
    finally:
        os.close(fd)
    return control, process


def _standard(fd: int) -> int | None:
    """What a server gets for one of the standard descriptors: this process's own (None), unless that was closed."""
    try:
        # What came in its place is not inherited: this is so of whatever Python opens.
        own = os.get_inheritable(fd)
    except OSError:
        own = False
    return None if own else subprocess.DEVNULL


def _command(fd: int, limits: Limits, streams: Streams) -> list[str]:
    """What starts a server that finds toolexec where this process found it."""
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        "from toolexec_strategies.fork._server import Limits, Streams, main\n"
        f"main({fd}, {limits!r}, {streams!r})"
    )
    unbuffered = ["-u"] if streams.captured else []  # in the order in which it was written, up to a crash
    return [sys.executable, *_flags(), *unbuffered, "-c", code]


def _flags() -> list[str]:
    """This Python's own options, as far as they change how code runs."""
    # -P: the user's folder must not shadow the standard library while the server starts.
    flags = ["-P"]
    letters = {
        "optimize": "O",
        "dont_write_bytecode": "B",
        "no_user_site": "s",
        "no_site": "S",
        "ignore_environment": "E",
        "bytes_warning": "b",
    }
    for name, letter in letters.items():
        count = int(getattr(sys.flags, name))
        if count:
            flags.append("-" + letter * count)
    flags += [f"-W{option}" for option in sys.warnoptions]
    for name, value in sys._xoptions.items():  # noqa: SLF001 - documented, for all its underscore
        if name not in _OWN_X_OPTIONS:
            flags.append(f"-X{name}" if value is True else f"-X{name}={value}")
    return flags
