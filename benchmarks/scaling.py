"""Whether a call costs more in a larger batch: each strategy with 100 calls and with 10,000.

python benchmarks/scaling.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack

import trio

import toolexec as tx
from _command import open_strategies, run
from _findings import Findings
from _ours import awaited, each, waited
from _rounds import Case, Plan, interleave, ratio
from _tools import ADD, ADD_ASYNC

ROUNDS = 10
SMALL, LARGE = 100, 10_000
QUICK_LARGE = 200
# Ten thousand calls in workers of their own take long.
_MOST_ROUNDS = {"fork": 2, "interpreter": 3}


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """The cost of a call in a batch of each size."""
    large = QUICK_LARGE if plan.quick else LARGE
    columns = {f"{SMALL:,}": SMALL, f"{large:,}": large}
    opened = open_strategies(stack, findings)
    cases: list[Case] = []
    for name, strategy in opened.items():
        timed = _after_a_small_one(_timed(name, strategy))
        for column, count in columns.items():
            is_large = count == large
            cases.append(Case(name, column, each(timed, count), _MOST_ROUNDS.get(name), warm_up=not is_large))
    samples = interleave(cases, plan)
    findings.add_table("Cost of a call, by the number of calls in a batch", "us a call", samples, scale=1e6)
    few, many = columns
    for name in opened:
        findings.figures[f"growth-{name}"] = ratio(samples, (name, many), (name, few))


def _after_a_small_one(timed: Callable[[int], float]) -> Callable[[int], float]:
    """With caches as a small batch leaves them: what ten thousand calls leave would double the cost of the next 100."""

    def run_both(count: int) -> float:
        timed(SMALL)
        return timed(count)

    return run_both


def _timed(name: str, strategy: tx.Strategy) -> Callable[[int], float]:
    if name not in ("asyncio", "trio"):
        return waited(strategy, ADD)
    inside = awaited(strategy, ADD_ASYNC)

    async def main(count: int) -> float:
        return await inside(count)

    return (lambda count: trio.run(main, count)) if name == "trio" else (lambda count: asyncio.run(main(count)))


if __name__ == "__main__":
    run("scaling", measure, rounds=ROUNDS)
