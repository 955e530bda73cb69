"""Theme C: programs that end, by themselves or by Ctrl-C, while tools run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cases.case_steps import eventually, gone
from cases.case_tools import ALL
from toolexec.testing import Journal

# What a Python with the library in it takes to start and to end, on a busy machine, besides the grace.
PROGRAM_S = 25.0

TOOLS = """
    import os, signal, sys, time
    import toolexec as tx
    from toolexec.testing import Journal

    journal, strategies = Journal(sys.argv[1]), sys.argv[2:]

    @tx.tool
    def sleeps(seconds: float = 60) -> None:
        journal.write("+sleeps")
        time.sleep(seconds)

    @tx.tool
    def swallows() -> None:
        journal.write("+swallows")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                while time.monotonic() < until:
                    time.sleep(0.01)
            except BaseException:
                pass

    class Told(tx.Tool):
        name = "told"

        def call(self) -> None:
            with journal.span("told"):
                while True:
                    tx.checkpoint()
                    time.sleep(0.005)

        def on_interrupt(self) -> None:
            journal.write("hook")

    class AToldHere(tx.Tool):
        name = "atold"

        async def call(self) -> None:
            import anyio

            with journal.span("told"):
                await anyio.sleep(60)

        async def on_interrupt(self) -> None:
            journal.write("hook")

    def until(line: str, count: int) -> None:
        while journal.lines().count(line) < count:
            time.sleep(0.002)
