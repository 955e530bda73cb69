"""Tools that block, hang, clean up: in a module, so that every strategy can carry them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import toolexec as tx
from toolexec.testing import Gate, Journal

# Counts for ever inside one call of C code, once it has shown that it runs: to interrupt a query that
# has not begun is to do nothing.
LONG_QUERY = "WITH RECURSIVE n(i) AS (SELECT arrive() UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def database(gate: str) -> sqlite3.Connection:
    def arrive() -> int:
        Gate(gate).arrive()
        return 1

    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.create_function("arrive", 0, arrive)
    return connection


def the_call() -> tx.CurrentCall:
    call = tx.current_call()
    assert call is not None
    return call


def where() -> str:
    """Process and interpreter, in words."""
    number = 0
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        number = interpreters.get_current().id
    return f"{os.getpid()}/{number}"


# Blocking calls, each with what stops it


@contextlib.contextmanager
def blocking(kind: str, gate: str) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """Something that blocks, and what makes it end."""
    if kind == "sqlite":
        with contextlib.closing(database(gate)) as connection:
            yield lambda: connection.execute(LONG_QUERY).fetchone(), connection.interrupt
    elif kind == "socket":
        ours, theirs = socket.socketpair()
        with ours, theirs:
            yield lambda: ours.recv(1), lambda: ours.shutdown(socket.SHUT_RDWR)
    else:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            yield process.wait, process.kill


@tx.tool
def blocks(kind: str, gate: str) -> str:
    """Block until the call's own callback makes an end of it."""
    with blocking(kind, gate) as (block, end), the_call().on_interrupt(end):
        if kind != "sqlite":
            Gate(gate).arrive()
        block()
        the_call().checkpoint()  # what it blocked in may have ended without an error
    return "came back"


class Query(tx.Tool):
    """A query that its hook stops."""

    name = "query"

    def call(self, gate: str) -> None:
        self.connection = database(gate)
        self.connection.execute(LONG_QUERY).fetchone()

    def on_cancel(self) -> None:
        self.connection.interrupt()


# Hooks


class Hooked(tx.Tool):
    """Notes when and where its hook runs."""

    name = "hooked"

    def call(self, gate: str, journal: str, leave: str = "raise") -> str:
        self.journal = Journal(journal)
        self.journal.write(f"body {where()}")
        call = the_call()
        try:
            Gate(gate).arrive()
            if leave == "checkpoint":
                call.wait_interrupted(20)
                call.checkpoint()
            while True:
                time.sleep(0.005)
        finally:
            self.journal.write("left")

    def on_cancel(self) -> None:
        self.journal.write(f"hook {where()}")

    def on_interrupt(self) -> None:
        self.journal.write("the wrong hook")


class HookedBadly(tx.Tool):
    """Its hook raises, or hangs, or is async."""

    name = "hooked-badly"

    def call(self, gate: str, journal: str, how: str) -> None:
        self.journal, self.how = Journal(journal), how
        Gate(gate).arrive()
        while True:
            time.sleep(0.005)

    def on_interrupt(self) -> Any:
        self.journal.write("hook")
        if self.how == "raise":
            raise ValueError("a hook that fails")
        if self.how == "hang":
            time.sleep(60)
        return self.later() if self.how == "async" else None

    async def later(self) -> None:
        import asyncio

        await asyncio.sleep(0)
        self.journal.write("async part")


class HookedLong(tx.Tool):
    """Its hook lasts until the test opens a gate."""

    name = "hooked-long"

    def call(self, gate: str, hook_gate: str) -> None:
        self.hook_gate = hook_gate
        Gate(gate).arrive()
        while True:
            time.sleep(0.005)

    def on_interrupt(self) -> None:
        Gate(self.hook_gate).pass_through()


class TempFile(tx.Tool):
    """Holds a file, which its hook removes."""

    name = "temp-file"

    def call(self, path: str, gate: str, journal: str) -> None:
        self.path, self.journal = Path(path), Journal(journal)
        self.path.write_text("mine")
        with contextlib.suppress(ValueError):  # in an interpreter no handler can be set, nor is a signal sent
            signal.signal(signal.SIGTERM, lambda *_: self.journal.write("SIGTERM"))
        self.journal.write(f"body {os.getpid()}")
        Gate(gate).pass_through()

    def on_cancel(self) -> None:
        self.path.unlink()
        self.journal.write(f"hook {os.getpid()}")


# Those who do not stop


@tx.tool
def swallows(gate: str) -> None:
    """Catch whatever comes, for ever."""
    arrived = False
    while True:
        try:
            if not arrived:
                Gate(gate).arrive()
                arrived = True
            time.sleep(0.05)
        except BaseException:  # noqa: BLE001 - what nobody should write
            pass


@tx.tool
def spins(gate: str) -> None:
    """Never give way, and catch whatever comes."""
    Gate(gate).arrive()
    while True:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001 - what nobody should write
            pass


@tx.tool
def holds_out(gate: str) -> str:
    """Catch whatever comes, until the test opens the gate."""
    while True:
        try:
            Gate(gate).pass_through()
        except BaseException:  # noqa: BLE001 - what nobody should write
            continue
        return "late"


