"""Tools for the cases of stopping, at the top of a module so that every strategy can carry them.

Nothing here may be needed that a subinterpreter cannot load.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import toolexec as tx
from toolexec.lowlevel import running_loop
from toolexec.testing import Gate, Journal
from toolexec.testing._tools import interpreter_id

# Far longer than anything takes, and below the limit of a test.
LONG_S = 20.0


def current() -> tx.CurrentCall:
    call = tx.current_call()
    assert call is not None
    return call


async def nap(seconds: float) -> None:
    """Sleep in whatever loop runs here."""
    library: Any = sys.modules["trio"] if running_loop() == "trio" else asyncio
    await library.sleep(seconds)


# B1: a body that leaves a trace as long as it runs, and a hook that does too


def place() -> str:
    """Which process and which interpreter this is."""
    return f"{os.getpid()} {interpreter_id()}"


class Traced(tx.Tool):
    """One whose hook writes where it runs."""

    journal: str

    def on_interrupt(self) -> None:
        Journal(self.journal).write(f"hook {place()}")

    def write(self, line: str) -> None:
        Journal(self.journal).write(line)


class Asks(Traced):
    name = "asks"

    def call(self, journal: str, gate: str) -> None:
        self.journal = journal
        with Journal(journal).span("body"):
            self.write("step")
            Gate(gate).arrive(place())
            while True:
                tx.checkpoint()
                self.write("step")
                time.sleep(0.001)


class AAsks(Traced):
    name = "aasks"

    async def call(self, journal: str, gate: str) -> None:
        self.journal = journal
        with Journal(journal).span("body"):
            self.write("step")
            Gate(gate).arrive(place())
            while True:
                tx.checkpoint()
                self.write("step")
                await nap(0.001)


class Stands(Traced):
    name = "stands"

    def call(self, journal: str, gate: str) -> None:
        self.journal = journal
        with Journal(journal).span("body"):
            Gate(gate).arrive(place())
            while True:
                self.write("step")
                time.sleep(0.001)


class AStands(Traced):
    name = "astands"

    async def call(self, journal: str, gate: str) -> None:
        self.journal = journal
        with Journal(journal).span("body"):
            Gate(gate).arrive(place())
            while True:
                self.write("step")
                await nap(0.001)


# A12: what catches every Exception


def fails_softly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper as people write it: whatever went wrong, the model shall read a word about it."""

    @functools.wraps(function)
    def wrapped(gate: str) -> Any:
        try:
            return function(gate)
        except Exception:  # noqa: BLE001 - the point
            return "failed"

    return wrapped


