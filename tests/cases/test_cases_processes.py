"""Themes B and D: tools in processes of their own, stopped, out of time or dead."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

import remote_tools
import toolexec as tx
from cases import stopping_tools
from cases.case_steps import LOOPS, cancel_when, collected, eventually, run_in
from cases.case_tools import ALL, PATIENCE_S, received
from toolexec.testing import Gate, Journal, ManualClock

pytestmark = pytest.mark.skipif("fork" not in ALL, reason="needs os.fork")

GRACE_S = 0.3
# What the reaping of an ended process may take on a busy machine.
REAPED_S = 2.0


@pytest.fixture(scope="module")
def fork() -> Iterator[tx.Strategy]:
    with tx.strategy("fork", grace=GRACE_S, window=8) as strategy:
        yield strategy


def asked(*calls: Any, **options: Any) -> tx.Context:
    return received(*calls, tools=stopping_tools.TOOLS, **options)


def all_gone(pids: list[int]) -> None:
    assert pids
    eventually(lambda: all(collected(pid) for pid in pids), REAPED_S)


def assert_serves(fork: tx.Strategy) -> None:
    assert 2 == tx.run(remote_tools.add, {"a": 1}, fork).unwrap()


# How a call of a tool that is at its gate comes to its end
ENDS = {"interrupted": "cancelled", "out of time": "timeout", "killed": "lost"}
ends = pytest.mark.parametrize("how", ENDS)


def end(how: str, group: tx.Group, clock: ManualClock, pid: int) -> tx.Return:
    """Bring the one call of a Group to its end; its limit is a minute, on a clock that stands still till then."""
    if how == "interrupted":
        group.interrupt("enough")
    elif how == "killed":
        os.kill(pid, signal.SIGKILL)
    else:
        clock.advance(60)
    while group.alive:  # on its clock, the grace begins to pass only now
        time.sleep(0.005)
        clock.advance(0.005)
    (ret,) = group.wait(0)
    assert (ENDS[how], False) == (ret.status, ret.abandoned)
    return ret


def ended(fork: tx.Strategy, tool: str, how: str, gate: Gate, **arguments: Any) -> tx.Return:
    """One call of a tool that arrives at the gate with its pid, ended in some way."""
    clock = ManualClock()
    group = asked((tool, {"gate": gate.path, **arguments}), clock=clock).group(fork, timeout=60)
    gate.wait_until_reached()
    return end(how, group, clock, int(gate.reached[0]))


# B2: grandchildren survive the kill


@ends
@pytest.mark.parametrize("shell", [stopping_tools.FAMILY, stopping_tools.DEAF_FAMILY], ids=["plain", "deaf"])
def test_B2_no_descendant_outlives_its_tool(
    fork: tx.Strategy, how: str, shell: str, gate: Gate, journal: Journal
) -> None:
    """The end is that of the process group; what leaves it by ``setsid`` is out of reach."""
    ended(fork, "has_family", how, gate, journal=journal.path, shell=shell)

    pids = [int(line) for line in journal.lines()]
    assert 3 == len(set(pids))
    all_gone(pids)
    assert_serves(fork)


# B13: the hook must run where the resource is, before the kill


@pytest.mark.parametrize("how", ["interrupted", "out of time"])
@pytest.mark.parametrize("heeds", [True, False])
def test_B13_the_hook_runs_in_the_child_and_before_any_force(
    fork: tx.Strategy, heeds: bool, how: str, gate: Gate, journal: Journal, tmp_path: Path
) -> None:
    path = tmp_path / "held"
    began = time.monotonic()
    ended(fork, "holds-file", how, gate, journal=journal.path, path=str(path), heeds=heeds)
    took = time.monotonic() - began
    pid = int(gate.reached[0])

    assert not path.exists()
    said = [f"hook {pid}", "Interrupt"]
    assert (said if heeds else [*said, "SIGTERM"]) == journal.lines()
    if not heeds:
        assert took >= GRACE_S, "killed at the end of the grace, not at once"
    all_gone([pid])


# D1: the worker dies, and the caller waits for ever


def test_D1_a_limit_of_memory_is_told_by_name(gate: Gate) -> None:
    limit = 256 * 1024 * 1024
    with tx.strategy("fork", memory_bytes=limit, window=2) as limited:
        other = asked(("naps", {"seconds": 0.2})).group(limited)
        ret = tx.run(remote_tools.sized, {"count": 4 * limit}, limited)

        assert "lost" == ret.status
        assert "memory_bytes" in ret.value["message"]
        assert "slept" == other.wait(PATIENCE_S)[0].value
        assert_serves(limited)


@pytest.mark.parametrize("death", ["exit", "kill"])
def test_D1_a_dead_worker_loses_its_own_call_alone(fork: tx.Strategy, death: str, gate: Gate) -> None:
    """Also while others wait for their turn, and while others are interrupted."""
    dies = (remote_tools.exit_hard, {"code": 9}) if death == "exit" else (remote_tools.kill_self, {"number": 9})
    ctx = received(
        (dies[0].name, dies[1]),
        ("asks", {"gate": gate.path, "journal": f"{gate.path}.journal"}),
        ("add", {"a": 1}),
        (dies[0].name, dies[1]),
        ("add", {"a": 2}),
        tools=[dies[0], stopping_tools.Asks, remote_tools.add],
    )
    group = ctx.group(fork, window=2)
    gate.wait_until_reached()
    for place in (0, 2, 3, 4):
        group.tasks[place].wait(PATIENCE_S)
    group.interrupt("enough")

    returns = group.wait(PATIENCE_S)
    assert ["lost", "cancelled", "ok", "lost", "ok"] == [ret.status for ret in returns]
    assert [2, 3] == [returns[2].value, returns[4].value]


# D3: the result cannot be pickled; then cancelled at once, and at the end of everything


KINDS = ["lock", "lambda", "generator", "file", "refuses state"]


@pytest.mark.parametrize("kind", KINDS)
def test_D3_interrupted_at_any_moment_it_settles(fork: tx.Strategy, kind: str) -> None:
    tasks = []
    for moment in range(8):
        task = remote_tools.return_odd.bind({"kind": kind}).task(fork)
        time.sleep(moment * 0.0007)  # not to wait for anything: to come at different moments
        task.interrupt("enough")
        tasks.append(task)

    assert {"cancelled", "unsendable"} >= {task.wait(PATIENCE_S).status for task in tasks}
    assert_serves(fork)


def test_D3_what_is_under_way_when_its_strategy_closes_settles() -> None:
    values: list[Any] = [threading.Lock(), (n for n in range(3)), remote_tools.RefusesState()]
    with tx.strategy("fork", grace=GRACE_S) as brief:
        tasks = [remote_tools.return_odd.bind({"kind": kind}).task(brief) for kind in KINDS]
        tasks += [remote_tools.echo.bind({"value": value}).task(brief) for value in values]

    assert {"cancelled", "unsendable"} >= {task.wait(0).status for task in tasks}


# D5: large results and arguments, with a worker that ends halfway


BYTES = 50_000_000


@pytest.mark.parametrize("grace", [0.0, GRACE_S])
@pytest.mark.parametrize("way", ["there", "back"])
def test_D5_ended_halfway_through_a_large_one_it_is_no_error_of_the_readers(way: str, grace: float) -> None:
    """Without grace the process is killed at once, wherever it is."""
    data = bytes(BYTES)
    with tx.strategy("fork", grace=grace) as own:
        assert_serves(own)
        statuses = set()
        for moment in range(4):
            tool, arguments = (
                (remote_tools.length, {"data": data}) if way == "there" else (remote_tools.sized, {"count": BYTES})
            )
            task = tool.bind(arguments).task(own)
            time.sleep(moment * 0.01)  # not to wait for anything: to come at different moments
            task.interrupt("enough")
            statuses.add(task.wait(PATIENCE_S).status)
            assert_serves(own)

    assert {"cancelled", "ok"} >= statuses
    assert "cancelled" in statuses


# D7: a lock that is taken already


@ends
def test_D7_a_tool_that_takes_one_lock_twice_is_ended_and_reaped(fork: tx.Strategy, how: str, gate: Gate) -> None:
    ended(fork, "takes_a_lock_twice", how, gate)

    all_gone([int(gate.reached[0])])
    assert_serves(fork)


# D10: forked from a running loop, for a tool that runs one itself


@contextlib.asynccontextmanager
async def _traffic(entry: str) -> Any:
    """Sockets of the host's loop that are busy all the time; gives how often a byte went round."""
    import socket

    ours, theirs = socket.socketpair()
    rounds = [0]

    async def once() -> None:
        if entry == "trio":
            a, b = trio.socket.from_stdlib_socket(ours), trio.socket.from_stdlib_socket(theirs)
            await a.send(b"x")
            assert b"x" == await b.recv(1)
        else:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(ours, b"x")
            assert b"x" == await loop.sock_recv(theirs, 1)
            await asyncio.sleep(0)
        rounds[0] += 1

    async def go_on() -> None:
        while True:
            await once()

    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        if entry == "trio":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(go_on)
                yield rounds
                nursery.cancel_scope.cancel()
        else:
            task = asyncio.ensure_future(go_on())
            yield rounds
            task.cancel()
            await asyncio.wait([task])


