"""How interpreters end, and a program with them: whatever stands in them, quietly and with its own exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from toolexec_strategies.interpreter._inlet import Inlet

needs_interpreters = pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters are public from 3.14")

START = """
import sys, time
import stopped_tools as tools, toolexec as tx
from toolexec.testing import Gate

pool = tx.strategy("interpreter", grace=0.4)
gate = Gate(sys.argv[1])
gate.__enter__()
hook_gate = Gate(sys.argv[1] + " of the hook")
hook_gate.__enter__()

def start(tool, **arguments):
    task = tx.Context([tool], strategy=pool).submit({"name": tool.name, "arguments": {"gate": gate.path, **arguments}})
    gate.wait_until_reached()
    return task
"""


def run(code: str, tmp_path: Path) -> tuple[int, str, float]:
    """Exit code and complaints of a program, and the seconds it took from the end of its code."""
    script = tmp_path / "program.py"
    script.write_text(START + textwrap.dedent(code) + "\nprint(time.time())\nsys.exit(3)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(script), str(tmp_path / "gate")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=50,
        check=False,
    )
    took = time.time() - float(done.stdout.split()[-1]) if done.stdout else -1.0
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("toolexec: ")]
    return done.returncode, "\n".join(complaints), took


@needs_interpreters
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("tx.run(tools.times, {}, pool)", id="idle"),
        pytest.param("start(tools.catches)", id="running"),
        pytest.param("start(tools.swallows)", id="swallowing"),
        pytest.param("start(tools.spins)", id="spinning"),
        pytest.param("start(tools.swallows).interrupt(); time.sleep(0.1)", id="asked"),
        pytest.param("assert pool_closes(start(tools.swallows)).abandoned", id="left behind, and closed"),
        pytest.param(
            "task = start(tools.HookedLong, hook_gate=hook_gate.path); task.interrupt(); task.wait(20)",
            id="in its hook",
        ),
        pytest.param(
            "assert not pool_closes(start(tools.HookedLong, hook_gate=hook_gate.path)).abandoned",
            id="in its hook, and closed",
        ),
        pytest.param("task = start(tools.catches); task.interrupt(); task.wait(20)", id="just interrupted"),
    ],
)
def test_the_program_ends_whatever_stands_in_its_interpreters(code: str, tmp_path: Path) -> None:
    helper = "def pool_closes(task):\n    task.interrupt()\n    ret = task.wait(20)\n    pool.close()\n    return ret\n"
    status, complaints, took = run(helper + code, tmp_path)

    assert (3, "") == (status, complaints)
    assert took < 15  # the grace, 2 s for what is being closed, and a busy machine


@needs_interpreters
def test_a_thread_that_a_tool_left_holds_up_neither_close_nor_for_ever_the_program(tmp_path: Path) -> None:
    """As any thread of the program's own would hold it up."""
    status, complaints, took = run("tx.run(tools.leaves_threads, {'seconds': 3}, pool); pool.close()", tmp_path)

    assert (3, "") == (status, complaints)
    assert took < 20


@needs_interpreters
def test_a_fork_right_after_an_interrupt(tmp_path: Path) -> None:
    """The interpreter that is given up is closed first: CPython crashes in the child beside one."""
    status, complaints, _ = run(
        """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        task = start(tools.catches)
        task.interrupt()
        task.wait(20)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        tmp_path,
    )

    assert (3, "") == (status, complaints)


def test_an_inlet_is_closed_when_its_writer_is_through() -> None:
    read, write = os.pipe()
    inlet = Inlet(write)
    begun, go = threading.Event(), threading.Event()

    def slowly(fd: int) -> None:
        os.write(fd, b"a")
        begun.set()
        assert go.wait(10)
        os.write(fd, b"b")

    writer = threading.Thread(target=inlet.write, args=(slowly,))
    writer.start()
    assert begun.wait(10)
    inlet.close()
    inlet.close()
    assert not inlet.write(lambda fd: os.write(fd, b"c"))
    go.set()
    writer.join(10)

    with open(read, "rb") as file:  # noqa: PTH123 - a descriptor
        assert b"ab" == file.read()


def test_an_inlet_has_one_writer_at_a_time() -> None:
    read, write = os.pipe()
    inlet = Inlet(write)
    at_once: list[int] = []
    inside: list[int] = []

    def put(fd: int) -> None:
        inside.append(1)
        time.sleep(0.001)
        at_once.append(len(inside))
        inside.pop()
        os.write(fd, b"x")

    writers = [threading.Thread(target=inlet.write, args=(put,)) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(10)
    inlet.close()

    with open(read, "rb") as file:  # noqa: PTH123 - a descriptor
        assert b"x" * 8 == file.read()
    assert {1} == set(at_once)
