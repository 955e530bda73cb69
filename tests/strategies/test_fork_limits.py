"""What a forked call may use up, and how it ends when it wants more: real memory, CPU time and descriptors."""

# Pipes and descriptors are not what pathlib is for:
# ruff: noqa: PTH123, SIM115, RUF100

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory_bytes is for Linux")

MIB = 1 << 20
ROOM = 64 * MIB


@tx.tool
def take(mib: int) -> int:
    """Hold that much memory at once."""
    return len(bytes(mib * MIB)) // MIB


@tx.tool
def take_all() -> None:
    """Take memory in small pieces until there is none, not even for what handles the error."""
    pieces: dict[int, dict[int, str]] = {}
    while True:
        pieces[len(pieces)] = {len(pieces): str(len(pieces))}


@tx.tool
def take_and_cope(mib: int) -> str:
    """Notice that there is no more, and do with less."""
    try:
        bytes(mib * MIB)
    except MemoryError:
        return "coped"
    return "got it"


@tx.tool
def take_in_c() -> None:
    """Do what careless C code does: never look whether there was memory."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(ctypes.c_size_t(1 << 40)) or 0, 1, 1)


@tx.tool
def take_by_process(mib: int) -> int:
    """Have another process take it."""
    return subprocess.run([sys.executable, "-c", f"bytes({mib} * {MIB})"], check=False, stderr=-3).returncode


@tx.tool
def translated(mib: int) -> None:
    """Make an error of its own of it."""
    try:
        bytes(mib * MIB)
    except MemoryError as exc:
        raise RuntimeError("the matrix is too large") from exc


@tx.tool
def give(mib: int) -> bytes:
    """Return something that has to be held twice, as it is and packed."""
    return bytes(mib * MIB)


@tx.tool
def spin(steps: int | None = None) -> int:
    """Use CPU time."""
    count = 0
    while steps is None or count < steps:
        count += 1
    return count


@tx.tool
def use_some() -> float:
    """Use some of everything; gives the CPU time of the process by then."""
    take(48)
    open_many(16)
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    return time.process_time()


@tx.tool
def open_many(count: int) -> int:
    """Hold that many files open."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(open(os.devnull))
    return count


class Listening(tx.Tool):
    """Its hook is told by a thread, which is there from the start."""

    name = "listening"
    description = "Holds memory, or waits to be interrupted"

    def call(self, mib: int, gate: str | None = None) -> int:
        held = [bytes(mib * MIB)]
        with tx.current_call().on_interrupt(lambda: None):  # type: ignore[union-attr]
            held.append(bytes(mib * MIB))
            if gate is not None:
                with open(gate) as file:
                    file.read()
        return sum(map(len, held)) // MIB

    def on_interrupt(self) -> None:
        Path(os.environ["TOOLEXEC_NOTE"]).write_text("told")


@tx.tool
def limits() -> dict[str, Any]:
    """The limits of the process."""
    kinds = {"memory": resource.RLIMIT_AS, "cpu": resource.RLIMIT_CPU, "files": resource.RLIMIT_NOFILE}
    return {name: resource.getrlimit(kind) for name, kind in kinds.items()}


@pytest.fixture(scope="module")
def limited() -> Iterator[ForkStrategy]:
    with ForkStrategy(grace=1.0, memory_bytes=ROOM, open_files=16, cpu_s=1) as strategy:
        yield strategy


def run(tool: Any, fork: ForkStrategy, **arguments: Any) -> tx.Return:
    return tx.run(tool, arguments, fork)


def test_what_stays_within_its_limits_runs(limited: ForkStrategy) -> None:
    assert run(take, limited, mib=48).value == 48
    assert run(open_many, limited, count=16).value == 16
    assert run(spin, limited, steps=1000).value == 1000


def test_a_memory_error_that_leaves_the_tool_is_lost(limited: ForkStrategy) -> None:
    ret = run(take, limited, mib=80)

    assert ret.status == "lost"
    assert isinstance(ret.exception, tx.WorkerLost)
    assert f"memory_bytes={ROOM}" in str(ret.exception)
    assert str(ret.exception.pid) in str(ret.exception)
    assert isinstance(ret.exception.__cause__, MemoryError)
    assert "in take" in "\n".join(ret.value["backtrace"]), "where it was is still told"
    assert run(take, limited, mib=1).ok


@pytest.mark.parametrize("room", [2 * MIB + step * 54_321 for step in range(8)])
def test_a_tool_that_leaves_no_memory_at_all_is_lost_likewise(room: int) -> None:
    with ForkStrategy(memory_bytes=room) as fork:
        ret = run(take_all, fork)

    assert ret.status == "lost"
    assert f"memory_bytes={room}" in str(ret.exception)
    assert isinstance(ret.exception, tx.WorkerLost)
    assert isinstance(ret.exception.__cause__, MemoryError)


