"""Standard output belongs to the command: nothing that a tool prints gets there, by whatever way."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import toolexec as tx
from command import COMMAND, TIMEOUT_S, environment, records, toolexec

NOISY = '''
import ctypes, os, subprocess, sys
import toolexec as tx

print("at import")
os.write(1, b"at import, by descriptor\\n")

@tx.tool
def noisy() -> str:
    """Print in every way there is."""
    print("by print", flush=True)
    print("by the original stream", file=sys.__stdout__, flush=True)
    os.write(1, b"by descriptor\\n")
    subprocess.run(["echo", "by a subprocess"], check=True)
    return "done"

@tx.tool
def noisy_in_c() -> str:
    """Print as an extension module does."""
    libc = ctypes.CDLL(None)
    libc.puts(b"by C")
    libc.fflush(None)
    return "done"

@tx.tool
def noisy_child() -> str:
    """Print in a child of one's own."""
    child = os.fork()
    if child == 0:
        os.write(1, b"by a forked child\\n")
        os._exit(0)
    os.waitpid(child, 0)
    return "done"

@tx.tool
def leave_a_child(gate: str) -> str:
    """Leave a child that lives until somebody opens the gate."""
    if os.fork() == 0:
        open(gate, "rb").read()
        os._exit(0)
    return "done"
'''
WAYS = {
    "noisy": ["by print", "by the original stream", "by descriptor", "by a subprocess"],
    "noisy_in_c": ["by C"],
    "noisy_child": ["by a forked child"],
}
# A subinterpreter may not fork, and loads no ctypes.
STRATEGIES = {"sequential": list(WAYS), "thread": list(WAYS), "fork": list(WAYS), "interpreter": ["noisy"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with noisy tools."""
    (tmp_path / "noise.py").write_text(NOISY, "utf-8")
    return tmp_path


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_tools_print_goes_to_standard_error(folder: Path, strategy: str) -> None:
    """The JSON is read by a program."""
    try:
        tx.strategy(strategy).close()
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    called = STRATEGIES[strategy]
    calls = json.dumps([{"name": name} for name in called])

    done = toolexec("run", "-", "--tools", "noise.py", "--strategy", strategy, cwd=folder, stdin=calls)

    assert ["done"] * len(called) == [record["value"] for record in records(done)]
    for text in ["at import", "at import, by descriptor", *(text for name in called for text in WAYS[name])]:
        # Not as a line of its own: calls print at the same time, and a text and its line end may be two writes.
        assert text in done.stderr


@pytest.mark.parametrize("form", ["json", "table"])
def test_showing_tools_is_as_quiet(folder: Path, form: str) -> None:
    """Loading the tools is when they print most."""
    done = toolexec("tools", "noise.py", "--format", form, cwd=folder)

    assert done.returncode == 0
    assert "at import" not in done.stdout
    assert "at import" in done.stderr


def test_a_reader_that_goes_is_no_error(folder: Path) -> None:
    """As in `toolexec run ... | head -1`: the exit code still tells of the calls."""
    calls = json.dumps([{"name": "unknown", "id": "x" * 100_000}])
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [COMMAND, "run", "-", "--tools", "noise.py"],
            cwd=folder,
            env=environment(),
            input=calls,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )

    assert done.returncode == 1
    assert set(done.stderr.splitlines()) == {"at import", "at import, by descriptor"}


def test_what_a_tool_leaves_running_holds_no_reader(folder: Path) -> None:
    """A child of the tool's has no copy of the descriptor, so the reader sees the end."""
    gate = folder / "gate"
    os.mkfifo(gate)
    done = subprocess.run(
        [COMMAND, "run", "-", "--tools", "noise.py", "--strategy", "sequential"],
        cwd=folder,
        env=environment(),
        input=json.dumps([{"name": "leave_a_child", "arguments": {"gate": str(gate)}}]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    gate.write_bytes(b"")

    assert ["done"] == [record["value"] for record in records(done)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this platform has no /dev/full")
def test_a_full_disk_is_told(folder: Path) -> None:
    """Results that are nowhere must not look like success."""
    with Path("/dev/full").open("wb") as stdout:
        done = subprocess.run(
            [COMMAND, "run", "-", "--tools", "noise.py"],
            cwd=folder,
            env=environment(),
            input="[]",
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )

    assert done.returncode == 2
    assert "the results cannot be written to standard output: No space left on device" in done.stderr


def test_a_closed_standard_output_is_told(folder: Path) -> None:
    """Otherwise the first file that a tool opens would get the results."""
    done = subprocess.run(
        ["sh", "-c", '"$0" run - --tools noise.py >&-', COMMAND],
        cwd=folder,
        env=environment(),
        input="[]",
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (2, "Error: there is no standard output to write to: Bad file descriptor\n") == (
        done.returncode,
        done.stderr,
    )
