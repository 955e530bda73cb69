"""The tools of the checks: in modules, and not in the checks, so that a worker finds them by name."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import toolexec
from toolexec.lowlevel import running_loop
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
    await one_step()
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
    await one_step()
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
        await one_step()
        yield part


# Loops of its own


@toolexec.tool
def run_loops() -> list[str]:
    """Run a loop of each kind, here and now."""
    import asyncio

    import trio

    async def kind() -> str:
        await one_step()
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
    await one_step()
    return here()


@toolexec.tool(loop="trio")
async def awhere_trio() -> dict[str, Any]:
    """Say where this runs, which is a trio loop where it brings its own."""
    await one_step()
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


async def one_step() -> None:
    """Let the loop take a turn."""
    library: Any = sys.modules[running_loop() or "asyncio"]
    await library.sleep(0)


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
