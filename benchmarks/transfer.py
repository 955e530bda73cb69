"""What results cost that are large: bytes out of another process, and the memory that the host needs for it.

python benchmarks/transfer.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import toolexec as tx
from _command import run
from _findings import Findings
from _helpers import helper
from _pools import KEYS, NOTES, open_pools
from _rounds import Case, Plan, interleave, ratio
from _tools import MAKE, make
from toolexec.lowlevel import usable_cpus

ROUNDS = 10
SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20, "100 MB": 100 << 20}
QUICK_SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20}
OURS, COPY = "toolexec fork", "a copy in memory"


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """The time of a call, and the host's growth."""
    sizes = QUICK_SIZES if plan.quick else SIZES
    fork = stack.enter_context(tx.strategy("fork"))
    pools = open_pools(stack, findings, usable_cpus())
    ways: dict[str, Callable[[int], object]] = {
        OURS: lambda size: tx.run(MAKE, {"size": size}, fork).value,
        **{name: _submitting(submit) for name, submit in pools.items()},
        COPY: lambda size: bytes(bytearray(size)),
    }
    cases = [Case(name, label, _timed(way, size)) for name, way in ways.items() for label, size in sizes.items()]
    samples = interleave(cases, plan)
    largest = list(sizes)[-1]
    findings.add_table(
        "A call whose result is bytes", "ms", samples, beside=dict.fromkeys(pools, OURS), notes=NOTES, scale=1e3
    )
    for key, name in KEYS.items():
        if name in pools:
            findings.figures[f"transfer-{key}"] = ratio(samples, (OURS, largest), (name, largest))
    _measure_peaks(plan, findings, stack, sizes[largest])


def _measure_peaks(plan: Plan, findings: Findings, stack: ExitStack, size: int) -> None:
    if sys.platform != "linux" or not Path("/proc/self/clear_refs").exists():
        findings.missing["peak memory"] = "only Linux tells it"
        return
    label = f"{size >> 20} MB"
    names = {"toolexec": OURS, **{key: name for key, name in KEYS.items() if name not in findings.missing}}
    cases: list[Case] = []
    for key, name in names.items():
        ask = stack.enter_context(helper("_host.py", "0", f"peak-{key}"))
        cases.append(Case(name, label, lambda ask=ask: ask(size) / size))  # type: ignore[misc]  # mypy#15459
    samples = interleave(cases, plan, 5)
    findings.add_table("Peak memory of the host, over the size of the result", "x", samples, notes=NOTES)
    findings.figures["transfer-peak"] = max(samples[OURS, label])


def _submitting(submit: Callable[..., object]) -> Callable[[int], object]:
    def way(size: int) -> object:
        future: object = submit(make, size)
        return future.result()  # type: ignore[attr-defined]  # three kinds of futures, of which one has types

    return way


def _timed(way: Callable[[int], object], size: int) -> Callable[[], float]:
    def run_once() -> float:
        started = time.perf_counter()
        result = way(size)
        took = time.perf_counter() - started
        assert isinstance(result, bytes)
        assert len(result) == size
        return took

    return run_once


if __name__ == "__main__":
    run("transfer", measure, rounds=ROUNDS, packages=("loky", "pebble"))
