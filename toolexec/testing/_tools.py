"""The tools of the checks, in a module of their own, so that a worker finds them by name."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import toolexec
from toolexec.lowlevel import running_loop
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal
from toolexec.testing._rendezvous import Rendezvous


class OddEnd(BaseException):
    """What no ``except Exception`` catches."""


class TwoArguments(Exception):
    """Pickles, and cannot be made again from what it pickles to."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class HoldsLock(Exception):
    """Cannot be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


# Values


@toolexec.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@toolexec.tool
async def aadd(a: int, b: int = 1) -> int:
    """Add two numbers, a step of the loop later."""
    await _one_step()
    return a + b


@toolexec.tool
def nothing() -> None:
    """Return nothing."""


@toolexec.tool
def looks_failed() -> dict[str, Any]:
    """Return what an error form looks like."""
    return {"error": True, "type": "ValueError", "message": "a plain value", "backtrace": []}


# Failures


@toolexec.tool
def fail(kind: str) -> None:
    """Raise."""
    raise _failure(kind)  # the tool's own line


@toolexec.tool
async def afail(kind: str) -> None:
    """Raise, a step of the loop later."""
    await _one_step()
    raise _failure(kind)  # the tool's own line


def _failure(kind: str) -> BaseException:
    made: dict[str, BaseException] = {
        "value": ValueError("no luck"),
        "exit": SystemExit(3),
        "ctrl-c": KeyboardInterrupt("pressed by the tool"),
        "odd": OddEnd("an odd end"),
        "two": TwoArguments(7, "two arguments"),
        "lock": HoldsLock("holds a lock"),
        "blank": AssertionError(),
    }
    return made[kind]


@toolexec.tool
def fail_with_a_cause() -> None:
    """Raise from another exception, with a note."""
    try:
        _failing_below()
    except KeyError as exc:
        failure = RuntimeError("the whole failed")
        failure.add_note("a note of the tool's")
        raise failure from exc


def _failing_below() -> None:
    raise KeyError("the part below")


# Parts


@toolexec.tool
def parts(count: int) -> Iterator[int]:
    """Yield 0, 1, 2, ..."""
    yield from range(count)


@toolexec.tool
async def aparts(count: int) -> AsyncIterator[int]:
    """Yield 0, 1, 2, ..., each a step of the loop later."""
    for part in range(count):
        await _one_step()
        yield part


# Loops of its own


@toolexec.tool
def run_loops() -> list[str]:
    """Run a loop of each kind, here and now."""
    import asyncio

    import trio

    async def kind() -> str:
        await _one_step()
        return str(running_loop())

    return [asyncio.run(kind()), trio.run(kind)]


# Where it runs


@toolexec.tool
def where() -> dict[str, Any]:
    """Say where this runs."""
    return here()


@toolexec.tool
async def awhere() -> dict[str, Any]:
    """Say where this runs."""
    await _one_step()
    return here()


@toolexec.tool(loop="trio")
async def awhere_trio() -> dict[str, Any]:
    """Say where this runs, which is a trio loop where it brings its own."""
    await _one_step()
    return here()


@toolexec.tool
def where_together(meeting: str, parties: int) -> dict[str, Any]:
    """Say where this runs, while others do."""
    Rendezvous(meeting, parties).meet()
    return here()


def here() -> dict[str, Any]:
    """What tells one place from another."""
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "thread": threading.get_ident(),
        "loop": running_loop(),
        "loop_id": _loop_id(),
        "interpreter": interpreter_id(),
    }


def interpreter_id() -> int:
    """The id of the interpreter this runs in; 0 for the main one, and where there is no other."""
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        return interpreters.get_current().id
    return 0


def _loop_id() -> int | None:
    kind = running_loop()
    if kind is None:
        return None
    library: Any = sys.modules[kind]
    return id(library.lowlevel.current_trio_token() if kind == "trio" else library.get_running_loop())


async def _one_step() -> None:
    library: Any = sys.modules[running_loop() or "asyncio"]
    await library.sleep(0)


# Order


@toolexec.tool
def note(journal: str, label: str) -> str:
    """Write a line and return it."""
    Journal(journal).write(label)
    return label


@toolexec.tool
async def anote(journal: str, label: str) -> str:
    """Write a line and return it, a step of the loop later."""
    await _one_step()
    Journal(journal).write(label)
    return label


@toolexec.tool
def span(journal: str, label: str) -> str:
    """Write a line at the begin and one at the end."""
    with Journal(journal).span(label):
        # Not to wait for anything: to give others the processor, who then must not be there.
        time.sleep(0.001)
    return label


@toolexec.tool
async def aspan(journal: str, label: str) -> str:
    """Write a line at the begin and one at the end, steps of the loop apart."""
    with Journal(journal).span(label):
        for _ in range(5):
            await _one_step()
    return label


@toolexec.tool
def gated_span(journal: str, gate: str, label: str) -> str:
    """Write a line at the begin, pass a gate, write one at the end."""
    with Journal(journal).span(label):
        Gate(gate).pass_through(label)
    return label


@toolexec.tool(max_in_flight=2)
def two_at_a_time(journal: str, gate: str, label: str) -> str:
    """As ``gated_span``, never more than two at once."""
    with Journal(journal).span(label):
        Gate(gate).pass_through(label)
    return label


@toolexec.tool(resource="toolexec-testing")
def first_user(journal: str, label: str) -> str:
    """As ``span``, with a resource."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool(resource="toolexec-testing")