def afails_softly(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapped(gate: str) -> Any:
        try:
            return await function(gate)
        except Exception:  # noqa: BLE001 - the point
            return "failed"

    return wrapped


@tx.tool(name="soft-asks")
@fails_softly
def soft_asks(gate: str) -> None:
    Gate(gate).arrive()
    current().wait_interrupted(LONG_S)
    tx.checkpoint()


@tx.tool(name="soft-aasks")
@afails_softly
async def soft_aasks(gate: str) -> None:
    Gate(gate).arrive()
    await current().until_interrupted()
    tx.checkpoint()


@tx.tool(name="soft-stands")
@fails_softly
def soft_stands(gate: str) -> None:
    Gate(gate).pass_through()


@tx.tool(name="soft-astands")
@afails_softly
async def soft_astands(gate: str) -> None:
    await Gate(gate).apass_through()


# B4, B5: those that do not stop


def _arrive(gate: str) -> None:
    Gate(gate).arrive(f"{os.getpid()} {threading.get_ident()}")


@tx.tool(timeout=1.0, resource="cases-of-stopping")
def busy(gate: str, folder: str) -> None:
    """Give nothing but its bytecodes for anybody to get in."""
    _arrive(gate)
    while True:
        pass


@tx.tool(timeout=1.0, resource="cases-of-stopping")
def stubborn(gate: str, folder: str) -> str:
    """Go on whatever is raised here, until the test says so."""
    for _ in range(2):  # one Interrupt comes, and no second one
        try:
            _arrive(gate)
            while not _released(folder):
                time.sleep(0.002)
        except BaseException:  # noqa: BLE001 - the point
            continue
    return "late"


@tx.tool(timeout=1.0, resource="cases-of-stopping")
def blocked(gate: str, folder: str) -> str:
    """Stand in one call of C's that knows no Interrupt, until the test writes into the pipe."""
    fd = os.open(f"{folder}/pipe", os.O_RDONLY)
    try:
        for _ in range(2):  # the one Interrupt may come before it stands there
            try:
                _arrive(gate)
                return os.read(fd, 4).decode()
            except BaseException:  # noqa: BLE001 - the point
                continue
    finally:
        os.close(fd)
    return "interrupted twice"


@tx.tool(timeout=1.0, resource="cases-of-stopping")
def holds_the_gil(gate: str, folder: str) -> int:
    """Stand in one call of C's that gives nothing away and looks at no signal."""
    _arrive(gate)
    return sum(range(10**12))


@tx.tool(timeout=1.0, resource="cases-of-stopping")
def deaf(gate: str, folder: str) -> None:
    """Catch everything, SIGTERM too, and write that down."""
    signal.signal(signal.SIGTERM, lambda *_: Journal(f"{folder}/journal").write("SIGTERM"))
    for _ in range(2):  # as above
        try:
            _arrive(gate)
            while True:
                time.sleep(0.002)
        except BaseException:  # noqa: BLE001 - the point
            continue


@tx.tool(timeout=1.0, resource="cases-of-stopping")
async def aswallows(gate: str, folder: str) -> str:
    """Swallow every cancellation, until the test says so."""
    _arrive(gate)
    while not _released(folder):
        with contextlib.suppress(BaseException):
            await nap(0.002)
        Journal(f"{folder}/journal").write("step")
    return "late"


@tx.tool(timeout=1.0, resource="cases-of-stopping")
async def acleans_long(gate: str, folder: str) -> None:
    """Clean up for longer than anybody waits."""
    try:
        _arrive(gate)
        await nap(LONG_S)
    finally:
        Journal(f"{folder}/journal").write("cleaning up")
        if running_loop() == "trio":
            trio: Any = sys.modules["trio"]
            with trio.CancelScope(shield=True):
                await _until_released(folder)
        else:
            await _until_released(folder)


def _released(folder: str) -> bool:
    return Path(folder, "release").exists()


async def _until_released(folder: str) -> None:
    until = time.monotonic() + LONG_S
    while not _released(folder) and time.monotonic() < until:
        await nap(0.002)


# B7


@tx.tool
def counts(journal: str, gate: str) -> None:
    Journal(journal).write("ran")
    Gate(gate).arrive()
    current().wait_interrupted(LONG_S)
    tx.checkpoint()


@tx.tool(max_in_flight=1)
def counts_alone(journal: str, gate: str) -> None:
    Journal(journal).write("ran")
    Gate(gate).arrive()
    current().wait_interrupted(LONG_S)
    tx.checkpoint()


@tx.tool(resource="cases-of-stopping")
async def acounts_with_a_resource(journal: str, gate: str) -> None:
    Journal(journal).write("ran")
    Gate(gate).arrive()
    await current().until_interrupted()
    tx.checkpoint()


# B9: time limits of the tool's own


@tx.tool
def raises_timeout() -> None:
    raise TimeoutError("db")


@tx.tool
async def own_asyncio_timeout() -> None:
    async with asyncio.timeout(0):
        await asyncio.sleep(LONG_S)


@tx.tool(loop="trio")
async def own_trio_timeout() -> None:
    import trio

    with trio.fail_after(0):
        await trio.sleep(LONG_S)


@tx.tool
def raises_when_stopped(gate: str) -> None:
    """Answer being stopped by a TimeoutError of its own."""
    try:
        Gate(gate).arrive()
        current().wait_interrupted(LONG_S)
        tx.checkpoint()
    except tx.Interrupt:
        raise TimeoutError("db") from None


# B11, B16


@tx.tool
def naps(seconds: float) -> str:
    """Sleep in short naps: between them whatever is raised arrives."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.002)
    return "slept"


@tx.tool(timeout=0.25)
def naps_within_a_limit(seconds: float) -> str:
    return naps(seconds)


@tx.tool
def tells(when: list[str]) -> str:
    """Report progress as each file appears; then go on until asked to stop."""
    for done, path in enumerate(when, 1):
        _wait_for(path)
        tx.progress(done, len(when))
    current().wait_interrupted(LONG_S)
    tx.checkpoint()
    return "nobody asked"


@tx.tool(idle_timeout=0.3)
def tells_or_is_idle(when: list[str]) -> str:
    """The same, with a limit for silence."""
    return tells(when)


def _wait_for(path: str) -> None:
    until = time.monotonic() + LONG_S
    while not Path(path).exists():
        tx.checkpoint()
        if time.monotonic() > until:
            raise TimeoutError(path)
        time.sleep(0.001)


_kept: dict[str, tx.CurrentCall] = {}


@tx.tool
def keeps_its_call(key: str) -> str:
    _kept[key] = current()
    return key


@tx.tool
def reports_for_others() -> int:
    """Report on the calls that were kept in this worker; how many these are."""
    for call in _kept.values():
        call.progress(99)
    return len(_kept)


def kept(key: str) -> tx.CurrentCall:
    return _kept.pop(key)


# B2, B13, D: in a process of its own

# Both write down their pids; the first says so to nobody, and is nobody's child once the shell is gone.
FAMILY = "sleep 600 & echo $! >>$0; echo $$ >>$0; wait"
DEAF_FAMILY = f"trap '' TERM HUP INT; {FAMILY}"


@tx.tool
def has_family(gate: str, journal: str, shell: str = FAMILY) -> None:
    """Start a shell that starts a process, and wait for it."""
    child = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", shell, journal], os.environ)
    while len(Journal(journal).lines()) < 2:
        time.sleep(0.001)
    Journal(journal).write(str(os.getpid()))
    Gate(gate).arrive(str(os.getpid()))
    os.waitpid(child, 0)


class HoldsFile(tx.Tool):
    """Keeps a file that its hook removes."""

    name = "holds-file"

    def call(self, path: str, gate: str, journal: str, heeds: bool) -> None:
        self.path, self.journal = path, journal
        signal.signal(signal.SIGTERM, lambda *_: Journal(journal).write("SIGTERM"))
        Path(path).write_text("held")
        while True:
            try:
                Gate(gate).arrive(str(os.getpid()))
                time.sleep(LONG_S)
            except tx.Interrupt:
                Journal(journal).write("Interrupt")
                if heeds:
                    raise

    def on_interrupt(self) -> None:
        Path(self.path).unlink()
        Journal(self.journal).write(f"hook {os.getpid()}")


@tx.tool
def takes_a_lock_twice(gate: str) -> None:
    lock = threading.Lock()
    with lock:
        Gate(gate).arrive(str(os.getpid()))
        with lock:
            pass


@tx.tool
def runs_a_loop(kind: str, gate: str, journal: str) -> None:
    """Run a loop of its own, by hand, and stay in it."""

    async def stay() -> None:
        try:
            Gate(gate).arrive(str(os.getpid()))
            await nap(LONG_S)
        finally:
            Journal(journal).write("finally")

    if kind == "asyncio":
        asyncio.run(stay())
    else:
        import trio

        trio.run(stay)


@tx.tool
def has_a_pool(gate: str, journal: str) -> None:
    """Use multiprocessing, whose workers write down their pids and stay."""
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.starmap(_stay, [(gate, journal)] * 2, chunksize=1)


def _stay(gate: str, journal: str) -> None:
    Journal(journal).write(str(os.getpid()))
    Gate(gate).arrive()
    time.sleep(600)


@tx.tool
def calls_another(gate: str, journal: str, strategy: str = "fork") -> str:
    """Run a call of the engine's, in a process below this one."""
    ret = tx.run(Asks, {"gate": gate, "journal": journal}, strategy)
    Journal(journal).write(f"inner {ret.status}")
    return ret.status


# B17


@tx.tool(resource="cases-of-stopping")
def alone(gate: str = "", then: str = "") -> str:
    """Hold the only place there is until stopped, or die; at no gate answer at once."""
    if gate:
        Gate(gate).arrive(str(os.getpid()))
        if then == "die":
            os._exit(9)
        current().wait_interrupted(LONG_S)
        tx.checkpoint()
    return "ran"


@tx.tool(resource="cases-of-stopping", timeout=0.05)
def alone_for_a_while(gate: str, then: str) -> str:
    """The same, for as long as its limit lets it."""
    return alone(gate, then)


# C9


@tx.tool
def parts_until_asked(journal: str, gate: str) -> Iterator[int]:
    with Journal(journal).span("body"):
        yield 1
        Gate(gate).arrive()
        while True:
            tx.checkpoint()
            time.sleep(0.001)
            yield 2


@tx.tool
async def aparts_until_asked(journal: str, gate: str) -> AsyncIterator[int]:
    with Journal(journal).span("body"):
        yield 1
        Gate(gate).arrive()
        while True:
            tx.checkpoint()
            await nap(0.001)
            yield 2


@tx.tool
def parts_and_stand(journal: str, gate: str) -> Iterator[int]:
    with Journal(journal).span("body"):
        yield 1
        Gate(gate).pass_through()
        yield 2


@tx.tool
async def aparts_and_stand(journal: str, gate: str) -> AsyncIterator[int]:
    with Journal(journal).span("body"):
        yield 1
        await Gate(gate).apass_through()
        yield 2


# E: what a worker cannot do, done only when it is stopped


@tx.tool
def answers_oddly(gate: str, answer: str) -> Any:
    """Answer an interrupt by something that cannot come back, or that the worker cannot load."""
    try:
        Gate(gate).arrive()
        current().wait_interrupted(LONG_S)
        tx.checkpoint()
    except tx.Interrupt:
        if answer.startswith("import "):
            return __import__(answer.removeprefix("import ")).__name__
        if answer == "two arguments":
            raise TwoArguments(42, "the answer") from None
        return threading.Lock() if answer == "lock" else lambda: answer
    return "nobody asked"


class TwoArguments(Exception):
    """Its constructor takes two and hands one on."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


# The ancestor's


class Labelled(tx.Tool):
    """Its hook says whose it is, and where: an instance's state is that of the call it runs."""

    name = "labelled"

    def __init__(self) -> None:
        self.label = "nobody's"
        self.hooks = 0

    def call(self, label: str, journal: str, gate: str) -> None:
        self.label, self.journal = label, journal
        Gate(gate).arrive(f"{label} {place()}")
        current().wait_interrupted(LONG_S)
        tx.checkpoint()

    def on_interrupt(self) -> None:
        self.hooks += 1
        Journal(self.journal).write(f"{self.label} {place()}")


TOOLS: list[Any] = [
    Asks,
    AAsks,
    Stands,
    AStands,
    soft_asks,
    soft_aasks,
    soft_stands,
    soft_astands,
    busy,
    stubborn,
    blocked,
    holds_the_gil,
    deaf,
    aswallows,
    acleans_long,
    counts,
    counts_alone,
    acounts_with_a_resource,
    raises_timeout,
    own_asyncio_timeout,
    own_trio_timeout,
    raises_when_stopped,
    naps,
    naps_within_a_limit,
    tells,
    tells_or_is_idle,
    keeps_its_call,
    reports_for_others,
    has_family,
    HoldsFile,
    takes_a_lock_twice,
    runs_a_loop,
    has_a_pool,
    calls_another,
    answers_oddly,
    Labelled,
    alone,
    alone_for_a_while,
    parts_until_asked,
    aparts_until_asked,
    parts_and_stand,
    aparts_and_stand,
]
