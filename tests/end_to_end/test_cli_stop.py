"""`toolexec run` stopped: by Ctrl-C, by SIGTERM, by a limit of time."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from command import COMMAND, TIMEOUT_S, environment, essence, read_terminal, records, toolexec
from toolexec.testing import Gate

TOOLS = '''
import os, signal, subprocess, sys, time
import toolexec as tx
from toolexec import _discovery
from toolexec.testing import Gate

def note(path, line):
    with open(path, "a") as file:
        file.write(f"{line}\\n")

class Hooked(tx.Tool):
    """Stay until interrupted, asleep in a system call."""
    name = "hooked"
    notes = None

    def call(self, gate: str, notes: str, label: str) -> None:
        self.notes, self.label = notes, label
        note(notes, f"began {label}")
        Gate(gate).arrive(label)
        time.sleep(600)

    def on_cancel(self) -> None:
        note(self.notes, f"hook {self.label} {os.getpid()}")

@tx.tool
def stubborn(gate: str) -> None:
    """Never stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    Gate(gate).arrive(f"{os.getpid()} {child.pid}")
    while True:
        try:
            time.sleep(600)
        except BaseException:
            pass

@tx.tool(deliver="poll")
def deaf(gate: str) -> None:
    """Never stop, on a thread."""
    Gate(gate).arrive()
    time.sleep(600)

@tx.tool(deliver="poll")
def polite(gate: str) -> str:
    """Answer when interrupted."""
    Gate(gate).arrive()
    tx.current_call().wait_interrupted()
    return "answered"

@tx.tool
def loops(gate: str) -> None:
    """Go on and on, in line."""
    Gate(gate).arrive()
    while True:
        time.sleep(0.01)

@tx.tool
def forks() -> int:
    """What becomes of a process that the tool forks, when it gets a Ctrl-C."""
    ready, began = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(began, b"x")
            while True:  # a signal that comes right before a system call would not cut that short
                time.sleep(0.01)
        except KeyboardInterrupt:
            os._exit(7)
        finally:
            os._exit(8)
    os.read(ready, 1)
    os.kill(pid, signal.SIGINT)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

@tx.tool
def quick() -> int:
    return 1

@tx.tool
def graces() -> list[float]:
    """What the strategies that are used by name have."""
    return [_discovery.shared(name).grace for name in ("thread", "asyncio", "fork")]
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mytools.py").write_text(TOOLS, "utf-8")
    return tmp_path


@pytest.fixture
def gate(folder: Path) -> Iterator[Gate]:
    with Gate(folder / "gate") as made:
        yield made


class Running:
    """The command, under way in a process group of its own, as a shell starts it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def press(self, number: int = signal.SIGINT) -> None:
        """As a terminal does: for the whole process group."""
        os.killpg(self.process.pid, number)

    def says(self, words: str) -> None:
        """Read standard error up to a line with these words."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return
        raise AssertionError(f"standard error ended without {words!r}")

    def end(self) -> subprocess.CompletedProcess[str]:
        stdout, stderr = self.process.communicate(timeout=TIMEOUT_S)
        return subprocess.CompletedProcess([], self.process.returncode, stdout, stderr)


