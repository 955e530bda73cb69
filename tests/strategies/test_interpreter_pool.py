"""The pool of interpreters: kept warm, retired, closed, and what they leave."""

# Pipes, /proc and descriptors are not what pathlib is for, and here everything is caught:
# ruff: noqa: PTH112, PTH116, PTH123, PTH208, BLE001, ASYNC110, ASYNC230, SIM115, SIM117, RUF100

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remote_tools as tools
import stopped_tools
import toolexec as tx
from toolexec.lowlevel import usable_cpus
from toolexec.testing import Gate
from toolexec_strategies.interpreter import InterpreterStrategy, _pool

if sys.version_info < (3, 14):
    pytest.skip("subinterpreters are public from 3.14", allow_module_level=True)

interpreters: Any = importlib.import_module("concurrent.interpreters")


@pytest.fixture
def pool() -> Iterator[InterpreterStrategy]:
    with InterpreterStrategy(grace=0.2, window=2) as strategy:
        yield strategy


@pytest.fixture
def gate(tmp_path: Path) -> str:
    path = tmp_path / "gate"
    os.mkfifo(path)
    return str(path)


def run(tool: Any, strategy: tx.Strategy, **arguments: Any) -> Any:
    return tx.run(tool, arguments, strategy).unwrap()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


@tx.tool
def count_here() -> int:
    """How many calls this interpreter has had."""
    seen = getattr(tools, "seen", 0) + 1
    setattr(tools, "seen", seen)  # noqa: B010 - a module's attribute, of which a type checker knows nothing
    return seen


@tx.tool
async def doubles(n: int) -> int:
    await asyncio.sleep(0)
    return n * 2


def test_one_interpreter_serves_call_after_call(pool: InterpreterStrategy) -> None:
    assert [run(count_here, pool) for _ in range(3)] == [1, 2, 3]
    assert len(pool.pool.live) == 1


def test_calls_at_once_have_an_interpreter_each(pool: InterpreterStrategy, tmp_path: Path) -> None:
    gates = [str(tmp_path / f"gate {n}") for n in range(2)]
    for path in gates:
        os.mkfifo(path)
    tasks = [tools.wait_at.bind({"gate": path}).task(pool) for path in gates]
    opened = [open(path, "w") for path in gates]  # returns when both are in their bodies
    for number, file in enumerate(opened):
        file.write(str(number))
        file.close()

    assert [task.wait(timeout=10).value for task in tasks] == ["0", "1"]
    assert len(pool.pool.live) == 2


def test_an_async_tool_runs_in_a_loop_of_its_own(pool: InterpreterStrategy) -> None:
    assert run(doubles, pool, n=4) == 8


