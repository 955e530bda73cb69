"""toolexec beside its peers: the same calls through agent frameworks, and through pools and helpers of others.

    nox -s bench_peers -p 3.14 [-- --quick]
    python benchmarks/peers.py [--quick] [--rounds N] [--results FOLDER]

Each peer is optional: one that is not there, or does not run here, is named in the report with the reason.
What it does not do of what a toolexec call does (validate, be cancelled) stands beside its figures.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack

import toolexec as tx
from _command import open_strategies, run
from _elsewhere import ELSEWHERE
from _findings import Findings
from _ours import awaited, each, waited
from _peers import ADD, ADD_ASYNC, PEERS, REST, Way
from _rounds import Case, Plan, interleave, ratio
from _tools import ADD as ADD_TOOL
from _tools import ADD_ASYNC as ADD_ASYNC_TOOL
from _tools import REST as REST_TOOL
from toolexec.lowlevel import usable_cpus

ROUNDS = 15
SLEEPS = 64
_SYNC, _ASYNC = ("8 sync", "100 sync"), "100 async"


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Three tables: calls that do nothing, calls that sleep, and what runs one function elsewhere."""
    logging.disable(logging.WARNING)  # some tell of every call
    strategies = open_strategies(stack, findings)
    runner = stack.enter_context(asyncio.Runner())
    # First, because among what the next import are some that change threads and pools for the whole process.
    _measure_elsewhere(plan, findings, stack, strategies)
    peers = _open_peers(findings, runner)
    lacks = {one.name: one.lacks for one in PEERS}
    _measure_cost(plan, findings, strategies, runner, peers, lacks)
    _measure_sleeps(plan, findings, strategies, peers, lacks)
    findings.tables.append(findings.tables.pop(0))  # what matters most comes first


def _open_peers(findings: Findings, runner: asyncio.Runner) -> dict[str, Way]:
    """Those that run one call here; why the others do not is among the findings."""
    found: dict[str, Way] = {}
    for peer in PEERS:
        try:
            way = peer.open(runner)
            way(ADD, 1)
        except Exception as exc:  # noqa: BLE001 - whatever a release of somebody else's does, the rest is measured
            findings.missing[peer.name] = f"{type(exc).__name__}: {exc}"[:200]
        else:
            found[peer.name] = way
    return found


def _measure_cost(
    plan: Plan,
    findings: Findings,
    strategies: dict[str, tx.Strategy],
    runner: asyncio.Runner,
    peers: dict[str, Way],
    lacks: dict[str, str],
) -> None:
    ours: dict[str, dict[str, Callable[[int], float]]] = {
        f"toolexec {name}": {"sync": waited(strategies[name], ADD_TOOL)} for name in ("sequential", "thread", "fork")
    }
    inside = awaited(strategies["asyncio"], ADD_ASYNC_TOOL)

    async def in_the_loop(count: int) -> float:
        return await inside(count)

    ours["toolexec asyncio"] = {"async": lambda count: runner.run(in_the_loop(count))}
    is_async = {one.name: one.is_async for one in PEERS}
    rows = dict(ours)
    for name, way in peers.items():
        rows[name] = {"sync": lambda count, way=way: way(ADD, count)}  # type: ignore[misc]  # mypy#15459
        if is_async[name]:
            rows[name]["async"] = lambda count, way=way: way(ADD_ASYNC, count)  # type: ignore[misc]  # mypy#15459
    cases = [
        Case(row, column, each(timed, int(column.partition(" ")[0])))
        for row, ways in rows.items()
        for kind, timed in ways.items()
        for column in (_SYNC if kind == "sync" else (_ASYNC,))
    ]
    samples = interleave(cases, plan)
    findings.add_table(
        "Cost of a call that does nothing, by the number of calls",
        "us a call",
        samples,
        beside=dict.fromkeys([*peers, "toolexec thread", "toolexec fork"], "toolexec sequential"),
        notes=lacks,
        scale=1e6,
    )
    if peers:
        own = ("toolexec sequential", _SYNC[1])
        findings.figures["sequential-peers"] = max(ratio(samples, own, (name, _SYNC[1])) for name in peers)


def _measure_sleeps(
    plan: Plan, findings: Findings, strategies: dict[str, tx.Strategy], peers: dict[str, Way], lacks: dict[str, str]
) -> None:
    own = waited(strategies["thread"], REST_TOOL)
    column = f"{SLEEPS} sync"
    cases = [Case("ideal", column, lambda: 0.05), Case("toolexec thread", column, lambda: own(SLEEPS))]
    for name, way in peers.items():
        cases.append(Case(name, column, lambda way=way: way(REST, SLEEPS)))  # type: ignore[misc]  # mypy#15459
    samples = interleave(cases, plan, 5)
    findings.add_table(
        f"{SLEEPS} calls that sleep 50 ms, at their defaults, from the first to the last",
        "ms",
        samples,
        beside=dict.fromkeys([*peers, "toolexec thread"], "ideal"),
        notes=lacks,
        scale=1e3,
    )


def _measure_elsewhere(plan: Plan, findings: Findings, stack: ExitStack, strategies: dict[str, tx.Strategy]) -> None:
    rows = {f"toolexec {name}": waited(strategies[name], ADD_TOOL) for name in ("thread", "fork")}
    reused = stack.enter_context(tx.strategy("fork", calls_per_child=None, window=usable_cpus()))
    rows["toolexec fork, calls_per_child=None"] = waited(reused, ADD_TOOL)
    if "interpreter" in strategies:
        rows["toolexec interpreter"] = waited(strategies["interpreter"], ADD_TOOL)
    for one in ELSEWHERE:
        # A loop of its own: what one leaves in it must not be in another's way.
        runner = stack.enter_context(asyncio.Runner())
        try:
            way = one.open(stack, runner)
            way(1)
        except Exception as exc:  # noqa: BLE001 - as above
            findings.missing[one.name] = f"{type(exc).__name__}: {exc}"[:200]
        else:
            rows[one.name] = way
    cases = [Case(name, str(count), each(timed, count)) for name, timed in rows.items() for count in (1, 8, 100)]
    samples = interleave(cases, plan)
    findings.add_table(
        "One function, elsewhere, by the number of calls at once",
        "us a call",
        samples,
        notes={one.name: one.lacks for one in ELSEWHERE},
        scale=1e6,
    )


if __name__ == "__main__":
    packages = [one.package for one in (*PEERS, *ELSEWHERE) if one.package]
    run("peers", measure, rounds=ROUNDS, packages=["pydantic", *dict.fromkeys(packages)])
