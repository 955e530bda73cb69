"""What a process for each call costs: fork, cold, ready and under load, beside bare forks and shared pools.

    python benchmarks/processes.py [--quick] [--rounds N] [--results FOLDER]

``calls_per_child=None`` is the one row of ours that shares its processes, as the pools do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import toolexec as tx
from _bare import submitted
from _command import run
from _findings import Findings
from _helpers import helper
from _ours import each, waited
from _pools import KEYS, NOTES, PPE, open_pools
from _rounds import Case, Plan, interleave, ratio
from _tools import ADD
from toolexec.lowlevel import usable_cpus

ROUNDS = 40
_FLIGHT = 8
_BALLAST_MB = 500

COLD, READY, BURST = "no child ready", "1 call, a child ready", "4 at once, children ready"
SUSTAINED = f"sustained, {_FLIGHT} in flight"
OURS, REUSED = "toolexec fork", "toolexec fork, calls_per_child=None"
FLOOR, FLOOR_BARE = "os.fork, setsid, PDEATHSIG, pidfd, small process", "os.fork, small process"
MP = "multiprocessing fork per call"
_LARGE = f", {_BALLAST_MB} MB host"


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Every way to run a call in a process, in each of the circumstances that it knows."""
    fork = stack.enter_context(tx.strategy("fork", window=4))
    loaded = stack.enter_context(tx.strategy("fork", window=_FLIGHT))
    reused = stack.enter_context(tx.strategy("fork", window=_FLIGHT, calls_per_child=None))
    pools = open_pools(stack, findings, usable_cpus())
    cold, many = (1, 8) if plan.quick else (10, 100)

    cases: list[Case] = [
        *_by_host(stack, "small", cold),
        *_by_host(stack, "large", cold, ballast_mb=20 if plan.quick else _BALLAST_MB),
        Case(MP, SUSTAINED, each(stack.enter_context(helper("_host.py", "0", "mp-8")), many)),
        *_rows(OURS, waited(fork, ADD), waited(loaded, ADD), many),
        *_rows(REUSED, waited(reused, ADD), waited(reused, ADD), many),
    ]
    for name, submit in pools.items():
        cases += _rows(name, submitted(submit), submitted(submit, _FLIGHT), many)
    for name, way in ((FLOOR, "kept"), (FLOOR_BARE, "bare")):
        one = stack.enter_context(helper("_forker.py", "1", way, isolated=True))
        eight = stack.enter_context(helper("_forker.py", str(_FLIGHT), way, isolated=True))
        cases += [Case(name, COLD, each(one, cold)), Case(name, SUSTAINED, each(eight, many))]
    samples = interleave(cases, plan)

    findings.add_table(
        "A call in another process",
        "us a call",
        {
            (row, column): samples[row, column]
            for row in _in_order(cases)
            for column in _COLUMNS
            if (row, column) in samples
        },
        beside={OURS: PPE, REUSED: PPE, MP: FLOOR, MP + _LARGE: MP, FLOOR_BARE: FLOOR, OURS + _LARGE: OURS},
        notes={**NOTES, MP: "no cancel, nothing reaps what it leaves"},
        scale=1e6,
    )
    findings.figures["fork-cold"] = ratio(samples, (OURS, COLD), (FLOOR, COLD))
    findings.figures["fork-cold-500MB"] = ratio(samples, (OURS + _LARGE, COLD), (OURS, COLD))
    # Throughput is the inverse of the time that a call takes of the whole.
    findings.figures["fork-sustained-mp"] = ratio(samples, (MP, SUSTAINED), (OURS, SUSTAINED))
    for key, name in KEYS.items():
        if name not in pools:
            continue
        findings.figures[f"fork-reuse-{key}"] = ratio(samples, (name, SUSTAINED), (REUSED, SUSTAINED))
        if key != "pebble":
            findings.figures[f"fork-ready-{key}"] = ratio(samples, (OURS, READY), (name, READY))
            findings.figures[f"fork-burst-{key}"] = ratio(samples, (OURS, BURST), (name, BURST))


_COLUMNS = (COLD, READY, BURST, SUSTAINED)


def _in_order(cases: list[Case]) -> list[str]:
    """Ours first, floors and forks next, pools last."""
    names = dict.fromkeys(case.row for case in cases)
    return sorted(names, key=lambda name: (not name.startswith("toolexec"), "fork" not in name))


def _by_host(stack: ExitStack, size: str, count: int, ballast_mb: int = 0) -> list[Case]:
    """In a process of its own, which does nothing else and is as large as it is told to be."""
    suffix = _LARGE if size == "large" else ""
    return [
        Case(name + suffix, COLD, each(stack.enter_context(helper("_host.py", str(ballast_mb), way)), count))
        for name, way in ((OURS, "cold"), (MP, "mp"))
    ]


def _rows(name: str, timed: Callable[[int], float], loaded: Callable[[int], float], many: int) -> list[Case]:
    return [
        Case(name, READY, each(timed, 1)),
        Case(name, BURST, each(timed, 4)),
        Case(name, SUSTAINED, each(loaded, many)),
    ]


if __name__ == "__main__":
    run("processes", measure, rounds=ROUNDS, packages=("pydantic", "loky", "pebble"))
