"""Tools that note what an interrupt does to them: in a module, so that every strategy can carry them."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import trio

import toolexec as tx
from toolexec.lowlevel import running_loop
from toolexec.testing import Gate, Journal

# Longer than any grace here; under sequential nothing ends a tool, so that it ends by itself.
LONG_S = 2.4


def here() -> str:
    """What tells one place from another."""
    number = 0
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        number = interpreters.get_current().id
    return f"pid={os.getpid()} thread={threading.get_ident()} loop={running_loop()} interpreter={number}"


def running_interpreters() -> list[int]:
    """The numbers of those in which something runs."""
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        return [interpreter.id for interpreter in interpreters.list_all() if interpreter.is_running()]
    return []


class _Notes(tx.Tool):
    def begin(self, gate: str, journal: str) -> None:
        """Come here inside whatever is to catch the interrupt: from now on it may arrive."""
        self.journal = Journal(journal)
        self.note("body")
        Gate(gate).arrive()

    def note(self, what: str) -> None:
        """What, where and when; the clock is the same in all processes."""
        self.journal.write(f"{what} {here()} at={time.monotonic()}")

    def on_cancel(self) -> None:
        self.note("hook")


class Notes(_Notes):
    """Says by what it was left."""

    name = "notes"

    def call(self, gate: str, journal: str) -> None:
        call = tx.current_call()
        assert call is not None
        try:
            with call.on_interrupt(lambda: self.note("callback")):
                self.begin(gate, journal)
                until = time.monotonic() + LONG_S
                while time.monotonic() < until:
                    time.sleep(0.005)
        except BaseException as exc:
            self.note(f"left:{type(exc).__name__}")
            raise
        self.note("left:nothing")


class ANotes(_Notes):
    """The same in a loop."""

    name = "anotes"

    async def call(self, gate: str, journal: str) -> None:
        call = tx.current_call()
        assert call is not None
        try:
            with call.on_interrupt(lambda: self.note("callback")):
                self.begin(gate, journal)
                await _sleep(LONG_S)
        except BaseException as exc:
            self.note(f"left:{type(exc).__name__}")
            raise
        self.note("left:nothing")


class Ignores(_Notes):
    """Catch whatever comes, and go on."""

    name = "ignores"

    def call(self, gate: str, journal: str) -> str:
        if threading.current_thread() is threading.main_thread():
            try:
                signal.signal(signal.SIGTERM, lambda *_: self.note("SIGTERM"))
            except ValueError:  # in an interpreter nothing is handled
                pass
        until = time.monotonic() + LONG_S
        begun = False
        while True:
            try:
                if not begun:
                    begun = True
                    self.begin(gate, journal)
                while time.monotonic() < until:
                    time.sleep(0.02)
                return "through"
            except BaseException:  # noqa: BLE001 - what nobody should write
                self.note("caught")


class AIgnores(_Notes):
    """The same in a loop."""

    name = "aignores"

    def __init__(self) -> None:
        self.running: Callable[[], bool]

    async def call(self, gate: str, journal: str) -> str:
        self.running = _task_running()
        self.begin(gate, journal)
        until = time.monotonic() + LONG_S
        while time.monotonic() < until:
            try:
                await _sleep(0.02)
            except BaseException:  # noqa: BLE001 - as above
                if running_loop() == "trio":  # which raises at every await from now on
                    with trio.CancelScope(shield=True):
                        await trio.sleep(until - time.monotonic())
        return "through"


class Hangs(Ignores):
    """Its hook hangs, for longer than any grace here."""

    name = "hangs"

    def on_cancel(self) -> None:
        super().on_cancel()
        time.sleep(LONG_S)


def _task_running() -> Callable[[], bool]:
    """Whether the task that this is called in still goes on, for another thread to ask."""
    if running_loop() == "trio":
        coroutine = trio.lowlevel.current_task().coro
        return lambda: inspect.getcoroutinestate(coroutine) != inspect.CORO_CLOSED
    task = asyncio.current_task()
    assert task is not None
    return lambda: not task.done()


async def _sleep(seconds: float) -> None:
    if running_loop() == "trio":
        await trio.sleep(seconds)
    else:
        await asyncio.sleep(seconds)
