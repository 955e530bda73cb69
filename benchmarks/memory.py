"""What memory calls take: waiting in a queue, and when they are over and forgotten.

    python benchmarks/memory.py [--quick] [--rounds N] [--results FOLDER]

Counted is what Python allocates (tracemalloc), not what the system gives; it hardly varies, so there is
one round of each.  The fork server's and its children's part is what the system says they hold.
"""

from __future__ import annotations

import gc
import os
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
_QUEUED, _KEPT, _SERVER = "queued", "kept after it", "kept after it, server and children"


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

    make_some(count // 5)  # caches, and workers
    before, outside = _allocated(), _children()
    make_some(count)
    return (_allocated() - before) / count, (_children() - outside) / count


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _children(parent: int | None = None) -> int:
    """What the processes below this one hold for themselves, in bytes; 0 where that cannot be told."""
    total = 0
    parent = os.getpid() if parent is None else parent
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            pids = task.read_text(encoding="ascii").split()
        except OSError:  # the thread has ended meanwhile
            continue
        for pid in pids:
            total += _private(int(pid)) + _children(int(pid))
    return total


def _private(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended meanwhile
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    run("memory", measure, rounds=ROUNDS)
