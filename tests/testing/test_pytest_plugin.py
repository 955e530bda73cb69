"""The pytest plugin, in a run of pytest of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

TESTS = """
import os
import subprocess
import sys
import threading

import pytest

import toolexec as tx
from toolexec.testing import Gate, run


@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tx.tool
def stand(path: str) -> None:
    Gate(path).arrive()
    tx.current_call().wait_interrupted(20)
    tx.checkpoint()


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_clean(pipe, recording_tracer):
    ctx = tx.Context([add], tracer=recording_tracer)
    ctx.receive([{"id": "c1", "name": "add", "arguments": {"a": 1}}])
    assert ctx.wait()[0].value == 2
    assert recording_tracer.of("c1") == ["start", "finish"]
    assert run(add, "fork", a=1).value == 2


def test_descriptor():
    os.pipe()


def test_thread():
    threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()


def test_child():
    subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)


def test_call(tmp_path):
    with Gate(tmp_path / "gate") as gate:
        tx.Context([stand]).submit({"id": "c1", "name": "stand", "arguments": {"path": gate.path}})
        gate.wait_until_reached()


def test_call_that_never_began():
    add.bind({"a": 1}).task("sequential")


def test_call_that_nobody_ran():
    ctx = tx.Context([add])
    ctx.receive([{"id": name, "name": "add", "arguments": {"a": 1}} for name in ("c1", "c2", "c3")])
    ctx.pending_functions[0].cancel()
    ctx.pending_functions[:1].wait()


def test_failed():
    os.pipe()
    raise LookupError("the test's own")
"""

LEFT = {
    "test_descriptor": r"not given back after 0\.2 s: descriptor",
    "test_thread": "thread 'forgotten'",
    "test_child": r"child process \d+",
    "test_call": r"calls that had not settled when the test ended: 'stand' \(c1\); wait for them",
    "test_call_that_nobody_ran": r"calls that were received and never run: 'add' \(c3\); wait for them, or cancel them",
    "test_call_that_never_began": "had not settled when the test ended: 'add'; wait",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(TESTS, "utf-8")
    settings = "[pytest]\nusefixtures = no_leftovers\ntoolexec_leftovers_within = 0.2\n"
    (folder / "pytest.ini").write_text(settings, "utf-8")
    command = [sys.executable, "-m", "pytest", "-rA", "-W", "ignore", "-p", "toolexec_pytest"]
    command += ["-p", "no:randomly", "-p", "no:cacheprovider", "--tb=short", "--basetemp=temporary"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=50, check=False)
    assert "1 failed, 7 passed, 6 errors" in done.stdout, done.stdout + done.stderr
    return done.stdout


def test_who_gives_all_back_passes(report: str) -> None:
    assert "PASSED test_suite.py::test_clean" in report
    assert "ERROR test_suite.py::test_clean" not in report


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_is_told(report: str, name: str) -> None:
    assert f"ERROR test_suite.py::{name} - " in report
    told = report.partition(f"_ ERROR at teardown of {name} _")[2].partition("____ ")[0]
    assert re.search(LEFT[name], told), told


def test_of_a_test_that_failed_only_that_is_told(report: str) -> None:
    assert "FAILED test_suite.py::test_failed - LookupError: the test's own" in report
