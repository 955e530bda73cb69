"""How late a deadline is: from the moment when it is over to the Return, beside the bare ways to have one.

python benchmarks/deadlines.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import trio

import toolexec as tx
from _command import open_strategies, run
from _deadline_tools import BUSY, SLEEP, SLEEP_ASYNC
from _findings import Findings
from _rounds import Case, Plan, Samples, difference, interleave

ROUNDS = 40
LIMIT_S = 0.05
_COLUMN = "lateness"

TASK, SCOPE, KILL = "asyncio.timeout, bare", "trio.move_on_after, bare", "SIGKILL by threading.Timer, bare"
_now = time.perf_counter


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Tools that would go on for ever, under a limit of 50 ms."""
    strategies = open_strategies(stack, findings, ("asyncio", "trio", "thread", "fork", "interpreter"))
    rows: dict[str, Callable[[], float]] = {TASK: _asyncio_timeout, SCOPE: _move_on_after, KILL: _kill_by_timer}
    for name, strategy in strategies.items():
        if name in ("asyncio", "trio"):
            rows[f"toolexec {name}, sleeps"] = _inside(name, strategy)
        else:
            rows[f"toolexec {name}, sleeps"] = _late(strategy, SLEEP)
            rows[f"toolexec {name}, a busy loop"] = _late(strategy, BUSY)
    samples = interleave([Case(row, _COLUMN, late) for row, late in rows.items()], plan)
    findings.add_table(f"Lateness of a deadline of {LIMIT_S * 1e3:.0f} ms", "ms", samples, scale=1e3)
    findings.figures["deadline-asyncio"] = 1e3 * _over(samples, "toolexec asyncio, sleeps", TASK)
    findings.figures["deadline-fork"] = 1e3 * _over(samples, "toolexec fork, sleeps", KILL)
    busy = sorted(samples["toolexec thread, a busy loop", _COLUMN])
    findings.figures["deadline-thread-busy"] = busy[len(busy) // 2] / sys.getswitchinterval()


def _over(samples: Samples, ours: str, beside: str) -> float:
    return difference(samples, (ours, _COLUMN), (beside, _COLUMN))


def _late(strategy: tx.Strategy, tool: tx.Function) -> Callable[[], float]:
    ctx = tx.Context(tools=[tool], strategy=strategy, history=False)

    def run_once() -> float:
        ctx.receive([{"id": "call_1", "name": tool.name, "arguments": "{}"}])
        started = _now()
        (ret,) = ctx.group(timeout=LIMIT_S).wait()
        took = _now() - started
        assert ret.status == "timeout", ret
        return took - LIMIT_S

    return run_once


def _inside(name: str, strategy: tx.Strategy) -> Callable[[], float]:
    """In a running loop of that kind."""
    ctx = tx.Context(tools=[SLEEP_ASYNC], strategy=strategy, history=False)

    async def main() -> float:
        ctx.receive([{"id": "call_1", "name": SLEEP_ASYNC.name, "arguments": "{}"}])
        started = _now()
        (ret,) = await ctx.group(timeout=LIMIT_S)
        took = _now() - started
        assert ret.status == "timeout", ret
        return took - LIMIT_S

    return (lambda: trio.run(main)) if name == "trio" else (lambda: asyncio.run(main()))


def _asyncio_timeout() -> float:
    async def main() -> float:
        started = _now()
        try:
            async with asyncio.timeout(LIMIT_S):
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        return _now() - started - LIMIT_S

    return asyncio.run(main())


def _move_on_after() -> float:
    async def main() -> float:
        started = _now()
        with trio.move_on_after(LIMIT_S):
            await trio.sleep_forever()
        return _now() - started - LIMIT_S

    return trio.run(main)


def _kill_by_timer() -> float:
    command = [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        started = _now()
        timer = threading.Timer(LIMIT_S, os.kill, (process.pid, signal.SIGKILL))
        timer.start()
        os.waitpid(process.pid, 0)
        took = _now() - started
        process.returncode = -signal.SIGKILL  # it need not be waited for any more
        timer.join()
    return took - LIMIT_S


if __name__ == "__main__":
    run("deadlines", measure, rounds=ROUNDS)
