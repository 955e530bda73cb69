"""Theme B: tools that do not stop, and what is left of them."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from cases import stopping_tools
from cases.case_steps import ENTRIES, LOOPS, collected, eventually, let_time_pass, run_in, steer
from cases.case_tools import ALL, PATIENCE_S, received
from cases.stopping_tools import nap
from toolexec.testing import Gate, Journal, ManualClock

# Long enough for a hook or a thread to get its turn on a busy machine, and no longer: every test here takes it.
GRACE_S = 0.2
# The tools' own, in cases.stopping_tools; on a clock that the test moves.
LIMIT_S = 1.0

in_thread = pytest.mark.parametrize("strategy", [name for name in ALL if name not in ("sequential", "fork")])
in_loop = pytest.mark.parametrize("strategy", LOOPS)
entries = pytest.mark.parametrize("entry", ENTRIES)
needs_fork = pytest.mark.skipif("fork" not in ALL, reason="needs os.fork")


def asked(*calls: Any, **options: Any) -> tx.Context:
    return received(*calls, tools=stopping_tools.TOOLS, **options)


Brief = Callable[[str], tx.Strategy]


class Room:
    """A folder for tools that nobody can stop; they are let go at the end, or they would run for ever."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.journal = Journal(folder / "journal")
        os.mkfifo(folder / "pipe")
        self._pipe = os.open(folder / "pipe", os.O_RDWR)

    def let_go(self) -> None:
        if self._pipe >= 0:
            Path(self.folder, "release").touch()
            os.write(self._pipe, b"late")
            os.close(self._pipe)
            self._pipe = -1


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    folder = tmp_path / "room"
    folder.mkdir()
    made = Room(folder)
    yield made
    made.let_go()


@pytest.fixture(scope="module")
def brief() -> Iterator[Brief]:
    """Strategies with a small grace, by name; one of each for all tests here."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(tx.strategy(name, grace=GRACE_S)))


def left_behind(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The tools that were reported as left behind."""
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return [message.split("'")[1] for message in messages if "left behind" in message]


# B4: a tool that never cooperates


def timed_out(strategy: tx.Strategy | str, tool: str, gate: Gate, room: Room, entry: str = "plain") -> tx.Group:
    """A call that does not stop, and one that waits for the place it holds; the first runs out of time."""
    clock = ManualClock()
    ctx = asked((tool, {"gate": gate.path, "folder": room.folder}), ("alone", {}), clock=clock)
    groups: list[tx.Group] = []

    def start() -> tx.Group:
        groups.append(ctx.group(strategy))
        return groups[0]

    def act(group: tx.Group) -> None:
        try:
            let_time_pass(gate, clock, LIMIT_S)(group)
        finally:
            if entry != "plain":  # what was left behind in this very loop would keep it for ever
                room.let_go()

    steer(start, act, entry)
    return groups[0]


def assert_left_behind(group: tx.Group, caplog: pytest.LogCaptureFixture) -> None:
    """Its Return has come in time and says so, and what it held is the next call's."""
    left, other = group.wait(0)

    assert ("timeout", True) == (left.status, left.abandoned)
    assert isinstance(left.exception, tx.DeadlineExceeded)
    assert left.value["abandoned"]
    assert LIMIT_S + GRACE_S <= left.duration_s < LIMIT_S + GRACE_S + 1.0
    assert "ran" == other.value
    assert [left.name] == left_behind(caplog)


@pytest.mark.parametrize("tool", ["stubborn", "blocked"])
@in_thread
def test_B4_what_nobody_can_stop_is_left_behind_and_harms_nobody(
    brief: Brief, strategy: str, tool: str, gate: Gate, room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    group = timed_out(brief(strategy), tool, gate, room)
    returns = group.returns
    ident = int(gate.reached[0].split()[1])
    thread = next((one for one in threading.enumerate() if one.ident == ident), None)
    room.let_go()

    assert_left_behind(group, caplog)
    if strategy != "interpreter":  # whose threads are nobody's here
        assert thread is not None
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "its thread ends with it, and takes no other call"
    assert returns == group.returns, "what it returns later is dropped"


@pytest.mark.parametrize("strategy", [name for name in ALL if name != "sequential"])
def test_B4_a_loop_of_nothing_is_ended_where_it_stands(strategy: str, gate: Gate, room: Room) -> None:
    ret, other = timed_out(strategy, "busy", gate, room).wait(0)

    assert ("timeout", False, "ran") == (ret.status, ret.abandoned, other.value)


@needs_fork
@pytest.mark.parametrize("tool", ["busy", "stubborn", "blocked", "holds_the_gil", "deaf"])
def test_B4_a_process_is_gone_by_the_end_of_the_grace(brief: Brief, tool: str, gate: Gate, room: Room) -> None:
    ended, other = timed_out(brief("fork"), tool, gate, room).wait(0)
    pid = int(gate.reached[0].split()[0])
    eventually(lambda: collected(pid), 1.0)

    assert ("timeout", False, "ran") == (ended.status, ended.abandoned, other.value)
    assert ended.duration_s < LIMIT_S + GRACE_S + 1.0
    if tool == "deaf":  # SIGKILL is the last means, and not the first
        assert ended.duration_s >= LIMIT_S + GRACE_S
        assert ["SIGTERM"] == room.journal.lines()


# B3, B5: the limit waits for the tool's clean-up; the tool swallows the cancellation


@pytest.mark.parametrize("tool", ["acleans_long", "aswallows"])
@entries
@in_loop
def test_B3_B5_a_loop_waits_for_no_tool_beyond_its_grace(
    brief: Brief, strategy: str, entry: str, tool: str, gate: Gate, room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it cleans up for ever or swallows being cancelled."""
    group = timed_out(brief(strategy), tool, gate, room, entry)
    room.let_go()

    assert_left_behind(group, caplog)


@pytest.mark.parametrize("tool", ["acleans_long", "aswallows"])
@entries
@in_loop
def test_B5_an_interrupt_of_it_is_answered_just_so(
    brief: Brief, strategy: str, entry: str, tool: str, gate: Gate, room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    ctx = asked()
    call = ctx.functions[tool].bind({"gate": gate.path, "folder": room.folder})

    def act(task: tx.Task) -> None:
        gate.wait_until_reached()
        task.interrupt("enough")
        task.wait(PATIENCE_S)
        room.let_go()

    ret = steer(lambda: ctx.submit(call, strategy=brief(strategy)), act, entry)

    assert ("cancelled", "enough", True) == (ret.status, ret.reason, ret.abandoned)
    assert {"cancelled": True, "reason": "enough", "abandoned": True} == ret.value
    assert [tool] == left_behind(caplog)


@pytest.mark.parametrize("entry", LOOPS)
def test_B5_asyncio_steps_a_dropped_tool_no_more(brief: Brief, entry: str, gate: Gate, room: Room) -> None:
    """In the caller's own loop, and in the strategy's beside trio's.  No trio task can be dropped."""
    ctx = asked(("aswallows", {"gate": gate.path, "folder": room.folder}))

    async def main() -> tuple[int, int]:
        group = ctx.group(brief("asyncio"))
        await gate.until_reached()
        group.interrupt("enough")
        (ret,) = await group
        assert ret.abandoned
        steps = len(room.journal.lines())
        for _ in range(10):
            await nap(0.005)
        return steps, len(room.journal.lines())

    before, after = run_in(entry, main)

    assert before == after