def test_memory_is_counted_from_what_the_process_had() -> None:
    """Of which numpy alone maps more than this limit."""
    with ForkStrategy(memory_bytes=ROOM, preload=["numpy", __name__]) as fork:
        assert run(take, fork, mib=48).value == 48


def test_what_the_tool_makes_of_a_memory_error_is_its_own_answer(limited: ForkStrategy) -> None:
    coped = run(take_and_cope, limited, mib=80)
    told = run(translated, limited, mib=80)

    assert coped.value == "coped"
    assert told.status == "raised"
    assert str(told.exception) == "the matrix is too large"


def test_a_death_for_want_of_memory_names_the_limit(limited: ForkStrategy) -> None:
    ret = run(take_in_c, limited)

    assert ret.status == "lost"
    assert isinstance(ret.exception, tx.WorkerLost)
    assert ret.exception.signal == signal.SIGSEGV
    assert ret.exception.pid is not None
    assert "memory_bytes" in str(ret.exception)


def test_what_a_call_came_to_may_be_large(limited: ForkStrategy) -> None:
    """Packing is not the tool's doing."""
    assert run(give, limited, mib=48).value == bytes(48 * MIB)


def test_a_process_of_the_tools_has_the_limit_too(limited: ForkStrategy) -> None:
    assert run(take_by_process, limited, mib=1).value == 0
    assert run(take_by_process, limited, mib=300).value == 1


def test_cpu_time_is_lost_in_time(limited: ForkStrategy) -> None:
    ret = run(spin, limited)

    assert ret.status == "lost"
    assert isinstance(ret.exception, tx.WorkerLost)
    assert (ret.exception.signal, ret.exception.exit_code) == (signal.SIGXCPU, None)
    assert ret.exception.pid is not None
    assert "cpu_s=1" in str(ret.exception)
    assert run(spin, limited, steps=1).ok


def test_one_descriptor_too_many_is_the_tools_error(limited: ForkStrategy) -> None:
    ret = run(open_many, limited, count=17)

    assert ret.status == "raised"
    assert isinstance(ret.exception, OSError)
    assert any("open_files" in note and "16" in note for note in ret.exception.__notes__)
    assert "open_files" in "\n".join(ret.value["backtrace"])


def test_what_the_engine_maps_for_itself_is_not_the_calls(limited: ForkStrategy) -> None:
    """A thread that listens for an interrupt maps more than all of this limit."""
    assert run(Listening, limited, mib=24).value == 48
    assert run(Listening, limited, mib=40).status == "lost"


def test_an_interrupt_comes_through_where_there_is_no_memory_left(tmp_path: Path) -> None:
    gate, note = tmp_path / "gate", tmp_path / "note"
    os.mkfifo(gate)
    with ForkStrategy(memory_bytes=ROOM, env={"TOOLEXEC_NOTE": str(note)}) as fork:
        ctx = tx.Context(tools=[Listening], strategy=fork)
        task = ctx.submit({"name": "listening", "arguments": {"mib": 30, "gate": str(gate)}})
        with open(gate, "w"):
            task.interrupt("enough")
            ret = task.wait(timeout=10)

    assert (ret.status, ret.reason) == ("cancelled", "enough")
    assert note.read_text() == "told"


def test_limits_hold_anew_for_each_call_of_a_child() -> None:
    with ForkStrategy(window=1, memory_bytes=ROOM, cpu_s=1, open_files=16, calls_per_child=None) as fork:
        used = 0.0
        while used < 1.5:  # of one child; which of the idle ones gets a call is not ours to say
            ret = run(use_some, fork)
            assert ret.ok, ret.value
            used = ret.value


def test_without_limits_there_are_none_and_nothing_is_said_of_them() -> None:
    with ForkStrategy() as fork:
        seen = run(limits, fork).value
        died = run(take_in_c, fork)

    assert seen == {name: tuple(pair) for name, pair in _limits_here().items()}
    assert died.status == "lost"
    assert "memory_bytes" not in str(died.exception)


def test_a_lower_limit_of_the_hosts_stays() -> None:
    """A hard limit can only be lowered, by who has no privileges."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with ForkStrategy(open_files=hard + 5 if hard != resource.RLIM_INFINITY else 1 << 40) as fork:
        seen = run(limits, fork).value

    assert seen["files"][1] == hard


def _limits_here() -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = limits()
    return found


@pytest.mark.parametrize("name", ["memory_bytes", "cpu_s", "open_files"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "1G", True])
def test_what_cannot_be_a_limit_is_refused(name: str, value: Any) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is .*it takes a whole number"):
        ForkStrategy(**options)


def test_a_memory_limit_that_cannot_be_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(ValueError, match="Linux only"):
        ForkStrategy(memory_bytes=ROOM)
