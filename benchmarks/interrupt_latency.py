"""How long an interrupt takes: from ``interrupt()`` to ``wait()`` returning, beside the bare primitive.

    python benchmarks/interrupt_latency.py [--quick] [--rounds N]

Every round measures every case once, in an order of its own.  A tool has shown that it runs before it
is interrupted.  The grace is short here, so that tools which ignore everything take no minutes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _latency_bare as bare
import _latency_tools as tools
import toolexec as tx
from _report import load
from toolexec.testing import Gate

ROUNDS = 100
QUICK_ROUNDS = 2
GRACE_S = 0.2

# One tool under one strategy, or a primitive; gives seconds.
Measure = Callable[[str], float]


@dataclass(frozen=True)
class Case:
    """A row of the table.

    Attributes:
        name: What is interrupted, and where.
        measure: Does it once; takes the path of a gate that it may use.
    """

    name: str
    measure: Measure


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    samples: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    before = load()
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        cases = [*_primitives(stack, missing), *_strategies(stack, missing)]
        for case in cases:
            case.measure(f"{folder}/first {case.name.replace('/', '-')}")  # cold
        for number in range(rounds):
            for case in random.sample(cases, len(cases)):
                path = f"{folder}/{number} {case.name.replace('/', '-')}"
                samples.setdefault(case.name, []).append(case.measure(path))
    print(f"{rounds} rounds, grace {GRACE_S} s, load {before} to {load()}; milliseconds")
    print(f"{'':58}{'median':>9}{'p99':>9}")
    for case in cases:
        print(f"{case.name:58}{_ms(statistics.median(samples[case.name]))}{_ms(_p99(samples[case.name]))}")
    for name, why in missing.items():
        print(f"not measured: {name}: {why}")


def _primitives(stack: ExitStack, missing: dict[str, str]) -> list[Case]:
    cases = [
        Case("asyncio: Task.cancel, bare", bare.cancel_task),
        Case("trio: CancelScope.cancel, bare", bare.cancel_scope),
        Case("thread: SetAsyncExc into a loop of sleeps, bare", bare.raise_in_thread),
        Case("process: SIGKILL to waitpid, bare", bare.kill_process),
    ]
    try:
        cases.append(
            Case("process: pebble's cancel, to the end of the worker", stack.enter_context(bare.pebble_pool()))
        )
    except ImportError:
        missing["pebble"] = "it is not installed"
    return cases


def _strategies(stack: ExitStack, missing: dict[str, str]) -> list[Case]:
    cases: list[Case] = []
    for name in ("asyncio", "trio", "thread", "fork", "interpreter"):
        try:
            strategy = stack.enter_context(tx.strategy(name, grace=GRACE_S))
        except tx.StrategyUnavailable as exc:
            missing[name] = str(exc)
            continue
        for what, tool in tools.TOOLS.items():
            if what.startswith("async") != (name in ("asyncio", "trio")):
                continue
            cases.append(Case(f"{name}: {what}", _Interrupted(tool, strategy)))
        if name in ("fork", "interpreter"):
            cases.append(Case(f"{name}: the next call after one that was ended", _NextCall(strategy)))
    return cases


class _Interrupted:
    """Interrupts a tool that has shown that it runs."""

    def __init__(self, tool: Any, strategy: tx.Strategy) -> None:
        self._tool = tool
        self._strategy = strategy

    def __call__(self, path: str) -> float:
        with Gate(path) as gate:
            task = self._tool.bind({"gate": gate.path}).task(self._strategy)
            gate.wait_until_reached()
            begun = bare.now()
            task.interrupt()
            ret = task.wait(60)
            took = bare.now() - begun
        assert ret.status == "cancelled", ret
        return took


class _NextCall:
    """Times a call that follows right after one that had to be ended by force, or was left behind."""

    def __init__(self, strategy: tx.Strategy) -> None:
        self._end = _Interrupted(tools.ignores, strategy)
        self._strategy = strategy

    def __call__(self, path: str) -> float:
        self._end(path)
        begun = bare.now()
        assert tx.run(tools.nothing, {}, self._strategy).ok
        return bare.now() - begun


def _p99(samples: Sequence[float]) -> float:
    return statistics.quantiles(samples, n=100, method="inclusive")[98] if len(samples) > 1 else samples[0]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:>9.2f}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"See {Path(__file__).name}.")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--rounds", type=int, default=None, metavar="N")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