def test_the_import_path_follows_the_hosts(
    pool: InterpreterStrategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tools.add, pool, a=1)
    (tmp_path / "found_late.py").write_text("VALUE = 5\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    @tx.tool
    def imports() -> int:
        import found_late  # type: ignore[import-not-found]

        return int(found_late.VALUE)

    assert run(imports, pool) == 5


def test_a_context_variable_does_not_stay_set(pool: InterpreterStrategy) -> None:
    @tx.tool
    def sets() -> str:
        before = tools.STATE.get()
        tools.STATE.set("set by a call")
        return before

    assert [run(sets, pool) for _ in range(2)] == ["default", "default"]


def test_progress_comes_over_and_only_to_its_own_call(pool: InterpreterStrategy) -> None:
    assert run(tools.count_up, pool, limit=3) == [0, 10, 20]


def test_a_call_left_behind_takes_its_interpreter_with_it(pool: InterpreterStrategy, tmp_path: Path) -> None:
    run(tools.add, pool, a=1)
    with Gate(tmp_path / "gate") as gate:
        task = stopped_tools.holds_out.bind({"gate": gate.path}).task(pool)
        gate.wait_until_reached()
        left = set(pool.pool.live)
        task.interrupt("stop")
        ret = task.wait(timeout=5)
        assert run(tools.add, pool, a=1) == 2  # another one serves
        gate.open()

        assert ret.status == "cancelled"
        assert ret.abandoned
        until(lambda: not left & pool.pool.live)  # the body ended: so does its interpreter


def test_more_than_the_window_are_not_kept(pool: InterpreterStrategy) -> None:
    tasks = [tools.add.bind({"a": n}).task(pool) for n in range(6)]
    for task in tasks:
        task.wait(timeout=10)

    until(lambda: len(pool.pool.live) <= 2)


def test_closing_leaves_nothing() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc") else 0
    listed = interpreters.list_all()
    pool = InterpreterStrategy()
    for n in range(5):
        run(tools.add, pool, a=n)
    pool.close()
    pool.close()

    # Fewer, where one of an earlier test was still closing.
    assert set(interpreters.list_all()) <= set(listed)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before
    with pytest.raises(RuntimeError):
        run(tools.add, pool, a=1)


def test_many_calls_leave_nothing(pool: InterpreterStrategy) -> None:
    for n in range(10):
        run(tools.add, pool, a=n)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc") else 0
    threads, listed = threading.active_count(), len(interpreters.list_all())

    for n in range(150):
        tx.run(tools.add, {"a": n}, pool)
        tx.run(tools.raise_kind, {"kind": "two arguments"}, pool)

    assert listed == len(interpreters.list_all())
    assert threading.active_count() <= threads + 1
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def exit_of(code: str, tmp_path: Path) -> tuple[int, str, float]:
    script = tmp_path / "program.py"
    script.write_text("import remote_tools as tools, toolexec as tx\n" + code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=40, check=False
    )
    return done.returncode, done.stderr, time.monotonic() - began


def test_the_program_exits_while_interpreters_are_idle(tmp_path: Path) -> None:
    code, errors, _ = exit_of("assert tx.run(tools.add, {'a': 1}, 'interpreter').value == 2\n", tmp_path)

    assert (code, errors) == (0, "")


def test_the_program_exits_while_one_is_stuck(tmp_path: Path) -> None:
    code, _, took = exit_of(
        "import time\n"
        "with tx.strategy('interpreter', grace=0.1) as pool:\n"
        "    @tx.tool\n"
        "    def sleeps() -> None:\n"
        "        import time\n"
        "        time.sleep(30)\n"
        "    task = sleeps.bind({}).task(pool)\n"
        "    time.sleep(0.5)\n"
        "    task.interrupt('stop')\n"
        "    assert task.wait(timeout=5).abandoned\n",
        tmp_path,
    )

    assert code == 0
    assert took < 15


def test_a_fork_while_a_call_runs_is_logged(
    pool: InterpreterStrategy, gate: str, caplog: pytest.LogCaptureFixture
) -> None:
    task = tools.wait_at.bind({"gate": gate}).task(pool)
    with open(gate, "w"):
        _pool._before_fork()  # the fork itself may crash
    task.wait(timeout=10)

    assert any("os.fork()" in record.getMessage() for record in caplog.records)


def test_cpython_still_crashes_in_a_fork_beside_an_interpreter(tmp_path: Path) -> None:
    """The reason for closing interpreters before a fork; when this fails, that can go for newer versions."""
    code = (
        "import os\nfrom concurrent import interpreters\ninside = interpreters.create()\n"
        "pid = os.fork()\nif pid == 0:\n    os._exit(0)\nos._exit(os.waitpid(pid, 0)[1] & 127)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, timeout=30, check=False)

    assert done.returncode == signal.SIGSEGV


def test_the_fork_strategy_works_beside_interpreters(pool: InterpreterStrategy) -> None:
    run(tools.add, pool, a=1)

    assert tx.run(tools.add, {"a": 1}, "fork").value == 2


def test_defaults_are_as_documented() -> None:
    pool = InterpreterStrategy()

    assert pool.window == max(2, usable_cpus())
    assert InterpreterStrategy.isolated
    assert "interpreter" in tx.Function.isolated()
