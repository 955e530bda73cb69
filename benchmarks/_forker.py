"""The bare fork: a process of one thread that times forking N children, for as long as it is asked to.

A process of its own, as toolexec's fork server is one: forked from the benchmark's process every child
would pay for copying the page tables of pydantic, trio and all.  It imports next to nothing, because
modules such as threading and random leave hooks that run in every child; so this is as cheap as
os.fork gets, and cheaper than most programs that call it.

    python _forker.py WINDOW bare|kept

``kept`` does what keeps such a child from being lost: a session of its own, a death signal for when its
parent ends, and a pidfd.  Reads a number of calls per line; answers each with the seconds they took.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections import deque

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def main() -> None:
    window = int(sys.argv[1])
    libc = ctypes.CDLL(None) if sys.argv[2] == "kept" else None
    for line in sys.stdin:
        calls = int(line)
        started = time.perf_counter()
        results = _fork_all(calls, window, libc)
        took = time.perf_counter() - started
        assert results == [call + 1 for call in range(calls)]
        print(took, flush=True)


def _fork_all(calls: int, window: int, libc: ctypes.CDLL | None) -> list[int]:
    """Run each call in a child, ``window`` of them at once; results in call order."""
    results: list[int] = []
    flying: deque[tuple[int, int, int | None]] = deque()
    for call in range(calls):
        if len(flying) == window:
            results.append(_finish(*flying.popleft()))
        flying.append(_fork_one(call, 1, libc))
    while flying:
        results.append(_finish(*flying.popleft()))
    return results


def _fork_one(a: int, b: int, libc: ctypes.CDLL | None) -> tuple[int, int, int | None]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        if libc is not None:
            os.setsid()
            libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        os.write(writer, b"%d" % (a + b))
        os._exit(0)
    os.close(writer)
    return pid, reader, None if libc is None or sys.platform != "linux" else os.pidfd_open(pid)


def _finish(pid: int, reader: int, pidfd: int | None) -> int:
    result = int(os.read(reader, 64))
    os.close(reader)
    os.waitpid(pid, 0)
    if pidfd is not None:
        os.close(pidfd)
    return result


if __name__ == "__main__":
    main()