@pytest.mark.parametrize("how", ["interrupted", "cancelled"])
@pytest.mark.parametrize("inside", LOOPS)
@pytest.mark.parametrize("entry", LOOPS)
def test_D10_it_is_stopped_and_the_hosts_loop_goes_on(
    fork: tx.Strategy, entry: str, inside: str, how: str, gate: Gate, journal: Journal
) -> None:
    ctx = asked(("runs_a_loop", {"kind": inside, "gate": gate.path, "journal": journal.path}))

    async def main() -> None:
        async with _traffic(entry) as rounds:
            if how == "interrupted":
                group = ctx.group(fork)
                await gate.until_reached()
                group.interrupt("enough")
                await group
            else:
                await cancel_when(entry, lambda: ctx.run(fork), gate.until_reached)
            before = rounds[0]
            while rounds[0] < before + 3:
                await stopping_tools.nap(0)

    run_in(entry, main)

    assert ["cancelled"] == [ret.status for ret in ctx.returns]
    if inside == "asyncio":  # trio takes an exception inside its own loop for the end of everything
        assert ["finally"] == journal.lines()
    all_gone([int(gate.reached[0])])


# D13: tools that start processes themselves


@ends
def test_D13_workers_of_multiprocessing_end_with_the_tool(
    fork: tx.Strategy, how: str, gate: Gate, journal: Journal
) -> None:
    clock = ManualClock()
    group = asked(("has_a_pool", {"gate": gate.path, "journal": journal.path}), clock=clock).group(fork, timeout=60)
    gate.wait_until_reached(2)
    pids = [int(line) for line in journal.lines()]
    end(how, group, clock, os.getpgid(pids[0]))

    all_gone(pids)


@ends
def test_D13_a_call_within_the_call_ends_with_it(how: str, gate: Gate, journal: Journal) -> None:
    """Where there is grace, the inner call settles first, its hook included."""
    clock = ManualClock()
    with tx.strategy("fork", grace=2.0) as patient:
        ctx = asked(("calls_another", {"gate": gate.path, "journal": journal.path}), clock=clock)
        group = ctx.group(patient, timeout=60)
        gate.wait_until_reached()
        inner = int(gate.reached[0].split()[0])
        end(how, group, clock, _parent_of_server_of(inner))

        all_gone([inner])
        if how != "killed":
            assert f"hook {gate.reached[0]}" in journal.lines()
            assert "-body" in journal.lines()


def _parent_of_server_of(pid: int) -> int:
    """The process that uses the engine in which this one is a call's."""
    for _ in range(2):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
