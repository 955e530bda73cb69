"""Interrupts at random moments, in great number, on every strategy that runs here.

    python tests/stress/interrupts.py [--scale X] [--seed N] [--only NAME ...]

At scale 1 it makes 100,000 interrupts of calls on threads, 10,000 on asyncio and on trio, 2,000 of
forked calls (a third right after the start, a third around the end, a third in children that serve
several calls), 5,000 in interpreters, and 10,000 signals into ``group``, ``wait`` and settling.  It
prints a line for each and ends with 1 if any of the last four counters is not 0:

- leaked: what was raised came out of somewhere else than its call;
- lost: a call has no Return, or one that says nothing of what happened;
- hung: a wait did not end in time;
- wrong: a call that nobody interrupted was.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import stress_tools as tools

import toolexec as tx

Victim = tuple[Any, dict[str, Any]]

# Far more than any wait here takes, on a machine that does much else.
_LIMIT_S = 60.0


@dataclass
class Counters:
    """What happened to the calls of one run."""

    calls: int = 0
    interrupted: int = 0
    answered: int = 0
    leaked: int = 0
    lost: int = 0
    hung: int = 0
    wrong: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.leaked or self.lost or self.hung or self.wrong)

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, field.name)} {field.name}" for field in fields(self))


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    leaks: list[object] = []
    threading.excepthook = leaks.append
    clean = True
    for name, (number, run) in RUNS.items():
        if options.only and name not in options.only:
            continue
        count = max(6, round(number * options.scale))
        began = time.monotonic()
        counters = run(count, random.Random(options.seed))
        if counters is None:
            print(f"{name}: does not run here", flush=True)
            continue
        counters.leaked += len(leaks)
        leaks.clear()
        clean = clean and counters.clean
        print(f"{name}: {counters} ({time.monotonic() - began:.1f} s)", flush=True)
    return 0 if clean else 1


# Victims are interrupted at random moments, witnesses run right after them on the same workers and
# must not feel it.


def interrupt_calls(
    count: int,
    rng: random.Random,
    strategy: tx.Strategy,
    victims: Sequence[tuple[Any, dict[str, Any]]],
    spread_s: float,
) -> Counters:
    """Interrupt ``count`` calls, each at its own moment within ``spread_s`` of its start."""
    counters = Counters()
    for _ in range(count):
        tool, arguments = rng.choice(victims)
        task = tool.bind(arguments).task(strategy)
        wait(rng.random() * spread_s)
        task.interrupt("stress")
        witness = tools.witness.bind({"steps": 60}).task(strategy)
        settle(task, counters, witness=False)
        settle(witness, counters, witness=True)
    return counters


def settle(task: tx.Task, counters: Counters, *, witness: bool) -> None:
    """Wait for a call and count what it came to."""
    counters.calls += 1
    try:
        ret = task.wait(_LIMIT_S)
    except tx.WaitTimeout:
        counters.hung += 1
        return
    except BaseException as exc:  # noqa: BLE001 - whatever it is, it belongs to no wait
        print("came out of a wait:", repr(exc))
        counters.leaked += 1
        return
    counters.answered += 1
    if witness:
        if (ret.status, ret.value) != ("ok", 1770):
            print("a witness was hit:", ret, repr(ret.exception))
            counters.wrong += 1
    elif ret.status == "cancelled":
        counters.interrupted += 1
        if ret.abandoned or ret.reason != "stress":
            print("not stopped:", ret)
            counters.lost += 1
    elif ret.status != "ok":
        print("neither stopped nor through:", ret, repr(ret.exception))
        counters.lost += 1


def wait(seconds: float) -> None:
    """Busily: to sleep takes longer than most of what is waited for here."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


# The runs


def threads(count: int, rng: random.Random) -> Counters:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # else short bodies are never met half-way
    try:
        with tx.strategy("thread", grace=20) as strategy:
            victims: list[Victim] = [(tools.count, {"steps": steps}) for steps in (0, 30, 300, 3000)]
            victims += [(tools.gives_way, {"turns": turns}) for turns in (1, 5, 50)]
            return interrupt_calls(count, rng, strategy, victims, 0.0006)
    finally:
        sys.setswitchinterval(before)


def in_asyncio(count: int, rng: random.Random) -> Counters:
    return asyncio.run(_in_loop(count, rng, asyncio.sleep))


def in_trio(count: int, rng: random.Random) -> Counters:
    import trio

    return trio.run(_in_loop, count, rng, trio.sleep)


