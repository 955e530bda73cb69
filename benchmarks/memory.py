"""What memory calls take: waiting in a queue, and when they are over and forgotten.

    python benchmarks/memory.py [--quick] [--rounds N] [--results FOLDER]

Counted is what Python allocates (tracemalloc), not what the system gives; it hardly varies, so there is
one round of each.  The fork server's part is what the system says that it holds.
"""

from __future__ import annotations

import gc
import resource
import statistics
import tempfile
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import toolexec as tx
from _command import open_strategies, run
from _findings import Findings
from _latency_tools import polls
from _ours import calls_of
from _rounds import Plan, Samples
from _tools import ADD
from toolexec.testing import Gate

ROUNDS = 1
_STRETCHES = 3
_QUEUED, _KEPT, _SERVER = "queued", "kept after it", "kept after it, server"


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Bytes per call."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    tracemalloc.start()
    stack.callback(tracemalloc.stop)
    samples: dict[tuple[str, str], list[float]] = {}
    findings.missing["interpreter"] = "CPython crashes where tracemalloc meets subinterpreters (seen with 3.14)"
    for name in ("sequential", "thread", "asyncio", "trio", "fork"):
        strategies = open_strategies(stack, findings, (name,), grace=0.2)
        for strategy in strategies.values():
            if name != "sequential":  # whose calls wait with whoever waits for them
                samples[name, _QUEUED] = [_queued(strategy, 300 if plan.quick else 10_000, f"{folder}/{name}")]
            count = 50 if plan.quick else 1_000 if name == "fork" else 5_000
            host, server = _kept(strategy, count)
            samples[name, _KEPT] = [host]
            if name == "fork":
                samples[name, _SERVER] = [server]
    found: Samples = samples
    findings.add_table("Memory of a call", "bytes a call", found)
    findings.figures["queued"] = max(found[key][0] for key in found if key[1] == _QUEUED)
    findings.figures["flat"] = max(found["fork", _KEPT][0], found["fork", _SERVER][0])


def _queued(strategy: tx.Strategy, count: int, path: str) -> float:
    """Calls of a Group that lets one run at a time, while that one runs."""
    ctx = tx.Context(tools=[polls, ADD], strategy=strategy, history=False)
    with Gate(path) as gate:
        calls = [{"id": "first", "name": "polls", "arguments": {"gate": gate.path}}, *calls_of(ADD, count)]
        before = _allocated()
        group = ctx.receive(calls).group(window=1)
        gate.wait_until_reached()
        held = _allocated() - before
        group.interrupt()
        group.wait()
    return held / count


def _kept(strategy: tx.Strategy, count: int) -> tuple[float, float]:
    """What is still there after so many calls, and was not there before them."""
    ctx = tx.Context(tools=[ADD], strategy=strategy, history=False)
    calls = calls_of(ADD, count)

    def make_some(some: int) -> None:
        for call in calls[:some]:
            assert ctx.submit(call).wait().ok

    make_some(count // 2)  # caches, and workers
    host: list[float] = []
    server: list[float] = []
    for _ in range(_STRETCHES):
        before, outside = _allocated(), _servers()
        make_some(count)
        host.append((_allocated() - before) / count)
        server.append((_servers() - outside) / count)
    # What is kept for each call is kept in each stretch; what a cache or a thread took is not.
    return statistics.median(host), statistics.median(server)


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _servers() -> int:
    """What this process's children hold, in bytes, without theirs, which end with their calls; 0 if nobody tells."""
    pids: list[str] = []
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            pids += task.read_text(encoding="ascii").split()
        except OSError:  # the thread has ended meanwhile
            continue
    return sum(_resident(pid) for pid in pids)


def _resident(pid: str) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # it has ended meanwhile
        return 0
    return pages * resource.getpagesize()


if __name__ == "__main__":
    run("memory", measure, rounds=ROUNDS)
