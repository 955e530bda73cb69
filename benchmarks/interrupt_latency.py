"""How long an interrupt takes: from ``interrupt()`` to ``wait()`` returning, beside the bare primitive.

    python benchmarks/interrupt_latency.py [--quick] [--rounds N] [--results FOLDER]

A tool has shown that it runs before it is interrupted.  The grace is short here, so that tools which
ignore everything take no minutes.
"""

from __future__ import annotations

import itertools
import logging
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import _latency_bare as bare
import _latency_tools as tools
import toolexec as tx
from _command import open_strategies, run
from _findings import Findings
from _rounds import Case, Plan, interleave, ratio
from toolexec.testing import Gate

ROUNDS = 40
GRACE_S = 0.2
_COLUMN = "median"

TASK, SCOPE = "asyncio: Task.cancel, bare", "trio: CancelScope.cancel, bare"
RAISE, KILL = "thread: SetAsyncExc into a loop of sleeps, bare", "process: SIGKILL to waitpid, bare"
PEBBLE = "process: pebble's cancel, to the end of the worker"
NORMAL, NEXT = "a call after one that ended by itself", "the next call after one that was ended"
_BARE = {"asyncio": TASK, "trio": SCOPE, "thread": RAISE, "fork": KILL}

# Does it once, and gives seconds; takes the path of a gate that it may use.
Measure = Callable[[str], float]


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Every tool under every strategy that it is for."""
    logging.getLogger("toolexec").setLevel(logging.ERROR)  # it tells of each call that is left behind
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    paths = (f"{folder}/{number}" for number in itertools.count())
    rows: dict[str, Measure] = {TASK: bare.cancel_task, SCOPE: bare.cancel_scope, RAISE: bare.raise_in_thread}
    rows[KILL] = bare.kill_process
    try:
        rows[PEBBLE] = stack.enter_context(bare.pebble_pool())
    except ImportError:
        findings.missing["pebble"] = "it is not installed"
    rows |= _strategies(stack, findings)
    cases = [Case(row, _COLUMN, lambda timed=timed: timed(next(paths))) for row, timed in rows.items()]  # type: ignore[misc]  # mypy#15459
    samples = interleave(cases, plan)
    by_strategy = {row: _BARE.get(row.partition(":")[0]) for row in rows if not row.endswith((NORMAL, "bare"))}
    findings.add_table(
        f"From interrupt() to the Return, with a grace of {GRACE_S} s",
        "ms",
        samples,
        beside={
            **{row: reference for row, reference in by_strategy.items() if reference is not None},
            **{f"{name}: {NEXT}": f"{name}: {NORMAL}" for name in ("fork", "interpreter")},
        },
        scale=1e3,
    )
    for key, row, reference in (
        ("asyncio", "asyncio: async, sleeps", TASK),
        ("trio", "trio: async, sleeps", SCOPE),
        ("fork", "fork: a tool that sleeps", KILL),
        ("fork-hook", "fork: a tool that sleeps, with a hook", KILL),
        ("fork-next", f"fork: {NEXT}", f"fork: {NORMAL}"),
    ):
        findings.figures[f"interrupt-{key}"] = ratio(samples, (row, _COLUMN), (reference, _COLUMN))


def _strategies(stack: ExitStack, findings: Findings) -> dict[str, Measure]:
    rows: dict[str, Measure] = {}
    names = ("asyncio", "trio", "thread", "fork", "interpreter")
    for name, strategy in open_strategies(stack, findings, names, grace=GRACE_S).items():
        for what, tool in tools.TOOLS.items():
            if what.startswith("async") == (name in ("asyncio", "trio")):
                rows[f"{name}: {what}"] = _interrupting(tool, strategy)
        if name in ("fork", "interpreter"):
            rows[f"{name}: {NORMAL}"] = _calling(strategy)
            rows[f"{name}: {NEXT}"] = _calling_next(strategy)
    return rows


def _interrupting(tool: Any, strategy: tx.Strategy) -> Measure:
    """Interrupts a tool that has shown that it runs."""

    def timed(path: str) -> float:
        with Gate(path) as gate:
            task = tool.bind({"gate": gate.path}).task(strategy)
            gate.wait_until_reached()
            begun = bare.now()
            task.interrupt()
            ret = task.wait(60)
            took = bare.now() - begun
        assert ret.status == "cancelled", ret
        return took

    return timed


def _calling(strategy: tx.Strategy) -> Measure:
    def timed(_: str) -> float:
        begun = bare.now()
        assert tx.run(tools.nothing, {}, strategy).ok
        return bare.now() - begun

    return timed


def _calling_next(strategy: tx.Strategy) -> Measure:
    """A call that follows right after one that had to be ended by force, or was left behind."""
    end, call = _interrupting(tools.ignores, strategy), _calling(strategy)

    def timed(path: str) -> float:
        end(path)
        return call(path)

    return timed


if __name__ == "__main__":
    run("interrupt_latency", measure, rounds=ROUNDS, packages=("trio", "pebble"))
