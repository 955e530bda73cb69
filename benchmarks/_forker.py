"""The bare fork: a process of one thread that times forking N children, for as long as it is asked to.

A process of its own, as toolexec's fork server is one: forked from the benchmark's process every child
would pay for copying the page tables of pydantic, trio and all.  It imports next to nothing, because
modules such as threading and random leave hooks that run in every child; so this is as cheap as
os.fork gets, and cheaper than most programs that call it.

    python _forker.py WINDOW

Reads a number of calls per line; answers each with the seconds they took.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque


def main() -> None:
    window = int(sys.argv[1])
    for line in sys.stdin:
        calls = int(line)
        started = time.perf_counter()
        results = _fork_all(calls, window)
        took = time.perf_counter() - started
        assert results == [call + 1 for call in range(calls)]
        print(took, flush=True)


def _fork_all(calls: int, window: int) -> list[int]:
    """Run each call in a child, ``window`` of them at once; results in call order."""
    results: list[int] = []
    flying: deque[tuple[int, int]] = deque()
    for call in range(calls):
        if len(flying) == window:
            results.append(_finish(*flying.popleft()))
        flying.append(_fork_one(call, 1))
    while flying:
        results.append(_finish(*flying.popleft()))
    return results


def _fork_one(a: int, b: int) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"%d" % (a + b))
        os._exit(0)
    os.close(writer)
    return pid, reader


def _finish(pid: int, reader: int) -> int:
    result = int(os.read(reader, 64))
    os.close(reader)
    os.waitpid(pid, 0)
    return result


if __name__ == "__main__":
    main()
