"""What a call costs in this process: each strategy beside its bare primitive, with a tool that does nothing.

    python benchmarks/overhead.py [--quick] [--rounds N] [--results FOLDER]

What is timed: for toolexec, from the calls as a model sends them to all their Returns, with arguments
parsed and validated; for a primitive, the same calls of the same function, with arguments as they are.
Pools, loops and threads are there before, and entering a loop is not timed: who has one is in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import trio

import _bare as bare
import _tools as tools
from _command import open_strategies, run
from _findings import Findings
from _ours import awaited, each, waited
from _rounds import Case, Plan, interleave, ratio

ROUNDS = 40
COUNTS = (1, 8, 100, 1000)
QUICK_COUNTS = (1, 100)
# What the targets name; and as many workers as most pools have.
_POOL = 8

SEQUENTIAL, THREAD, ASYNCIO, TRIO = "toolexec sequential", "toolexec thread", "toolexec asyncio", "toolexec trio"
SUSPENDING = "toolexec asyncio, suspends once"
FROM_SYNC = {"asyncio": "toolexec asyncio from sync code", "trio": "toolexec trio from sync code"}
FLOOR = "loop with context, Return, clock, pydantic"
PROMISING = "the same, and what sequential promises"
MAP, SUBMIT = f"ThreadPoolExecutor({_POOL}).map", f"ThreadPoolExecutor({_POOL}).submit"
GATHER, GATHER_SUSPENDING, NURSERY = "asyncio.gather", "asyncio.gather, suspends once", "trio nursery"

# Each of ours, and the primitive beside it.
BESIDE = {
    PROMISING: FLOOR,
    SEQUENTIAL: FLOOR,
    THREAD: MAP,
    ASYNCIO: GATHER,
    SUSPENDING: GATHER_SUSPENDING,
    TRIO: NURSERY,
    FROM_SYNC["asyncio"]: ASYNCIO,
    FROM_SYNC["trio"]: TRIO,
}
_KEYS = {
    "sequential": SEQUENTIAL,
    "thread": THREAD,
    "asyncio": ASYNCIO,
    "asyncio-suspends": SUSPENDING,
    "trio": TRIO,
    "asyncio-background": FROM_SYNC["asyncio"],
    "trio-background": FROM_SYNC["trio"],
}


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Every row at every number of calls."""
    counts = QUICK_COUNTS if plan.quick else COUNTS
    cases = [
        Case(row, str(count), each(timed, count)) for row, timed in _rows(findings, stack).items() for count in counts
    ]
    samples = interleave(cases, plan)
    findings.add_table(
        "Cost of a call, by the number of calls in a batch",
        "us",
        samples,
        beside=BESIDE,
        notes={
            "plain loop": "no validation, no answer",
            PROMISING: "one piece of code, for this tool alone",
            MAP: "no validation, no cancel, no deadline",
        },
        scale=1e6,
    )
    # A quick run has no batches of a thousand, but an account of them.
    for count in ("100", "1000"):
        column = count if int(count) in counts else "100"
        for key, row in _KEYS.items():
            findings.figures[f"{key}-{count}"] = ratio(samples, (row, column), (BESIDE[row], column))
    findings.figures["thread-1"] = ratio(samples, (THREAD, "1"), (SUBMIT, "1"))


def _rows(findings: Findings, stack: ExitStack) -> dict[str, Callable[[int], float]]:
    ours = open_strategies(stack, findings, ("sequential", "thread", "asyncio", "trio"))
    pool = stack.enter_context(ThreadPoolExecutor(_POOL))
    runner = stack.enter_context(asyncio.Runner())

    def inside(timed: Callable[[int], Awaitable[float]]) -> Callable[[int], float]:
        async def main(count: int) -> float:
            return await timed(count)

        return lambda count: runner.run(main(count))

    within_trio = awaited(ours["trio"], tools.ADD_ASYNC)
    return {
        "plain loop": bare.plain_loop,
        FLOOR: bare.answering_loop(),
        PROMISING: bare.promising_loop(),
        SEQUENTIAL: waited(ours["sequential"], tools.ADD),
        MAP: bare.mapped(pool),
        SUBMIT: bare.submitted(pool.submit),
        THREAD: waited(ours["thread"], tools.ADD),
        GATHER: inside(lambda count: bare.gather(count, tools.add_async)),
        ASYNCIO: inside(awaited(ours["asyncio"], tools.ADD_ASYNC)),
        FROM_SYNC["asyncio"]: waited(ours["asyncio"], tools.ADD_ASYNC),
        GATHER_SUSPENDING: inside(lambda count: bare.gather(count, tools.add_suspending)),
        SUSPENDING: inside(awaited(ours["asyncio"], tools.ADD_SUSPENDING)),
        "asyncio.gather of to_thread": inside(bare.to_thread),
        "toolexec asyncio, sync tool": inside(awaited(ours["asyncio"], tools.ADD)),
        NURSERY: lambda count: trio.run(bare.nursery, count, tools.add_async),
        TRIO: lambda count: trio.run(within_trio, count),
        FROM_SYNC["trio"]: waited(ours["trio"], tools.ADD_ASYNC),
    }


if __name__ == "__main__":
    run("overhead", measure, rounds=ROUNDS)