def other_user(journal: str, label: str) -> str:
    """As ``span``, another tool with the same resource."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool(exclusive=True)
def alone(journal: str, label: str) -> str:
    """As ``span``, as a barrier."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool
def pass_gate(gate: str, label: str) -> str:
    """Pass a gate."""
    Gate(gate).pass_through(label)
    return label


@toolexec.tool
async def apass_gate(gate: str, label: str) -> str:
    """Pass a gate without blocking the loop."""
    await Gate(gate).apass_through(label)
    return label


@toolexec.tool
def note_and_pass(journal: str, gate: str, label: str) -> str:
    """Write a line, then pass a gate."""
    Journal(journal).write(label)
    Gate(gate).pass_through(label)
    return label


@toolexec.tool
def meet(meeting: str, parties: int) -> str:
    """Meet others."""
    Rendezvous(meeting, parties).meet()
    return "met"


@toolexec.tool
async def ameet(meeting: str, parties: int) -> str:
    """Meet others without blocking the loop."""
    await Rendezvous(meeting, parties).ameet()
    return "met"


# Work that lets nobody else in

# A quarter of a second in one C function that never gives the interpreter's lock away.
_ADDENDS = 15_000_000


@toolexec.tool
def hold_interpreter(meeting: str, done: str) -> list[float]:
    """Keep this interpreter to itself for a while; from when to when."""
    Rendezvous(meeting, 2).meet()
    start = time.monotonic()
    sum(range(_ADDENDS))
    end = time.monotonic()
    Journal(done).write("done")
    return [start, end]


@toolexec.tool
def take_steps(meeting: str, done: str) -> list[float]:
    """Take steps until the other is done; the times of them."""
    Rendezvous(meeting, 2).meet()
    steps: list[float] = []
    while not Journal(done).lines():
        steps.append(time.monotonic())
    return steps


# Calls that make calls


@toolexec.tool
def nest(strategy: str, depth: int) -> int:
    """Call itself, a level deeper."""
    if depth == 0:
        return 0
    ret = toolexec.run(nest, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())


@toolexec.tool
async def anest(strategy: str, depth: int) -> int:
    """Call itself, a level deeper, and await that."""
    if depth == 0:
        return 0
    ret = await toolexec.arun(anest, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())


@toolexec.tool(max_in_flight=1)
def nest_alone(strategy: str, depth: int) -> int:
    """Call itself, a level deeper, while it holds the only place there is."""
    if depth == 0:
        return 0
    ret = toolexec.run(nest_alone, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())


# What hurts


@toolexec.tool
def die(how: str) -> None:
    """End the process."""
    if how == "exit":
        os._exit(9)
    os.kill(os.getpid(), signal.SIGKILL)


@toolexec.tool
def give(kind: str) -> Any:
    """Return what cannot travel."""
    return threading.Lock() if kind == "lock" else (lambda: kind)


@toolexec.tool
def take_apart(options: dict[str, Any]) -> list[str]:
    """Empty what it was given."""
    inner = options["inner"]
    taken = [*inner, *options["list"]]
    inner.clear()
    options["list"].clear()
    options.clear()
    return taken
