"""How near calls that only wait come to waiting once: sleeps of 50 ms, all at the same time.

python benchmarks/makespan.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import trio

import _bare as bare
import _tools as tools
from _command import open_strategies, run
from _findings import Findings
from _ours import awaited, waited
from _rounds import Case, Plan, interleave, ratio

ROUNDS = 20
SYNC, ASYNC = 64, 1000
IDEAL_S = 0.05
_LIMIT_S = 30.0
IDEAL = "ideal"
OURS = {"thread": "toolexec thread", "asyncio": "toolexec asyncio", "trio": "toolexec trio"}
_ASYNC_COLUMN = f"{ASYNC:,} async, a deadline each"
_COLUMNS = {"thread": f"{SYNC} sync", "asyncio": _ASYNC_COLUMN, "trio": _ASYNC_COLUMN}


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """The whole batch, beside the one sleep that it could be."""
    cases = [
        Case(row, column, timed)
        for column, rows in {_COLUMNS["thread"]: _sync(findings, stack), _ASYNC_COLUMN: _async(findings, stack)}.items()
        for row, timed in {IDEAL: lambda: IDEAL_S, **rows}.items()
    ]
    samples = interleave(cases, plan)
    names = {row for row, _ in samples} - {IDEAL}
    findings.add_table(
        "Calls that sleep 50 ms, from the first to the last",
        "ms",
        samples,
        beside=dict.fromkeys(names, IDEAL),
        notes={"asyncio.to_thread": "as many threads as it has by default"},
        scale=1e3,
    )
    for strategy, column in _COLUMNS.items():
        findings.figures[f"{strategy}-sleeps"] = ratio(samples, (OURS[strategy], column), (IDEAL, column))


def _sync(findings: Findings, stack: ExitStack) -> dict[str, Callable[[], float]]:
    pool = stack.enter_context(ThreadPoolExecutor(SYNC))
    ours = waited(open_strategies(stack, findings, ("thread",))["thread"], tools.REST)
    mapped = bare.mapped(pool, tools.rest)
    return {
        f"ThreadPoolExecutor({SYNC}).map": lambda: mapped(SYNC),
        "asyncio.to_thread": lambda: asyncio.run(bare.to_thread(SYNC, tools.rest)),
        OURS["thread"]: lambda: ours(SYNC),
    }


def _async(findings: Findings, stack: ExitStack) -> dict[str, Callable[[], float]]:
    strategies = open_strategies(stack, findings, ("asyncio", "trio"))
    runner = stack.enter_context(asyncio.Runner())
    ours = {name: awaited(strategy, tools.REST_ASYNC) for name, strategy in strategies.items()}

    async def under_asyncio() -> float:
        return await ours["asyncio"](ASYNC)

    return {
        "asyncio.gather, asyncio.timeout each": lambda: runner.run(bare.gather(ASYNC, tools.rest_async, _LIMIT_S)),
        OURS["asyncio"]: lambda: runner.run(under_asyncio()),
        "trio nursery, move_on_after each": lambda: trio.run(bare.nursery, ASYNC, tools.rest_async, _LIMIT_S),
        OURS["trio"]: lambda: trio.run(ours["trio"], ASYNC),
    }


if __name__ == "__main__":
    run("makespan", measure, rounds=ROUNDS)
