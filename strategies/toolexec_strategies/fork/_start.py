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

# Options that make a Python print or trace about itself: the server's output is the host's.
_OWN_X_OPTIONS: Final = ("importtime", "perf", "perf_jit", "presite", "showrefcount")


def start_server(environment: Mapping[str, str], limits: Limits) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start one.

    Args:
        environment: Its environment.
        limits: What a call in one of its children may use up.

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
            _command(fd, limits),
            stdin=subprocess.DEVNULL,
            stderr=None if sys.__stderr__ is not None else subprocess.DEVNULL,
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


def _command(fd: int, limits: Limits) -> list[str]:
    """What starts a server that finds toolexec where this process found it."""
    code = (
        f"import sys; sys.path[:] = {import_path()!r}\n"
        "from toolexec_strategies.fork._server import Limits, main\n"
        f"main({fd}, {limits!r})"
    )
    return [sys.executable, *_flags(), "-c", code]


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
