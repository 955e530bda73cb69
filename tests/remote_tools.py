"""Tools for the isolated strategies, importable in a worker; each does one thing a test looks at."""

# Pipes, /proc and descriptors are not what pathlib is for, and here everything is caught:
# ruff: noqa: PTH112, PTH115, PTH116, PTH123, PTH208, BLE001, ASYNC110, ASYNC230, SIM115, SIM117, RUF100

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import toolexec as tx

STATE: contextvars.ContextVar[str] = contextvars.ContextVar("remote_tools_state", default="default")


@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tx.tool
def echo(value: Any) -> Any:
    return value


@tx.tool
def where() -> dict[str, Any]:
    """What a worker's process looks like from inside."""
    return {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "cwd": str(Path.cwd()),
        "path": list(sys.path),
        "environment": dict(os.environ),
        "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "sigterm": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "stdin": os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev,
        "output": os.fstat(1) == os.fstat(2),
        "wires": [target for fd in range(3, 64) if (target := _target(fd)).startswith(("socket:", "pipe:"))],
        "random": random.random(),
        "threads": threading.active_count(),
    }


def _target(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


@tx.tool
def exit_hard(code: int) -> None:
    os._exit(code)


@tx.tool
def kill_self(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


@tx.tool
def read_null() -> None:
    ctypes.string_at(0)


@tx.tool
def leave_system() -> None:
    sys.exit(4)


@tx.tool
def sized(count: int) -> bytes:
    return b"x" * count


@tx.tool
def length(data: bytes) -> int:
    return len(data)


@tx.tool
def die_while_sending(count: int) -> Any:
    """Return something of which a part is on the wire when the process dies."""
    threading.Thread(target=_die_when_sending, daemon=True).start()
    return b"x" * count


def _die_when_sending() -> None:
    # The wire takes no more than its buffer until the host reads; the process dies whenever the
    # main thread has begun to write, which is when it has left the tool.
    main = threading.main_thread().ident
    assert main is not None
    while True:
        frame = sys._current_frames().get(main)
        while frame is not None:
            if frame.f_code.co_name == "send" and frame.f_code.co_filename.endswith("_wire.py"):
                os.kill(os.getpid(), signal.SIGKILL)
            frame = frame.f_back


@tx.tool
def close_everything() -> None:
    os.closerange(3, 256)


@tx.tool
def write_garbage() -> None:
    for fd in range(3, 32):
        with contextlib.suppress(OSError):
            os.write(fd, b"this is no frame at all, nor will it ever be")


@tx.tool
def fork_and_return() -> int:
    """Come back twice."""
    os.fork()
    return os.getpid()


@tx.tool
def hold_the_wire(gate: str) -> None:
    """Die, leaving a process outside the group that holds the wire open."""
    ready, escaped = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.write(escaped, b"x")
        with open(gate) as held:  # until the test opens the other end
            held.read()
        os._exit(0)
    os.read(ready, 1)
    os._exit(7)


@tx.tool
def start_process(note: str) -> int:
    """Start a process, write down its pid, and wait for it."""
    child = subprocess.Popen(["sleep", "600"])
    with open(note, "w") as file:
        file.write(str(child.pid))
    return child.wait()


@tx.tool
def leave_process() -> int:
    """Start a process and leave it behind."""
    return subprocess.Popen(["sleep", "600"]).pid


@tx.tool
def wait_at(gate: str) -> str:
    """Say by opening it that the body runs, and wait for a line."""
    with open(gate) as file:
        return file.read()


@tx.tool
def clean_up_at(gate: str, note: str) -> str:
    """Like wait_at; note what came, clean up slowly, and go on being interrupted."""
    try:
        with open(gate) as file:
            return file.read()
    finally:
        time.sleep(0.1)  # a second Interrupt in here would cut it short
        with open(note, "a") as file:
            file.write("cleaned up\n")


@tx.tool
def catch_at(gate: str) -> str:
    try:
        with open(gate) as file:
            return file.read()
    except tx.Interrupt as interrupt:
        return f"caught: {interrupt.reason}"


@tx.tool
def ignore_everything(note: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(note, "w") as file:
        file.write(str(os.getpid()))
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(60)


@tx.tool
async def wait_async_at(gate: str) -> None:
    import asyncio

    with open(gate):
        pass
    await asyncio.sleep(600)


@tx.tool
def count_up(limit: int) -> Any:
    """A generator tool: its parts are progress."""
    for number in range(limit):
        yield number * 10


@tx.tool
def state() -> str:
    return STATE.get()


class TwoArguments(Exception):
    """Its constructor takes two and hands one on."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class KeywordOnly(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class ExitsOnLoad(Exception):
    def __reduce__(self) -> Any:
        return sys.exit, (3,)


class HoldsLock(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


class AdviceWithLock(tx.ToolError):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


class RefusesToLoad:
    """Pickles, and fails where it is loaded."""

    def __reduce__(self) -> Any:
        return _refuse, (os.getpid(),)


def _refuse(pid: int) -> None:
    raise RuntimeError(f"not loaded here, said {pid}")


class RefusesState:
    def __getstate__(self) -> Any:
        raise ValueError("no state of mine")


@tx.tool
def raise_kind(kind: str) -> None:
    if kind == "two arguments":
        raise TwoArguments(42, "the answer")
    if kind == "keyword only":
        raise KeywordOnly(code=7)
    if kind == "exits on load":
        raise ExitsOnLoad("ouch")
    if kind == "holds a lock":
        raise HoldsLock("locked in")
    if kind == "advice with a lock":
        raise AdviceWithLock("take another day")
    if kind == "local class":

        class Local(Exception):
            pass

        raise Local("nobody knows my class")
    if kind == "syntax":
        compile("a = (", "some file", "exec")
    if kind == "exit code":
        sys.exit(17)
    raise ValueError(kind)


@tx.tool
def raise_chain() -> None:
    try:
        _inner()
    except KeyError as first:
        outer = ValueError("outer text")
        outer.add_note("a note on it")
        raise outer from first


def _inner() -> None:
    raise KeyError("inner text")


@tx.tool
def raise_in_context() -> None:
    try:
        _inner()
    except KeyError:
        raise LookupError("while handling")  # noqa: B904 - the implicit context is the point


@tx.tool
def raise_group() -> None:
    members: list[Exception] = []
    for member in (TwoArguments(1, "one"), ValueError("two")):
        try:
            raise member
        except Exception as exc:
            members.append(exc)
    raise ExceptionGroup("several", members)


@tx.tool
def return_odd(kind: str) -> Any:
    return _odd(kind)


def _odd(kind: str) -> Any:
    if kind == "lock":
        return threading.Lock()
    if kind == "nested lock":
        return {"deep": [1, threading.Lock()]}
    if kind == "lambda":
        return lambda: 1
    if kind == "generator":
        return (number for number in range(3))
    if kind == "file":
        return open(os.devnull)
    if kind == "refuses state":
        return RefusesState()
    if kind == "refuses to load":
        return RefusesToLoad()
    if kind == "local class":

        class Local:
            pass

        return Local()
    raise ValueError(kind)


class ClassTool(tx.Tool):
    name = "class-tool"
    description = "A tool with an instance per call"

    def __init__(self) -> None:
        self.made_in = os.getpid()

    def call(self, x: int) -> dict[str, int]:
        return {"x": x, "made_in": self.made_in, "ran_in": os.getpid()}


class BrokenConstructor(tx.Tool):
    name = "broken"
    description = "A tool that cannot be made"

    def __init__(self) -> None:
        raise RuntimeError("cannot be made")

    def call(self) -> None: ...


class Greeter:
    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    @tx.tool
    def greet(self, name: str) -> str:
        return f"{self.greeting}, {name}"


@tx.tool
def nested_fork(gate: str | None = None) -> Any:
    """Use the fork strategy from within a forked call."""
    if gate is not None:
        return tx.run(wait_at, {"gate": gate}, "fork").value
    return tx.run(where, {}, "fork").value["pid"], os.getpid()


@tx.wrap(strategy="fork")
def wrapped_pid(value: Any = None) -> int:
    return os.getpid()


@tx.wrap(strategy="fork")
def wrapped_pids() -> tuple[int, int]:
    """This process, and that of another wrapped function's call."""
    return os.getpid(), wrapped_pid()


@tx.tool
def pool_of_processes() -> list[int]:
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(abs, [-1, -2, -3])


class _Busy:
    def __del__(self) -> None:
        for _ in range(300):
            pass


@tx.tool
def makes_garbage(note: str) -> None:
    """Spend nearly all the time where an exception that is raised is dropped."""
    with open(note, "w"):
        pass
    while True:
        _Busy()


class _Complains:
    def __del__(self) -> None:
        raise ValueError


class _Stalls:
    """A stderr whose first line takes until the call is asked to stop."""

    def __init__(self, note: str) -> None:
        self.note = note

    def write(self, _: str) -> None:
        if self.note:
            note, self.note = self.note, ""
            with open(note, "w"):
                pass
            while not tx.interrupted():
                pass

    def flush(self) -> None: ...


@tx.tool
def complains_at_length(note: str) -> None:
    """Be asked to stop while Python tells of what a ``__del__`` has raised."""
    sys.stderr = _Stalls(note)
    _Complains()
    while True:
        time.sleep(0.001)
