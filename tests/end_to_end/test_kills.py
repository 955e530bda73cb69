"""Programs that are killed, and fork servers: nothing of ours outlives them, and every call is answered."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolexec.testing import Gate, Journal

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")

# Within that time everything has to be gone that was started below a program which was killed.
GONE_S = 2.0
# Where nothing may take for ever, and far longer than anything takes.
PATIENCE_S = 30.0

MARK = "TOOLEXEC_TEST_KILLS"

TOOLS = """
    import contextlib, json, os, signal, sys, time
    import toolexec as tx
    from toolexec.testing import Gate, Journal

    gate, release, journal = Gate(sys.argv[1]), Gate(sys.argv[2]), Journal(sys.argv[3])

    @tx.tool
    def stands() -> str:
        # A process of its own, which nobody waits for.
        os.posix_spawn("/bin/sleep", ["sleep", "600"], os.environ)
        gate.arrive(str(os.getpid()))
        release.pass_through()
        return "passed"

    @tx.tool
    def deaf() -> None:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        gate.arrive(str(os.getpid()))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(BaseException):
                time.sleep(60)

    @tx.tool
    def nested() -> str:
        return tx.run(stands, {}, "fork").unwrap()

    @tx.tool
    def quick(n: int) -> int:
        journal.write("ran")
        return n
