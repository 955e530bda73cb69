"""A fork server that is killed or stopped: every call answered, nothing run twice, and the next call works."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

import stopped_tools as tools
import toolexec as tx
from toolexec.testing import Gate
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def server_of(fork: ForkStrategy) -> int:
    assert fork._current is not None
    return fork._current.process.pid


def test_a_server_killed_in_mid_call_loses_its_calls_at_once(gate: Gate) -> None:
    with ForkStrategy(window=2) as fork:
        tasks = [tools.wrapped.bind({"gate": gate.path}).task(fork) for _ in range(2)]
        gate.wait_until_reached(2)
        began = time.monotonic()
        os.kill(server_of(fork), signal.SIGKILL)
        returns = [task.wait(20) for task in tasks]

        assert ["lost", "lost"] == [ret.status for ret in returns]
        assert time.monotonic() - began < 5
        assert "fork server died" in returns[0].value["message"]
        assert "ok" == tx.run(tools.times, {}, fork).status


def test_a_server_killed_while_idle_costs_no_call() -> None:
    with ForkStrategy(window=2) as fork:
        assert "ok" == tx.run(tools.times, {}, fork).status
        for round_ in range(6):
            try:
                os.kill(server_of(fork), signal.SIGKILL)
            except ProcessLookupError:  # a call that ran as it died was answered, and has seen nothing of it
                pass
            time.sleep(round_ * 0.002)  # before its death is seen, or after

            assert "ok" == tx.run(tools.times, {}, fork).status


def test_with_a_stopped_server_calls_in_a_child_finish_and_the_others_are_lost(gate: Gate) -> None:
    with ForkStrategy(window=2, grace=10, start_timeout=8) as fork:
        inside = tools.catches.bind({"gate": gate.path}).task(fork)
        gate.wait_until_reached()
        stopped: Any = fork._current
        fork.start_timeout = 0.3  # the start itself may take longer here
        os.kill(stopped.process.pid, signal.SIGSTOP)
        waiting = [tools.times.bind({}).task(fork) for _ in range(8)]  # more than there are idle children

        statuses = {task.wait(20).status for task in waiting}
        assert "lost" in statuses
        assert statuses <= {"ok", "lost"}
        fork.start_timeout = 8
        assert "ok" == tx.run(tools.times, {}, fork).status
        inside.interrupt("now")
        assert ("ok", "caught: now") == (inside.wait(20).status, inside.wait().value)
        began = time.monotonic()

    assert time.monotonic() - began < 2.5
    assert stopped.process.returncode is not None