async def _in_loop(count: int, rng: random.Random, sleep: Callable[[float], Any]) -> Counters:
    counters = Counters()
    batch = 50
    for _ in range(max(1, count // batch)):
        ctx = tx.Context([tools.asleep, tools.awitness])
        calls = [{"name": "asleep", "arguments": {"turns": rng.randrange(8)}} for _ in range(batch)]
        ctx.receive([*calls, *({"name": "awitness", "arguments": {"steps": 60}} for _ in range(batch))])
        group = ctx.group()
        for task in rng.sample(group.tasks[:batch], batch):
            task.interrupt("stress")
            if rng.random() < 0.3:
                await sleep(0)
        try:
            await group.settled(_LIMIT_S)
        except tx.WaitTimeout:
            pass
        for place, task in enumerate(group.tasks):
            if task.alive:
                counters.calls += 1
                counters.hung += 1
            else:
                settle(task, counters, witness=place >= batch)
    return counters


def forked(count: int, rng: random.Random) -> Counters | None:
    if not hasattr(os, "fork"):
        return None
    victims: list[Victim] = [(tools.count, {"steps": 100}), (tools.gives_way, {"turns": 20})]
    total = Counters()
    third = max(1, count // 3)
    with tx.strategy("fork", grace=20) as strategy:
        _add(total, interrupt_calls(third, rng, strategy, victims, 0.0003))
        _add(total, interrupt_calls(third, rng, strategy, victims, 0.004))
    with tx.strategy("fork", grace=20, calls_per_child=None) as strategy:
        _add(total, interrupt_calls(third, rng, strategy, victims, 0.002))
    return total


def in_interpreters(count: int, rng: random.Random) -> Counters | None:
    if sys.version_info < (3, 14):
        return None
    victims: list[Victim] = [(tools.count, {"steps": 300}), (tools.gives_way, {"turns": 20})]
    with tx.strategy("interpreter", grace=20) as strategy:
        return interrupt_calls(count, rng, strategy, victims, 0.001)


class Pressed(Exception):
    """What the handler of a signal raises."""


def signalled(count: int, rng: random.Random) -> Counters:
    """Signals whose handlers raise, or interrupt, into starting, waiting and settling: nothing locks up."""
    counters = Counters()
    current: list[tx.Context] = []

    def handler(*_: object) -> None:
        counters.interrupted += 1
        if counters.interrupted % 2:
            current[0].interrupt("stress")
        else:
            raise Pressed

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with tx.strategy("thread", grace=20) as strategy:
            while counters.interrupted < count:
                ctx = tx.Context([tools.count], strategy=strategy)
                current[:] = [ctx]
                _start_and_wait(ctx, rng, counters)
                settle(tools.witness.bind({"steps": 60}).task(strategy), counters, witness=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    return counters


def _start_and_wait(ctx: tx.Context, rng: random.Random, counters: Counters) -> None:
    seen, group = counters.interrupted, None
    functions = ctx.receive([{"name": "count", "arguments": {"steps": 50}} for _ in range(4)])
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.random() * 0.002 + 1e-6)
        group = functions.group(window=rng.choice([None, 2]))
        group.wait(_LIMIT_S)
        _await_signal(counters, seen)
    except Pressed:
        pass
    except tx.WaitTimeout:
        counters.hung += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    # What was cut while it started is in nobody's hands, and has to be answered all the same.
    until = time.monotonic() + _LIMIT_S
    for function in functions:
        counters.calls += 1
        task = function._task
        while task is not None and task.alive and time.monotonic() < until:
            time.sleep(0.001)
        if task is not None and task.alive:
            counters.hung += 1
        else:
            counters.answered += 1


def _await_signal(counters: Counters, seen: int) -> None:
    """All are through, and the signal is still to come."""
    # A function of its own: from the end of a loop, Python 3.13.0 lets what a handler raises escape the ``try``
    # that the loop stands in; from a call it does not.
    while counters.interrupted == seen:
        pass


def _add(total: Counters, more: Counters) -> None:
    for field in fields(Counters):
        setattr(total, field.name, getattr(total, field.name) + getattr(more, field.name))


RUNS: dict[str, tuple[int, Callable[[int, random.Random], Counters | None]]] = {
    "thread": (100_000, threads),
    "asyncio": (10_000, in_asyncio),
    "trio": (10_000, in_trio),
    "fork": (2_000, forked),
    "interpreter": (5_000, in_interpreters),
    "signals": (10_000, signalled),
}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Interrupt calls at random moments and count what goes wrong.")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="times the numbers above (1)")
    parser.add_argument("--seed", type=int, default=None, metavar="N")
    parser.add_argument("--only", nargs="+", choices=RUNS, metavar="NAME", help=f"some of {', '.join(RUNS)}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