@tx.tool
def catches(gate: str) -> str:
    """Answer the interrupt with a value."""
    try:
        Gate(gate).arrive()
        while True:
            time.sleep(0.005)
    except tx.Interrupt as exc:
        return f"caught: {exc.reason}"


@tx.tool
def counts_threads(gate: str) -> str:
    """Gives the names of the threads that were started until the Interrupt came."""
    started: list[str] = []
    start = threading.Thread.start

    def note(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    try:
        with mock.patch.object(threading.Thread, "start", note):
            Gate(gate).arrive()
            while True:
                time.sleep(0.005)
    except tx.Interrupt:
        return ", ".join(started)


@tx.tool
def wrapped(gate: str) -> str:
    """What a framework's handler does to its tools."""
    try:
        Gate(gate).arrive()
        while True:
            time.sleep(0.005)
    except Exception:  # noqa: BLE001 - the kind of handler that must not see it
        return "failed"


# Those who are told, by other means than an exception


@tx.tool(deliver="poll")
def polls(gate: str, how: str) -> str:
    """Look whether it should stop, or wait until it should, and answer."""
    call = the_call()
    Gate(gate).arrive()
    if how == "wait":
        assert call.wait_interrupted(20)
    while not call.interrupted:
        time.sleep(0.002)
    return "stopped by itself"


@tx.tool
def goes_on(gate: str, journal: str) -> None:
    """Hear that it should stop, and go on until the test opens the gate; note what comes meanwhile."""
    Gate(gate).arrive()
    assert the_call().wait_interrupted(20)
    try:
        Gate(gate).pass_through()
    except tx.Interrupt:
        Journal(journal).write("interrupted")
    else:
        Journal(journal).write("went on")


@tx.tool
async def awaits(gate: str, journal: str) -> None:
    """Be cancelled, and clean up."""
    import asyncio

    Gate(gate).arrive()
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0)
        Journal(journal).write("cleaned up")


@tx.tool(loop="trio")
async def awaits_trio(gate: str, journal: str) -> None:
    """Likewise, in a loop of trio's."""
    import trio

    Gate(gate).arrive()
    try:
        await trio.sleep(60)
    finally:
        Journal(journal).write("cleaned up")


@tx.tool
async def awaits_the_word(gate: str) -> str:
    """Await being interrupted, and answer, which a cancellation does not prevent."""
    import asyncio

    Gate(gate).arrive()
    try:
        await the_call().until_interrupted()
    except asyncio.CancelledError:
        pass
    return "heard" if the_call().interrupted else "not asked"


# What a call knows


@tx.tool
def times() -> dict[str, Any]:
    """The call's own view of its limits."""
    call = the_call()
    remaining = call.remaining
    return {
        "id": call.id,
        "name": call.name,
        "remaining": remaining,
        "left": None if call.deadline is None else call.deadline - time.monotonic(),
        "interrupted": call.interrupted,
    }


# What one call leaves running


@tx.tool
def leaves_threads(seconds: float) -> None:
    """Leave threads behind, of each kind that there is without being a daemon."""
    import _thread
    from concurrent.futures import ThreadPoolExecutor

    threading.Thread(target=time.sleep, args=(seconds,)).start()
    _thread.start_new_thread(lambda: time.sleep(seconds), ())
    executor = ThreadPoolExecutor(1)
    executor.submit(int).result()
    _executors.append(executor)  # its thread waits for more


_executors: list[Any] = []


# State that one call leaves to the next


@tx.tool
def count_calls(do: str = "") -> dict[str, Any]:
    """How many calls this process has had, and what a call may leave behind."""
    seen = {
        "pid": os.getpid(),
        "calls": _count(),
        "cwd": str(Path.cwd()),
        "left": os.environ.get("TOOLEXEC_LEFT"),
        "handler": signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL,
    }
    if do in ("mess", "move"):
        os.chdir("/")
    if do == "mess":
        os.environ["TOOLEXEC_LEFT"] = "yes"
        signal.signal(signal.SIGUSR1, lambda *_: None)
    elif do == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    elif do == "process":
        seen["child"] = subprocess.Popen(["sleep", "60"]).pid
    return seen


_calls: list[int] = []


def _count() -> int:
    _calls.append(1)
    return len(_calls)


# Calls inside calls


@tx.tool
def runs_inner(gate: str, journal: str, strategy: str, wait: bool = True) -> Any:
    """Run a hooked tool by another strategy, and wait for it or not."""
    ctx = tx.Context([Hooked], strategy=strategy)
    ctx.receive([{"id": "inner", "name": "hooked", "arguments": {"gate": gate, "journal": journal}}])
    if not wait:
        ctx.group()
        Gate(gate + "-outer").pass_through()
        return "left it running"
    statuses: list[str] = []
    try:
        ctx.wait()
    finally:
        # An interrupt may also come right before or after that wait: the calls inside are asked all the same.
        statuses += [ret.status for ret in ctx.wait(timeout=5)]
        Journal(journal).write(f"inner {statuses}")
    return statuses