"""


class Program:
    """A program that uses the engine, and everything that was started below it."""

    def __init__(self, code: str, folder: Path, gate: Gate, release: Gate) -> None:
        script = folder / "program.py"
        script.write_text(textwrap.dedent(TOOLS) + textwrap.dedent(code))
        self.journal = Journal(folder / "journal")
        self._mark = f"{MARK}={secrets.token_hex(8)}"
        name, value = self._mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(script), gate.path, release.path, self.journal.path],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, name: value, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )

    def ours(self) -> dict[int, str]:
        """The pids of what was started with this program's environment, and lives; with their command lines."""
        found: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if self._mark.encode() in (entry / "environ").read_bytes():
                        found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:  # gone since, or somebody else's
                    continue
        return found

    def server(self) -> int:
        """The fork server that this program has started, not one of a tool's."""
        for pid, command in self.ours().items():
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if parent == self.process.pid and "fork._server" in command:
                return pid
        raise AssertionError(f"no fork server among {self.ours()}")

    def said(self) -> Any:
        """What it has printed by its end."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        assert 0 == self.process.returncode
        return json.loads(out)

    def clean_up(self) -> None:
        for pid in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.communicate()


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "release") as made:
        yield made


@pytest.fixture
def program(tmp_path: Path, gate: Gate, release: Gate) -> Iterator[Callable[[str], Program]]:
    programs: list[Program] = []

    def start(code: str) -> Program:
        programs.append(Program(code, tmp_path, gate, release))
        return programs[-1]

    yield start
    for one in programs:
        one.clean_up()


def within(seconds: float, condition: Callable[[], object], what: Callable[[], object]) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds:g} s: {what()}"
        time.sleep(0.005)


def assert_nothing_outlives(program: Program) -> None:
    os.kill(program.process.pid, signal.SIGKILL)
    program.process.wait()
    within(GONE_S, lambda: not program.ours(), program.ours)


# The host is killed


@pytest.mark.parametrize("tool", ["stands", "deaf", "nested"])
def test_a_host_killed_while_tools_run_leaves_nothing(program: Callable[[str], Program], gate: Gate, tool: str) -> None:
    """Neither a tool that ignores every signal, nor what a tool has started, nor a call within a call."""
    code = f"""
        if __name__ == "__main__":
            tasks = [{tool}.bind({{}}).task(tx.strategy("fork", window=2)) for _ in range(2)]
            for task in tasks:
                task.wait()
    """
    started = program(code)
    gate.wait_until_reached(2)

    assert {int(pid) for pid in gate.reached} < set(started.ours())
    assert_nothing_outlives(started)


def test_a_host_killed_while_workers_idle_leaves_nothing(program: Callable[[str], Program], gate: Gate) -> None:
    code = """
        if __name__ == "__main__":
            fork = tx.strategy("fork", window=4, calls_per_child=None)
            for n in range(4):
                assert n == tx.run(quick, {"n": n}, fork).value
            gate.arrive()
            time.sleep(60)
    """
    started = program(code)
    gate.wait_until_reached()

    assert len(started.ours()) >= 2, "the server, and children that wait for calls"
    assert_nothing_outlives(started)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_a_host_killed_around_a_fork_leaves_nothing(program: Callable[[str], Program], count: int) -> None:
    """Children are forked all the time, so at any moment one is just there, or not quite."""
    code = """
        if __name__ == "__main__":
            fork = tx.strategy("fork", window=4)
            while True:
                for task in [quick.bind({"n": n}).task(fork) for n in range(4)]:
                    task.wait()
    """
    started = program(code)
    within(PATIENCE_S, lambda: len(started.journal.lines()) >= count, started.ours)

    assert_nothing_outlives(started)


# The server is killed, or stopped


def test_a_server_killed_in_mid_call_loses_each_call_and_the_next_one_works(
    program: Callable[[str], Program], gate: Gate
) -> None:
    code = """
        if __name__ == "__main__":
            fork = tx.strategy("fork", window=3)
            tasks = [tool.bind({}).task(fork) for tool in (stands, deaf, nested)]
            began = [task.wait().status for task in tasks]
            print(json.dumps([began, tx.run(quick, {"n": 1}, fork).value]))
    """
    started = program(code)
    gate.wait_until_reached(3)
    inside = set(started.ours())
    server = started.server()
    os.kill(server, signal.SIGKILL)

    within(GONE_S, lambda: not (inside & set(started.ours())) - {started.process.pid}, started.ours)
    assert [["lost", "lost", "lost"], 1] == started.said()
    within(GONE_S, lambda: not started.ours(), started.ours)


def test_a_stopped_server_ends_only_what_needs_it(program: Callable[[str], Program], gate: Gate, release: Gate) -> None:
    """Calls that are in a child finish; those that wait for one are lost in time; the next one works."""
    code = """
        if __name__ == "__main__":
            fork = tx.strategy("fork", window=2)
            inside = [stands.bind({}).task(fork) for _ in range(2)]
            while journal.lines() != ["stopped"]:
                time.sleep(0.005)
            fork.start_timeout = 0.3  # what the server's start has taken is none of this
            waiting = [quick.bind({"n": n}).task(fork) for n in range(12)]  # more than there are idle children
            statuses = {task.wait().status for task in waiting}
            fork.start_timeout = 30
            journal.write("waited")
            finished = [task.wait().value for task in inside]
            print(json.dumps([sorted(statuses), finished, tx.run(quick, {"n": 1}, fork).value]))
    """
    started = program(code)
    gate.wait_until_reached(2)
    os.kill(started.server(), signal.SIGSTOP)
    started.journal.write("stopped")
    within(PATIENCE_S, lambda: "waited" in started.journal.lines(), started.ours)
    release.open()

    statuses, finished, after = started.said()
    assert "lost" in statuses
    assert {"lost", "ok"} >= set(statuses)
    assert (["passed", "passed"], 1) == (finished, after)
    within(GONE_S, lambda: not started.ours(), started.ours)


# The tool ends


@pytest.mark.parametrize("tool", ["stands", "deaf", "nested"])
@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_what_a_tool_has_started_is_gone_with_it(
    program: Callable[[str], Program], gate: Gate, tool: str, how: str
) -> None:
    code = f"""
        if __name__ == "__main__":
            with tx.strategy("fork", grace=0.5) as fork:
                task = {tool}.bind({{}}).task(fork)
                while not journal.lines():
                    time.sleep(0.005)
                if "{how}" == "interrupted":
                    task.interrupt()
                status = task.wait().status
            print(json.dumps(status))
            journal.write("closed")
            while journal.lines()[-1] != "looked":
                time.sleep(0.005)
    """
    started = program(code)
    gate.wait_until_reached()
    before = set(started.ours()) - {started.process.pid, started.server()}
    if how == "killed":
        os.kill(int(gate.reached[0]), signal.SIGKILL)
    started.journal.write("go on")

    within(GONE_S + 0.5, lambda: not before & set(started.ours()), started.ours)
    within(PATIENCE_S, lambda: "closed" in started.journal.lines(), started.ours)
    within(GONE_S, lambda: {started.process.pid} == set(started.ours()), started.ours)
    started.journal.write("looked")
    expected = "cancelled" if how == "interrupted" else "raised" if tool == "nested" else "lost"
    assert expected == started.said()
