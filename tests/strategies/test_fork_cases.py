"""What has gone wrong for others with calls in forked processes: the D cases, end to end."""

# Pipes, /proc and descriptors are not what pathlib is for, and here everything is caught:
# ruff: noqa: PTH112, PTH116, PTH123, PTH208, BLE001, ASYNC110, ASYNC230, SIM115, SIM117, RUF100

from __future__ import annotations

import asyncio
import enum
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remote_tools as tools
import toolexec as tx

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def fork() -> Iterator[tx.Strategy]:
    with tx.strategy("fork", grace=1.0, window=4) as strategy:
        yield strategy


@pytest.fixture
def gate(tmp_path: Path) -> str:
    """A pipe in the file system: opening one end returns when the other is opened."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return str(path)


def run(tool: Any, arguments: dict[str, Any], strategy: tx.Strategy) -> tx.Return:
    return tx.run(tool, arguments, strategy)


def interrupt(task: tx.Task) -> None:
    """Ask one call to stop, as its Group does when it is given up."""
    task.interrupt("not needed any more")


def error_of(ret: tx.Return) -> tuple[str, str, str]:
    """The in-band type, message and trace text."""
    assert isinstance(ret.value, dict), ret
    return ret.value["type"], ret.value["message"], "\n".join(ret.value["backtrace"])


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "number", "named"),
    [
        (tools.exit_hard, {"code": 9}, 9, None, "code 9"),
        (tools.exit_hard, {"code": 0}, 0, None, "code 0"),
        (tools.kill_self, {"number": int(signal.SIGKILL)}, None, signal.SIGKILL, "SIGKILL"),
        (tools.kill_self, {"number": int(signal.SIGTERM)}, None, signal.SIGTERM, "SIGTERM"),
        (tools.read_null, {}, None, signal.SIGSEGV, "SIGSEGV"),
    ],
    ids=["exit 9", "exit 0", "SIGKILL", "SIGTERM", "null pointer"],
)
def test_D1_a_dead_worker_is_told_at_once(
    fork: tx.Strategy, gate: str, tool: Any, arguments: dict[str, Any], code: int | None, number: int | None, named: str
) -> None:
    run(tools.add, {"a": 1}, fork)  # the server runs
    other = tools.wait_at.bind({"gate": gate}).task(fork)
    with open(gate, "w") as opened:
        began = time.monotonic()
        ret = run(tool, arguments, fork)
        took = time.monotonic() - began
        opened.write("on")

    assert ret.status == "lost"
    assert took < 1.0
    assert isinstance(ret.exception, tx.WorkerLost)
    assert (code, number) == (ret.exception.exit_code, ret.exception.signal)
    assert ret.exception.pid is not None
    assert named in str(ret.exception)
    assert str(ret.exception.pid) in str(ret.exception)
    assert other.wait().value == "on"
    assert run(tools.add, {"a": 1}, fork).value == 2


def test_D1_leaving_by_sys_exit_is_an_ordinary_error(fork: tx.Strategy) -> None:
    ret = run(tools.leave_system, {}, fork)

    assert ret.status == "raised"
    assert isinstance(ret.exception, SystemExit)
    assert ret.exception.code == 4


@pytest.mark.parametrize("tool", [tools.close_everything, tools.write_garbage])
def test_D1_a_tool_that_spoils_its_wire_loses_its_call(fork: tx.Strategy, tool: Any) -> None:
    ret = run(tool, {}, fork)

    assert ret.status == "lost"
    assert "descriptor" in str(ret.exception)
    assert run(tools.add, {"a": 1}, fork).value == 2


def test_D1_a_wire_held_open_by_another_process_delays_nothing(fork: tx.Strategy, gate: str) -> None:
    began = time.monotonic()
    ret = run(tools.hold_the_wire, {"gate": gate}, fork)
    took = time.monotonic() - began
    with open(gate, "w"):  # lets the holder go, and waits until it was there
        pass

    assert ret.status == "lost"
    assert "code 7" in str(ret.exception)
    assert took < 1.0


@pytest.mark.parametrize(
    "kind",
    ["lock", "nested lock", "lambda", "generator", "file", "refuses state", "refuses to load", "local class"],
)
def test_D3_a_result_that_cannot_be_pickled_is_unsendable(fork: tx.Strategy, kind: str) -> None:
    ret = run(tools.return_odd, {"kind": kind}, fork)

    assert ret.status == "unsendable"
    assert isinstance(ret.exception, tx.UnsendableError)
    names = {
        "lock": "lock",
        "nested lock": "lock",
        "lambda": "lambda",
        "generator": "generator",
        "file": "TextIOWrapper",
        "refuses state": "RefusesState",
        "refuses to load": "cannot be rebuilt",
        "local class": "Local",
    }
    assert names[kind] in str(ret.exception)
    assert "return_odd" in str(ret.exception)
    assert run(tools.add, {"a": 1}, fork).value == 2


def test_D3_an_argument_that_cannot_be_pickled_is_unsendable(fork: tx.Strategy) -> None:
    for value in (threading.Lock(), (n for n in range(3)), tools.RefusesState()):
        ret = run(tools.echo, {"value": value}, fork)

        assert ret.status == "unsendable"
        assert ret.attempts == 0
        assert "'value'" in str(ret.exception)
        assert type(value).__name__ in str(ret.exception)


def test_D3_cancelled_at_once_it_settles_all_the_same(fork: tx.Strategy) -> None:
    task = tools.return_odd.bind({"kind": "lock"}).task(fork)
    interrupt(task)

    assert task.wait(timeout=5).status in ("cancelled", "unsendable")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("two arguments", "TwoArguments", "42: the answer"),
        ("keyword only", "KeywordOnly", "code 7"),
        ("exits on load", "ExitsOnLoad", "ouch"),
        ("holds a lock", "HoldsLock", "locked in"),
        ("local class", "Local", "nobody knows my class"),
    ],
)
def test_D4_an_exception_that_is_hard_to_rebuild_is_told(fork: tx.Strategy, kind: str, name: str, message: str) -> None:
    ret = run(tools.raise_kind, {"kind": kind}, fork)

    assert ret.status == "raised"
    assert error_of(ret)[:2] == (name, message)
    assert "in raise_kind" in error_of(ret)[2]
    assert run(tools.add, {"a": 1}, fork).value == 2


SIZE = 200_000_000


def test_D5_a_large_result_arrives_whole(fork: tx.Strategy) -> None:
    ret = run(tools.sized, {"count": SIZE}, fork)

    assert ret.value == b"x" * SIZE


def test_D5_a_large_argument_arrives_whole(fork: tx.Strategy) -> None:
    ret = run(tools.length, {"data": b"x" * SIZE}, fork)

    assert ret.value == SIZE


def test_D5_eight_large_ones_at_once(fork: tx.Strategy) -> None:
    size = 10_000_000
    data = os.urandom(size)
    tasks = [tools.echo.bind({"value": data}).task(fork) for _ in range(8)]

    assert all(task.wait().value == data for task in tasks)


def test_D5_dead_in_the_middle_of_a_large_result_is_lost(fork: tx.Strategy) -> None:
    ret = run(tools.die_while_sending, {"count": 50_000_000}, fork)

    assert ret.status == "lost"
    assert "SIGKILL" in str(ret.exception)
    assert run(tools.add, {"a": 1}, fork).value == 2


def test_D6_cause_context_note_and_lines_come_back(fork: tx.Strategy) -> None:
    ret = run(tools.raise_chain, {}, fork)

    text = error_of(ret)[2]
    for part in ("inner text", "outer text", "a note on it", "in _inner", "raise outer from first"):
        assert part in text
    assert isinstance(ret.exception, ValueError)
    assert isinstance(ret.exception.__cause__, KeyError)
    assert ret.exception.__notes__ == ["a note on it"]
    assert ret.exception.__traceback__ is not None


def test_D6_an_implicit_context_and_a_group_come_back(fork: tx.Strategy) -> None:
    implicit = run(tools.raise_in_context, {}, fork)
    group = run(tools.raise_group, {}, fork)

    assert isinstance(implicit.exception, LookupError)
    assert isinstance(implicit.exception.__context__, KeyError)
    assert isinstance(group.exception, ExceptionGroup)
    assert [tools.TwoArguments, ValueError] == [type(member) for member in group.exception.exceptions]
    assert "raise member" in error_of(group)[2]


def test_D6_a_tool_by_value_shows_its_own_lines(fork: tx.Strategy) -> None:
    @tx.tool
    def local() -> None:
        raise ValueError("from a local tool")  # this very line

    text = error_of(run(local, {}, fork))[2]

    assert "this very line" in text


def test_D7_a_lock_that_the_host_holds_is_no_concern_of_the_child(
    fork: tx.Strategy, caplog: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    log = logging.getLogger("toolexec.test.noise")

    def noise() -> None:
        while not stop.is_set():
            log.info("noise")
            sys.stdout.write("")

    noisy = threading.Thread(target=noise)
    noisy.start()
    try:
        returns = [run(tools.add, {"a": n}, fork) for n in range(100)]
    finally:
        stop.set()
        noisy.join()

    assert [n + 1 for n in range(100)] == [ret.value for ret in returns]


def test_D7_a_lock_that_is_captured_is_unsendable(fork: tx.Strategy) -> None:
    lock = threading.Lock()

    @tx.tool
    def needs_lock() -> str:
        with lock:
            return "got it"

    with lock:
        ret = run(needs_lock, {}, fork)

    assert ret.status == "unsendable"
    assert "'lock'" in str(ret.exception)


def test_D7_a_tool_that_takes_a_lock_twice_is_ended(fork: tx.Strategy, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)

    @tx.tool
    def twice(note: str) -> None:
        lock = threading.Lock()
        lock.acquire()
        with open(note, "w") as file:
            file.write(str(os.getpid()))
        lock.acquire()

    task = twice.bind({"note": str(note)}).task(fork)
    pid = int(note.read_text())
    interrupt(task)
    ret = task.wait(timeout=5)

    assert ret.status == "cancelled"
    assert not ret.abandoned
    assert gone(pid)


def host(code: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own as the host."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(code))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=40,
        check=False,
    )


def test_D9_nothing_is_printed_twice_and_no_exit_handler_runs_twice(tmp_path: Path) -> None:
    done = host(
        """
        import atexit, sys, tempfile
        import toolexec as tx

        @tx.tool
        def speaks(n: int) -> int:
            print(f"<tool {n}>")
            return n

        if __name__ == "__main__":
            folder = tempfile.TemporaryDirectory()
            atexit.register(lambda: sys.stdout.write("<exit>"))
            sys.stdout.write("<host>")
            for n in range(3):
                assert tx.run(speaks, {"n": n}, "fork").value == n
                import os
                assert os.path.isdir(folder.name)
            folder.cleanup()
        """,
        tmp_path,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "<host><exit>"
    assert ["<tool 0>", "<tool 1>", "<tool 2>"] == done.stderr.split("\n")[:3]
    assert done.stderr.count("<tool") == 3


@tx.tool
def runs_a_loop(kind: str) -> str:
    async def inner() -> str:
        if kind == "asyncio":
            await asyncio.sleep(0)
        else:
            import trio

            await trio.lowlevel.checkpoint()
        return kind

    if kind == "asyncio":
        return asyncio.run(inner())
    import trio

    return trio.run(inner)


@pytest.mark.parametrize("inside", ["asyncio", "trio"])
def test_D10_from_a_running_asyncio_loop(fork: tx.Strategy, inside: str) -> None:
    async def main() -> tuple[tx.Return, int]:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            theirs.setblocking(False)
            loop = asyncio.get_running_loop()
            busy = True
            count = 0

            async def traffic() -> None:
                nonlocal count
                while busy:
                    await loop.sock_sendall(ours, b"x")
                    assert await loop.sock_recv(theirs, 1) == b"x"
                    count += 1
                    await asyncio.sleep(0)  # the sockets are ready at once

            task = asyncio.create_task(traffic())
            ret = await tx.arun(runs_a_loop, {"kind": inside}, fork)
            before = count
            while count == before:  # the loop's sockets go on
                await asyncio.sleep(0)
            busy = False
            await task
            return ret, count

    ret, count = asyncio.run(main())

    assert ret.value == inside
    assert count > 0


@pytest.mark.parametrize("inside", ["asyncio", "trio"])
def test_D10_from_a_running_trio_loop(fork: tx.Strategy, inside: str) -> None:
    import trio

    async def main() -> tx.Return:
        return await tx.arun(runs_a_loop, {"kind": inside}, fork)

    assert trio.run(main).value == inside


def test_D11_closures_lambdas_and_methods_run(fork: tx.Strategy) -> None:
    captured = [1, 2, 3]

    @tx.tool
    def closure(n: int) -> list[int]:
        return [*captured, n]

    unnamed = tx.tool(name="double", description="Doubles")(lambda n: n * 2)
    bound = tools.Greeter("good morning").greet

    assert run(closure, {"n": 4}, fork).value == [1, 2, 3, 4]
    assert run(unnamed, {"n": 4}, fork).value == 8
    assert run(bound, {"name": "you"}, fork).value == "good morning, you"


@pytest.mark.parametrize("kind", ["lock", "socket"])
def test_D11_what_cannot_be_carried_is_named_before_anything_ran(fork: tx.Strategy, kind: str) -> None:
    with socket.socket() as opened:
        held: Any = threading.Lock() if kind == "lock" else opened

        @tx.tool
        def closure() -> str:
            return str(held)

        ret = run(closure, {}, fork)

    assert ret.status == "unsendable"
    assert ret.attempts == 0
    for part in ("closure", "'held'", kind, "fork strategy"):
        assert part in str(ret.exception)


def test_D13_a_tool_may_use_multiprocessing(fork: tx.Strategy) -> None:
    assert run(tools.pool_of_processes, {}, fork).value == [1, 2, 3]


def test_D13_a_tool_may_use_the_engine_again(fork: tx.Strategy) -> None:
    ret = run(tools.nested_fork, {}, fork)

    assert ret.ok, ret.value
    inner, outer = ret.value
    assert len({inner, outer, os.getpid()}) == 3


def test_D13_what_a_tool_started_ends_with_it(fork: tx.Strategy, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)
    task = tools.start_process.bind({"note": str(note)}).task(fork)
    pid = int(note.read_text())
    interrupt(task)

    assert task.wait(timeout=5).status == "cancelled"
    assert gone(pid)


def test_D13_what_a_tool_leaves_behind_ends_with_it(fork: tx.Strategy) -> None:
    pid = run(tools.leave_process, {}, fork).value

    until = time.monotonic() + 5  # the Return comes with the result, the end of the group right after
    while not gone(pid):
        assert time.monotonic() < until
        time.sleep(0.001)


def test_D13_a_nested_call_ends_with_the_outer_one(tmp_path: Path, gate: str) -> None:
    with tx.strategy("fork", grace=0.0) as fork:
        task = tools.nested_fork.bind({"gate": gate}).task(fork)
        with open(gate, "w") as opened:  # the inner body runs
            interrupt(task)
            assert task.wait(timeout=5).status == "cancelled"
            # The reader of the gate is the inner child: it is gone when nobody reads any more.
            until = time.monotonic() + 5
            while True:
                try:
                    os.write(opened.fileno(), b"x")
                except BrokenPipeError:
                    break
                assert time.monotonic() < until
                time.sleep(0.001)


class Color(enum.Enum):
    RED = 1


def test_D15_classes_keep_their_identity(fork: tx.Strategy) -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    class Shade(enum.Enum):
        DARK = 1

    @tx.tool
    def makes() -> list[Any]:
        return [Point(3), Shade.DARK, Color.RED, Point]

    point, shade, color, cls = run(makes, {}, fork).value

    assert type(point) is Point
    assert point.x == 3
    assert shade is Shade.DARK
    assert color is Color.RED
    assert cls is Point


def test_D15_classes_of_the_main_script_keep_their_identity(tmp_path: Path) -> None:
    done = host(
        """
        import enum
        import toolexec as tx

        class Point:
            count = 0
            def __init__(self, x):
                self.x = x

        class Shade(enum.Enum):
            DARK = 1

        class Trouble(Exception):
            def __init__(self, a, b):
                super().__init__(a)
                self.b = b

        @tx.tool
        def makes() -> list:
            Point.count += 1
            return [Point(3), Shade.DARK]

        @tx.tool
        def fails() -> None:
            raise Trouble(1, 2)

        if __name__ == "__main__":
            point, shade = tx.run(makes, {}, "fork").value
            assert type(point) is Point and isinstance(point, Point) and point.x == 3
            assert shade is Shade.DARK
            assert Point.count == 0
            try:
                tx.run(fails, {}, "fork").unwrap()
            except tx.ToolFailed as failed:
                assert type(failed.__cause__) is Trouble and failed.__cause__.b == 2
            print("held")
        """,
        tmp_path,
    )

    assert done.stdout == "held\n", done.stderr


def test_D15_a_look_alike_is_refused(fork: tx.Strategy) -> None:
    ret = run(tools.return_odd, {"kind": "local class"}, fork)

    assert ret.status == "unsendable"
    assert "Local" in str(ret.exception)