@contextmanager
def running(folder: Path, calls: list[dict[str, Any]], *options: str) -> Iterator[Running]:
    (folder / "calls.json").write_text(json.dumps(calls), "utf-8")
    with subprocess.Popen(
        [COMMAND, "run", "calls.json", "--tools", "mytools.py", *options],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def call(name: str, gate: Gate, **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": {"gate": gate.path, **arguments}}


def test_C15_ctrl_c_with_processes(folder: Path, gate: Gate) -> None:
    """Three run and five wait: hooks run in the children, what waits never starts, and all are answered."""
    notes = folder / "notes"
    calls = [call("hooked", gate, notes=str(notes), label=str(label)) for label in range(8)]

    with running(folder, calls, "--strategy", "fork", "--window", "3", "--grace", "20") as command:
        gate.wait_until_reached(3)
        command.press()
        done = command.end()

    assert (130, ["cancelled"] * 8) == (done.returncode, [record["status"] for record in records(done)])
    assert {"interrupted by Ctrl-C"} == {record["reason"] for record in records(done)}
    assert [0] * 5 == [record["attempts"] for record in records(done)[3:]]
    lines = [line.split() for line in notes.read_text().splitlines()]
    assert ["0", "1", "2"] == sorted(label for what, label, *_ in lines if what == "began")
    hooks = [line for line in lines if line[0] == "hook"]
    assert ["0", "1", "2"] == sorted(label for _, label, _ in hooks)
    assert 3 == len({pid for *_, pid in hooks} - {str(command.process.pid)}), "each in its own child"
    assert ["toolexec: interrupting; press Ctrl-C again to kill what does not stop"] == done.stderr.splitlines()


def test_a_second_ctrl_c_kills(folder: Path, gate: Gate) -> None:
    """Whatever grace there is: children and what they have started are gone, and there is no output."""
    with running(folder, [call("stubborn", gate)], "--strategy", "fork", "--grace", "600") as command:
        gate.wait_until_reached()
        command.press()
        command.says("press Ctrl-C again")
        command.press()
        done = command.end()

    assert (130, "", "toolexec: killing\n") == (done.returncode, done.stdout, done.stderr)
    for pid in map(int, gate.reached[0].split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_second_ctrl_c_leaves_a_thread_behind(folder: Path, gate: Gate) -> None:
    """Nothing can kill it; it does not keep the command from ending."""
    with running(folder, [call("deaf", gate)], "--grace", "600") as command:
        gate.wait_until_reached()
        command.press()
        command.says("press Ctrl-C again")
        command.press()
        done = command.end()

    assert (130, "") == (done.returncode, done.stdout)
    assert "Traceback" not in done.stderr


def test_in_line_a_body_goes_on_and_may_answer(folder: Path, gate: Gate) -> None:
    with running(folder, [call("polite", gate), call("polite", gate)], "--strategy", "sequential") as command:
        gate.wait_until_reached()
        command.press()
        done = command.end()

    first, second = records(done)
    assert ("polite", "ok", "answered") == essence(first)
    assert ("cancelled", 0) == (second["status"], second["attempts"])
    assert 130 == done.returncode


def test_in_line_a_second_ctrl_c_is_raised_in_the_body(folder: Path, gate: Gate) -> None:
    with running(folder, [call("loops", gate)], "--strategy", "sequential") as command:
        gate.wait_until_reached()
        command.press()
        command.says("press Ctrl-C again")
        command.press()
        done = command.end()

    assert (130, "", "toolexec: killing\n") == (done.returncode, done.stdout, done.stderr)


def test_sigterm_is_the_same_with_another_exit_code(folder: Path, gate: Gate) -> None:
    with running(folder, [call("polite", gate)]) as command:
        gate.wait_until_reached()
        command.process.terminate()
        done = command.end()

    assert (143, [("polite", "ok", "answered")]) == (done.returncode, [essence(record) for record in records(done)])
    assert ["toolexec: terminating; a second SIGTERM kills what does not stop"] == done.stderr.splitlines()


def test_a_process_that_a_tool_forks_hears_its_ctrl_c_itself(folder: Path) -> None:
    """The handlers are this process's own."""
    # In line: from Python 3.12 on a child that another thread has forked may never run a handler at all.
    with running(folder, [{"name": "forks", "arguments": {}}], "--strategy", "sequential") as command:
        done = command.end()

    assert [7] == [record["value"] for record in records(done)]
    assert 0 == done.returncode


def test_a_limit_of_time(folder: Path, gate: Gate) -> None:
    """What is through by then keeps its value; what is not is stopped within grace."""
    calls = [{"name": "quick", "arguments": {}}, call("polite", gate), call("deaf", gate)]

    with running(folder, calls, "--timeout", "1", "--grace", "0.2") as command:
        done = command.end()

    quick, polite, deaf = records(done)
    assert ("quick", "ok", 1) == essence(quick)
    assert ("polite", "timeout", "DeadlineExceeded") == essence(polite)
    assert "the group's time limit of 1 s is over" == polite["value"]["message"]
    assert ("timeout", True) == (deaf["status"], deaf["abandoned"])
    assert 1 == done.returncode


def test_grace_is_for_all_strategies_that_are_used_by_name(folder: Path) -> None:
    with running(folder, [{"name": "graces", "arguments": {}}], "--grace", "0.2") as command:
        done = command.end()

    assert [("graces", "ok", [0.2, 0.2, 0.2])] == [essence(record) for record in records(done)]


def test_progress_shows_what_was_stopped(folder: Path, gate: Gate) -> None:
    (folder / "calls.json").write_text(json.dumps([call("polite", gate)]), "utf-8")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "run", "calls.json", "--tools", "mytools.py", "--timeout", "0.2"],
        cwd=folder,
        env=environment(TERM="dumb"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = read_terminal(ours)
        assert 1 == process.wait(TIMEOUT_S)

    _, line, *_, end = shown.splitlines()
    assert ["timeout", "polite"] == line.split()[:2]
    assert "the group's time limit of 0.2 s is over" in " ".join(shown.split())
    assert end.endswith(": 1 timeout")


@pytest.mark.parametrize("option", ["--timeout", "--grace"])
@pytest.mark.parametrize("seconds", ["soon", "-1", "inf", "nan"])
def test_what_is_no_number_of_seconds_is_refused(folder: Path, option: str, seconds: str) -> None:
    done = toolexec("run", "-", "--tools", "mytools.py", option, seconds, cwd=folder, stdin="[]")

    assert (2, "") == (done.returncode, done.stdout)
    assert option in done.stderr
    assert "Traceback" not in done.stderr
