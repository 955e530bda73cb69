"""The look for what was not given back sees every kind of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import toolexec
from toolexec.testing import Leftovers, assert_no_leftovers
from toolexec.testing import _tools as tools

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found through /proc")  # noqa: PTH112


def test_nothing_is_nothing() -> None:
    """Shared strategies are closed by the look itself."""
    with assert_no_leftovers():
        assert 2 == toolexec.run(tools.add, {"a": 1}, "thread").value
        assert 2 == toolexec.run(tools.aadd, {"a": 1}, "asyncio").value


def test_descriptor() -> None:
    with pytest.raises(Leftovers, match="descriptor"), assert_no_leftovers(within=0.01):
        ends = os.pipe()
    for end in ends:
        os.close(end)


def test_thread() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="left-behind")
    with pytest.raises(Leftovers, match="thread 'left-behind'"), assert_no_leftovers(within=0.01):
        thread.start()
    end.set()
    thread.join()


def test_strategy_that_was_not_closed() -> None:
    with pytest.raises(Leftovers, match="toolexec-asyncio"), assert_no_leftovers(within=0.01):
        strategy = toolexec.strategy("asyncio")
        tools.aadd.bind({"a": 1}).task(strategy).wait()
    strategy.close()


@needs_proc
def test_child_that_nobody_collected() -> None:
    with pytest.raises(Leftovers, match="and not collected"), assert_no_leftovers(within=0.01):
        process = subprocess.Popen([sys.executable, "-S", "-c", ""])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert 0 == process.wait()


@needs_proc
def test_grandchild_whose_parent_is_gone() -> None:
    """It is nobody's child any more, and found all the same."""
    code = (
        "import subprocess, sys\n"
        "inner = 'import sys; sys.stdin.read()'\n"
        "subprocess.Popen([sys.executable, '-S', '-c', inner])"
    )
    reader, writer = os.pipe()
    with pytest.raises(Leftovers, match="below this one"), assert_no_leftovers(within=0.01):
        subprocess.run([sys.executable, "-S", "-c", code], stdin=reader, check=True)
    os.close(writer)  # which ends it
    os.close(reader)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="interpreters are public from 3.14")
def test_interpreter() -> None:
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        with pytest.raises(Leftovers, match="interpreter"), assert_no_leftovers(within=0.01):
            left = interpreters.create()
        left.close()
