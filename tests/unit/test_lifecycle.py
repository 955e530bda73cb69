"""The end of the program, and the child of an ``os.fork()``; each script is a Python of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

TOOLS = """
import os, sys, threading, time
import toolexec as tx

began = threading.Event()

@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b

@tx.tool
async def later(a: int) -> int:
    return a

@tx.tool
def stuck() -> None:
    began.set()
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

def group(strategy, *names):
    ctx = tx.Context([add, later, stuck])
    arguments = [{} if name == "stuck" else {"a": n} for n, name in enumerate(names)]
    ctx.receive([{"name": name, "arguments": given} for name, given in zip(names, arguments)])
    return ctx.group(strategy)
"""


def run_script(folder: Path, script: str, *, limit: float = 30) -> tuple[int, str, str, float]:
    """Exit code, output, error output and seconds of a script that has the tools above."""
    path = folder / "script.py"
    path.write_text(TOOLS + textwrap.dedent(script))
    start = time.monotonic()
    # Forking with threads alive is what is tested here; 3.12 and newer warn of it.
    command = [sys.executable, "-P", "-W", "error", "-W", "ignore:This process:DeprecationWarning", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - start


def test_a_stuck_tool_does_not_hold_the_exit(tmp_path: Path) -> None:
    """C10, without a limit: the group was never waited for; grace bounds the exit, and the rest is left behind."""
    code, out, err, took = run_script(
        tmp_path,
        """
        group(tx.strategy("thread", grace=0.3), "stuck")
        began.wait(10)
        print("end of main")
        sys.exit(7)
        """,
    )

    assert (7, "end of main\n") == (code, out)
    assert "was left behind" in err
    assert "Traceback" not in err
    assert took < 10


@pytest.mark.parametrize("strategy", ["thread", "asyncio", "trio", "sequential"])
def test_a_program_that_used_a_strategy_exits_quietly(tmp_path: Path, strategy: str) -> None:
    code, out, err, _ = run_script(
        tmp_path,
        f"""
        print([ret.value for ret in group("{strategy}", "add", "later").wait()])
        """,
    )

    assert (0, "[1, 1]\n", "") == (code, out, err)


def test_a_sequential_group_that_nobody_waits_for_is_answered_at_the_exit(tmp_path: Path) -> None:
    code, out, err, took = run_script(
        tmp_path,
        """
        class Tell(tx.Tracer):
            def on_tool_error(self, function, ret):
                os.write(1, f"{function.id} {ret.status}: {ret.reason}\\n".encode())

        ctx = tx.Context([add], tracer=Tell())
        ctx.receive([{"id": "c1", "name": "add", "arguments": {"a": 1}}])
        kept = ctx.group("sequential")
        """,
    )

    assert (0, "c1 cancelled: the program is exiting\n", "") == (code, out, err)
    assert took < 10


def test_no_call_is_started_once_the_program_exits(tmp_path: Path) -> None:
    code, out, _, _ = run_script(
        tmp_path,
        """
        import atexit
        from toolexec import _lifecycle
        atexit.unregister(_lifecycle._at_exit)

        @atexit.register
        def too_late():
            try:
                tx.run(add, {"a": 1}, "thread")
            except RuntimeError as exc:
                print(exc)

        atexit.register(_lifecycle._at_exit)
        """,
    )

    assert (0, "the program is exiting: no call can be started any more\n") == (code, out)


FORK = """
    def in_child(check):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            # By sys.exit and not os._exit: the child's own exit has to be clean, handlers and all.
            sys.exit(check())
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio"])
def test_a_forked_child_starts_anew_and_exits_cleanly(tmp_path: Path, strategy: str) -> None:
    """The parent's workers and loops did not come along; the parent goes on undisturbed."""
    code, out, err, took = run_script(
        tmp_path,
        textwrap.dedent(FORK)
        + textwrap.dedent(
            f"""
            def check():
                returns = group("{strategy}", "add", "later").wait(10)
                return 0 if [1, 1] == [ret.value for ret in returns] else 3

            print(check(), in_child(check), in_child(check), check())
            """
        ),
    )

    assert (0, "0 0 0 0\n", "") == (code, out, err)
    assert took < 15


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio"])
def test_calls_in_flight_at_the_fork_are_lost_in_the_child_and_go_on_in_the_parent(
    tmp_path: Path, strategy: str
) -> None:
    code, out, err, _ = run_script(
        tmp_path,
        textwrap.dedent(FORK)
        + textwrap.dedent(
            f"""
            gate = threading.Event()

            @tx.tool
            def hold() -> str:
                gate.wait(10)
                return "through"

            ctx = tx.Context([hold])
            ctx.receive([{{"id": "1", "name": "hold"}}, {{"id": "2", "name": "hold"}}])
            running = ctx.group("{strategy}", window=1)

            def check():
                first, second = running.wait(5)
                fresh = group("{strategy}", "add").wait(5)[0]
                print(first.status, second.status, fresh.status, "in the parent only" in str(first.exception))
                return 0

            code = in_child(check)
            gate.set()
            print(code, [ret.value for ret in running.wait(5)])
            """
        ),
    )

    assert (0, "lost lost ok True\n0 ['through', 'through']\n", "") == (code, out, err)


def test_a_fork_while_another_thread_holds_the_registrys_lock(tmp_path: Path) -> None:
    code, out, err, _ = run_script(
        tmp_path,
        textwrap.dedent(FORK)
        + textwrap.dedent(
            """
            held, done = threading.Event(), threading.Event()

            def hold():
                with tx.Tool.lock():
                    held.set()
                    done.wait(10)

            threading.Thread(target=hold).start()
            held.wait(10)
            print(in_child(lambda: 0 if tx.Tool.find_by_name("nothing") is None else 3))
            done.set()
            """
        ),
    )

    assert (0, "0\n", "") == (code, out, err)


def test_limits_held_at_the_fork_are_free_in_the_child(tmp_path: Path) -> None:
    code, out, err, _ = run_script(
        tmp_path,
        textwrap.dedent(FORK)
        + textwrap.dedent(
            """
            gate = threading.Event()

            @tx.tool(max_in_flight=1, resource="lifecycle-db")
            def one(wait: bool = True) -> int:
                return 1 if not wait or gate.wait(10) else 0

            ctx = tx.Context([one], strategy="thread")
            ctx.receive([{"id": "1", "name": "one"}])
            running = ctx.group()

            def check():
                ctx.receive([{"id": "2", "name": "one", "arguments": {"wait": False}}])
                return 0 if ctx.wait(timeout=5)[0].value == 1 else 3

            print(in_child(check))
            gate.set()
            print(running.wait(5)[0].value)
            """
        ),
    )

    assert (0, "0\n1\n", "") == (code, out, err)
