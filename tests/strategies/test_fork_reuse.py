"""Children that serve several calls: what they keep, what they give back, and when they are not used again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import stopped_tools as tools
import toolexec as tx
from toolexec.lowlevel import Job
from toolexec.testing import Gate, assert_no_leftovers
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def count(strategy: ForkStrategy, **arguments: Any) -> dict[str, Any]:
    seen: dict[str, Any] = tx.run(tools.count_calls, arguments, strategy).unwrap()
    return seen


def until_back(strategy: ForkStrategy, pid: int) -> bool:
    """Whether the child waits for another call, or has ended, whichever comes first."""
    server: Any = strategy._current
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if any(spare.pid == pid for spare in list(server._idle)):
            return True
        if not Path(f"/proc/{pid}").exists():
            return False
        time.sleep(0.001)
    raise AssertionError(f"child {pid} is neither back nor gone")


def test_by_default_every_call_has_its_own() -> None:
    with ForkStrategy() as fork:
        assert [1, 1, 1] == [count(fork)["calls"] for _ in range(3)]


def test_a_child_serves_as_many_calls_as_it_may() -> None:
    with assert_no_leftovers(), ForkStrategy(window=1, calls_per_child=3, preload=True) as fork:
        seen = []
        for _ in range(7):
            seen.append(count(fork))
            until_back(fork, seen[-1]["pid"])

    # How the idle ones take turns is the server's affair; none serves a fourth call.
    per_child = {pid: [one["calls"] for one in seen if one["pid"] == pid] for pid in {one["pid"] for one in seen}}
    assert all(calls == list(range(1, len(calls) + 1)) and len(calls) <= 3 for calls in per_child.values()), per_child


def test_what_a_call_changes_is_restored() -> None:
    with ForkStrategy(window=1, calls_per_child=None) as fork:
        first = count(fork, do="mess")
        assert until_back(fork, first["pid"])
        seen = [count(fork) for _ in range(8)]

    again = [one for one in seen if one["pid"] == first["pid"]]
    assert again
    assert {(str(Path.cwd()), None, True)} == {(one["cwd"], one["left"], one["handler"]) for one in again}


@pytest.mark.parametrize("left", ["thread", "process"])
def test_a_child_in_which_something_is_left_is_not_used_again(left: str) -> None:
    with ForkStrategy(window=1, calls_per_child=None) as fork:
        first = count(fork, do=left)
        assert not until_back(fork, first["pid"])

        assert all(one["pid"] != first["pid"] for one in [count(fork) for _ in range(8)])
        if left == "process":
            assert not Path(f"/proc/{first['child']}").exists()


def test_an_interrupted_child_is_not_used_again(tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate, ForkStrategy(window=1, calls_per_child=None) as fork:
        task = tools.catches.bind({"gate": gate.path}).task(fork)
        gate.wait_until_reached()
        job: Any = task._job
        pid = job.slot.spare.pid
        task.interrupt()
        assert "ok" == task.wait(10).status

        assert not until_back(fork, pid)
        assert "ok" == tx.run(tools.times, {}, fork).status


def test_a_child_that_was_killed_is_not_used_again_though_the_ask_came_too_late_for_it(tmp_path: Path) -> None:
    """It has answered, and said that it is ready, before it was killed for having been asked to stop."""

    class Late(ForkStrategy):
        def ask(self, job: Job) -> None:
            """Never comes: the answer was faster."""

    with Gate(tmp_path / "gate") as gate, Late(window=1, calls_per_child=None) as fork:
        task = tools.holds_out.bind({"gate": gate.path}).task(fork)
        gate.wait_until_reached()
        task.interrupt()
        gate.open()
        assert ("ok", "late") == (task.wait(10).status, task.wait().value)

        assert "ok" == tx.run(tools.times, {}, fork).status


def test_an_interrupt_around_the_end_hits_no_later_call() -> None:
    with ForkStrategy(window=1, calls_per_child=None) as fork:
        for number in range(60):
            task = tools.times.bind({}).task(fork)
            deadline = time.perf_counter() + (number % 20) * 0.0002
            while time.perf_counter() < deadline:
                pass
            task.interrupt()
            assert task.wait(10).status in ("ok", "cancelled")
            after = tx.run(tools.times, {}, fork)
            assert ("ok", False) == (after.status, after.value["interrupted"])


def test_calls_per_child_takes_a_number_of_calls() -> None:
    with pytest.raises(ValueError, match="calls_per_child is 0"):
        ForkStrategy(calls_per_child=0)
