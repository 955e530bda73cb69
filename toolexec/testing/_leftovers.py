"""What a program holds from the system, counted before and after."""

from __future__ import annotations

import gc
import os
import secrets
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolexec.lowlevel import close_shared

# How long threads and processes that are on their way out may take to be gone.  A guess, for a
# machine that is busy with something else.
_GONE_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.005

# The engine's one thread per process: it stays by design.
_STAYS = "toolexec-control"

_PROC = Path("/proc")


class Leftovers(AssertionError):
    """Something was not given back; the text lists it."""


@contextmanager
def assert_no_leftovers(*, within: float = _GONE_WITHIN_S) -> Generator[None]:
    """Fail unless everything that the block took from the system is given back at its end.

    Looked at are descriptors, threads, child processes (ended ones that nobody collected, and
    grandchildren, too) and interpreters; processes and threads outside of Python only where there
    is a /proc.  Before the block and after it the strategies that are used by name are closed; what
    the block made itself, it has to close itself.  The engine's control thread stays, by design.

    Blocks, so not for the thread of a running loop.

    Args:
        within: Seconds that threads and processes may take to be gone.

    Raises:
        Leftovers: An AssertionError that lists what is left.
    """
    close_shared()
    _start_control_thread()
    before = _calm()
    mark = f"TOOLEXEC_TESTING_{secrets.token_hex(8)}"
    os.environ[mark] = "1"  # inherited by every process below this one, whoever its parent becomes
    try:
        yield
    finally:
        del os.environ[mark]
    close_shared()
    until = time.monotonic() + within
    while True:
        gc.collect()
        left = {**_held(), **_marked(mark)}
        for known in before:
            left.pop(known, None)
        if not left:
            return
        if time.monotonic() > until:
            raise Leftovers(f"not given back after {within:g} s: {'; '.join(sorted(left.values()))}")
        time.sleep(_LOOK_EVERY_S)


def _start_control_thread() -> None:
    """Have the thread that stays be there already, whatever the block uses first."""
    from toolexec import MonotonicClock

    MonotonicClock().call_at(0.0, lambda: None)


def _calm() -> dict[object, str]:
    """Everything held, once what is on its way out already has gone."""
    until = time.monotonic() + _GONE_WITHIN_S
    gc.collect()
    held = _held()
    while time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
        before, held = held, _held()
        if before == held:
            break
    return held


def _held() -> dict[object, str]:
    """Everything held now: what tells it apart, and what to call it."""
    return {**_descriptors(), **_threads(), **_tasks(), **_children(), **_interpreters()}


def _descriptors() -> dict[object, str]:
    found: dict[object, str] = {}
    for fd in _names(Path("/dev/fd")):
        with suppress(OSError):  # the one that listing them took is closed by now
            link = _PROC / "self/fd" / fd
            target = os.fspath(link.readlink()) if _PROC.is_dir() else f"inode {os.fstat(int(fd)).st_ino}"
            # libffi keeps its own file open for good, from the first callback that ctypes makes on.
            if not Path(target).name.startswith("libffi."):
                found["fd", fd, target] = f"descriptor {fd} ({target})"
    return found


def _names(folder: Path) -> list[str]:
    """The numbers among the entries of a folder; none where there is no such folder."""
    try:
        return [entry.name for entry in folder.iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _threads() -> dict[object, str]:
    return {
        ("thread", thread.native_id): f"thread {thread.name!r}"
        for thread in threading.enumerate()
        if thread.name != _STAYS
    }


def _tasks() -> dict[object, str]:
    """Threads as the system sees them: those of other interpreters, and of C code, are among them."""
    known = {str(thread.native_id) for thread in threading.enumerate()}
    foreign = [task for task in _names(_PROC / "self/task") if task not in known]
    # By their number: a test runner may have a watchdog of its own, a new thread for each test.
    return {("task", place): f"thread {task} of the system" for place, task in enumerate(foreign)}


def _children() -> dict[object, str]:
    """The children of this process, ended ones too."""
    found: dict[object, str] = {}
    me = os.getpid()
    for pid, state, parent, started in _processes():
        if parent == me:
            ended = " (ended, and not collected)" if state == "Z" else ""
            found["child", pid, started] = f"child process {pid}{ended}"
    return found


def _processes() -> Iterator[tuple[str, str, int, str]]:
    """Pid, state, parent and start time of every process."""
    for pid in _names(_PROC):
        with suppress(OSError):  # gone since
            # The name in parentheses may hold anything, parentheses too.
            fields = (_PROC / pid / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            yield pid, fields[0], int(fields[1]), fields[19]


def _marked(mark: str) -> dict[object, str]:
    """Processes that were started below this one while ``mark`` was in its environment."""
    found: dict[object, str] = {}
    wanted = f"{mark}=".encode()
    for pid in _names(_PROC):
        with suppress(OSError):  # gone since, or somebody else's
            if wanted in (_PROC / pid / "environ").read_bytes():
                found["process", pid] = f"process {pid}, below this one"
    return found


def _interpreters() -> dict[object, str]:
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        return {("interpreter", one.id): f"interpreter {one.id}" for one in interpreters.list_all()}
    return {}
