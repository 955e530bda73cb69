"""What a call in a subinterpreter costs, warm, fresh and of work for the CPU.

python benchmarks/interpreters.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat

import toolexec as tx
from _bare import mapped, submitted
from _command import open_strategies, run
from _findings import Findings
from _ours import each, waited
from _rounds import Case, Plan, interleave, ratio
from _tools import ADD, FIBONACCI, fibonacci

ROUNDS = 60
_INTERPRETERS = 2
OURS, FRESH = "toolexec interpreter", "toolexec interpreter, a fresh one for each call"
THREADS, POOL = "ThreadPoolExecutor.submit", "InterpreterPoolExecutor.submit"
LOOP, THREADED = "a loop", "toolexec thread"
_PIECES = 4


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Calls that do nothing, and calls that compute."""
    ours = open_strategies(stack, findings, ("interpreter",))
    if not ours:  # and why is among the findings
        return
    warm = stack.enter_context(tx.strategy("interpreter", window=_INTERPRETERS))
    fresh = stack.enter_context(tx.strategy("interpreter", window=_INTERPRETERS, calls_per_interpreter=1))
    pool = stack.enter_context(_open_pool())
    threads = stack.enter_context(ThreadPoolExecutor(_INTERPRETERS))
    rows: dict[str, Callable[[int], float]] = {
        THREADS: submitted(threads.submit),
        POOL: submitted(pool.submit),
        "InterpreterPoolExecutor.map": mapped(pool),
        OURS: waited(warm, ADD),
    }
    cases = [Case(name, str(count), each(timed, count)) for name, timed in rows.items() for count in (1, 8, 100)]
    # Making an interpreter takes that long.
    cases.append(Case(FRESH, "1", each(waited(fresh, ADD), 1), most_rounds=8))
    samples = interleave(cases, plan)
    findings.add_table(
        "A call in a subinterpreter, by the number of calls in a batch",
        "us a call",
        samples,
        beside={OURS: POOL, FRESH: OURS, POOL: THREADS},
        notes={POOL: "no validation, no cancel once it runs"},
        scale=1e6,
    )
    findings.figures["interpreter-submit"] = ratio(samples, (OURS, "1"), (THREADS, "1"))
    findings.figures["interpreter-pool"] = ratio(samples, (OURS, "1"), (POOL, "1"))
    _measure_cpu(plan, findings, stack, warm, pool.map)


def _open_pool() -> Executor:
    if sys.version_info >= (3, 14):
        from concurrent.futures import InterpreterPoolExecutor

        return InterpreterPoolExecutor(_INTERPRETERS)
    raise AssertionError("there are no interpreters before 3.14")


def _measure_cpu(
    plan: Plan, findings: Findings, stack: ExitStack, warm: tx.Strategy, map_: Callable[..., object]
) -> None:
    n = 16 if plan.quick else 24
    column = f"{_PIECES} x fibonacci({n})"
    thread = open_strategies(stack, findings, ("thread",))["thread"]
    rows: dict[str, Callable[[], object]] = {
        LOOP: lambda: [fibonacci(n) for _ in range(_PIECES)],
        f"InterpreterPoolExecutor({_INTERPRETERS}).map": lambda: list(map_(fibonacci, repeat(n, _PIECES))),  # type: ignore[call-overload]  # an iterator
        OURS: _computing(warm, n),
        THREADED: _computing(thread, n),
    }
    cases = [Case(name, column, _timed(work)) for name, work in rows.items()]
    samples = interleave(cases, plan, 15)
    findings.add_table(
        "Work for the CPU", "ms", samples, beside={name: LOOP for name in rows if name != LOOP}, scale=1e3
    )
    findings.figures["interpreter-cpu"] = ratio(samples, (OURS, column), (LOOP, column))


def _computing(strategy: tx.Strategy, n: int) -> Callable[[], object]:
    ctx = tx.Context(tools=[FIBONACCI], strategy=strategy, history=False)

    def work() -> object:
        calls = [{"id": f"call_{piece}", "name": "fibonacci", "arguments": {"n": n}} for piece in range(_PIECES)]
        return [ret.unwrap() for ret in ctx.receive(calls).wait()]

    return work


def _timed(work: Callable[[], object]) -> Callable[[], float]:
    def run_once() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return run_once


if __name__ == "__main__":
    run("interpreters", measure, rounds=ROUNDS)