"""


def start(code: str, folder: Path, *strategies: str) -> tuple[subprocess.Popen[str], Journal]:
    """Start a program of these tools, which writes a journal."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(TOOLS) + textwrap.dedent(code))
    journal = Journal(folder / "journal")
    process = subprocess.Popen(
        [sys.executable, "-P", "-W", "error", str(script), journal.path, *strategies],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    return process, journal


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code, and what it wrote; it may take no longer than the tools would.

    But for the advice that an affected Python is given at its first interrupt of a thread.
    """
    try:
        out, err = process.communicate(timeout=PROGRAM_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"it did not exit; it wrote {out!r} and {err!r}") from None
    said = [line for line in err.splitlines(keepends=True) if "an interrupt was raised in a thread" not in line]
    return process.returncode, out, "".join(said)


# C10: the process will not exit


@pytest.mark.parametrize("tool", ["sleeps", "swallows"])
def test_C10_a_call_left_behind_keeps_nobody_from_exiting(tool: str, tmp_path: Path) -> None:
    """Under every strategy at once, but sequential, where the program's own thread runs it."""
    code = f"""
        if __name__ == "__main__":
            tasks = [
                {tool}.bind({{}}).task(tx.strategy(name, grace=0.3), timeout=0.2) for name in strategies
            ]
            for task in tasks:
                ret = task.wait()
                print(ret.strategy, ret.status, ret.abandoned)
            sys.exit(7)
    """
    strategies = [name for name in ALL if name != "sequential"]
    status, out, err = finish(start(code, tmp_path, *strategies)[0])

    left = {name: name != "fork" for name in strategies}  # a process can be ended
    assert (7, [f"{name} timeout {left[name]}" for name in strategies]) == (status, out.splitlines()), err
    lines = err.splitlines()
    assert sum(left.values()) == len(lines) == sum("left behind" in line for line in lines), err


@pytest.mark.parametrize("tool", ["told", "atold"])
def test_C10_what_nobody_waits_for_is_stopped_at_the_exit(tool: str, tmp_path: Path) -> None:
    """Under every strategy at once: the hooks of what runs are called, what waits for its turn never starts."""
    code = f"""
        if __name__ == "__main__":
            kept = []
            for name in strategies:
                ctx = tx.Context([Told, AToldHere], strategy=tx.strategy(name, grace=2.0, window=2))
                kept.append(ctx.receive([{{"name": "{tool}"}}] * 4).group())
            until("+told", 2 * (len(strategies) - 1))
            print("main ends")
            sys.exit(7)
    """
    process, journal = start(code, tmp_path, *ALL)
    status, out, err = finish(process)

    assert (7, "main ends\n", "") == (status, out, err)
    # Under sequential none has begun; there every hook is told, as for a call that runs.
    begun = 2 * (len(ALL) - 1)
    assert {"+told": begun, "-told": begun, "hook": begun + 4} == {
        line: journal.lines().count(line) for line in ("+told", "-told", "hook")
    }


def test_C10_nor_does_what_nobody_waits_for_and_nobody_can_stop(tmp_path: Path) -> None:
    code = """
        if __name__ == "__main__":
            kept = [
                tx.Context([swallows]).receive([{"name": "swallows"}] * 2).group(tx.strategy(name, grace=0.3, window=2))
                for name in strategies
            ]
            until("+swallows", 2 * len(strategies))
            sys.exit(7)
    """
    status, _, err = finish(start(code, tmp_path, *[name for name in ALL if name != "sequential"])[0])

    assert 7 == status
    assert "Traceback" not in err


# C15: Ctrl-C with processes


def press(process: subprocess.Popen[str], journal: Journal, line: str, count: int) -> None:
    """Press Ctrl-C, as a terminal does it: everybody in the process group gets a SIGINT."""
    eventually(lambda: journal.lines().count(line) >= count or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)


def test_C15_one_ctrl_c_ends_a_program_with_processes(tmp_path: Path) -> None:
    """Three calls run and five wait: hooks run, nothing more starts, and no child says a word."""
    code = """
        if __name__ == "__main__":
            ctx = tx.Context([Told], strategy=tx.strategy("fork", grace=2.0, window=3))
            ctx.receive([{"name": "told"}] * 8)
            group = ctx.group()
            try:
                group.wait()
            except KeyboardInterrupt:
                print([ret.status for ret in group.returns], [ret.attempts for ret in group.returns])
                sys.exit(7)
    """
    process, journal = start(code, tmp_path)
    press(process, journal, "+told", 3)
    status, out, err = finish(process)

    assert (7, f"{['cancelled'] * 8} {[1, 1, 1, 0, 0, 0, 0, 0]}\n", "") == (status, out, err)
    assert [3, 3, 3] == [journal.lines().count(line) for line in ("+told", "-told", "hook")]


def test_C15_nobody_need_catch_it(tmp_path: Path) -> None:
    """The program's own traceback is all that is seen; it dies as one that was stopped by Ctrl-C."""
    code = """
        if __name__ == "__main__":
            ctx = tx.Context([Told], strategy=tx.strategy("fork", grace=2.0, window=3))
            ctx.receive([{"name": "told"}] * 8)
            ctx.wait()
    """
    process, journal = start(code, tmp_path)
    press(process, journal, "+told", 3)
    status, out, err = finish(process)

    assert (-signal.SIGINT, "") == (status, out)
    assert (1, 1) == (err.count("Traceback"), err.count("KeyboardInterrupt"))
    assert [3, 3, 3] == [journal.lines().count(line) for line in ("+told", "-told", "hook")]


def test_C15_a_second_one_kills(tmp_path: Path) -> None:
    """Where tools do not stop, and the grace is long, it need not be waited for."""
    code = """
        @tx.tool
        def deaf() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            journal.write(f"{os.getpid()}")
            while True:
                try:
                    while True:
                        time.sleep(0.01)
                except tx.Interrupt:
                    journal.write("Interrupt")

        if __name__ == "__main__":
            ctx = tx.Context([deaf], strategy=tx.strategy("fork", grace=60, window=3))
            ctx.receive([{"name": "deaf"}] * 3)
            ctx.wait()
    """
    process, journal = start(code, tmp_path)
    eventually(lambda: len(journal.lines()) >= 3 or process.poll() is not None)
    pids = [int(line) for line in journal.lines()]
    os.killpg(process.pid, signal.SIGINT)
    eventually(lambda: journal.lines().count("Interrupt") >= 3 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    status, _, _ = finish(process)

    assert 0 != status
    assert 3 == len(pids)
    eventually(lambda: all(gone(pid) for pid in pids), 2.0)
