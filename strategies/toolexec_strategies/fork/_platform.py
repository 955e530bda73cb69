"""What only some Unix systems have, each with what happens where it is missing."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def die_with_parent(parent: int) -> None:
    """Be killed when ``parent``, the one that forked this process, ends.

    Elsewhere than on Linux a child that runs when the server is killed runs on; its host kills it.
    The signal belongs to the *thread* that forked: the server has only one.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of what dead descendants leave behind, so that no zombie waits for an init that never comes."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def open_pidfd(pid: int) -> int | None:
    """A descriptor for a child that was not waited for yet, or None where there are none."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # a kernel before 5.3, or a sandbox that forbids it
        return None


def signal_pidfd(pidfd: int, number: int) -> None:
    """Send a signal to the very process, alive or dead."""
    if sys.platform == "linux":
        try:
            signal.pidfd_send_signal(pidfd, number)
        except OSError:  # it ended
            pass


def thread_count() -> int:
    """How many threads this process has; 1 where the system does not tell."""
    try:
        # A folder for each, of which Linux counts the links as of any others: to list them takes five times as long.
        return os.stat("/proc/self/task").st_nlink - 2  # noqa: PTH116 - on the path of every call
    except OSError:
        return 1


def flush_c_stdout() -> None:
    """Write out what C code has printed; ``os._exit`` would drop it."""
    stream = _c_stdout()
    if stream is not None:
        _libc().fflush(stream)


@functools.cache
def _c_stdout() -> ctypes.c_void_p | None:
    for name in ("stdout", "__stdoutp"):  # as glibc and musl call it, and as macOS does
        try:
            return ctypes.c_void_p.in_dll(_libc(), name)
        except ValueError:  # no such symbol
            continue
    return None


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    _libc().prctl(option, value, 0, 0, 0)


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None)
