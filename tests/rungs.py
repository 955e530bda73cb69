"""Tools that note what an interrupt does to them: in a module, so that every strategy can carry them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from typing import Any

import trio

import toolexec as tx
from toolexec.lowlevel import running_loop
from toolexec.testing import Gate, Journal

# Under sequential nothing ends a tool, so that it ends by itself.
_LONG_S = 2.0


def here() -> str:
    """What tells one place from another."""
    number = 0
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        number = interpreters.get_current().id
    return f"pid={os.getpid()} thread={threading.get_ident()} loop={running_loop()} interpreter={number}"


class _Notes(tx.Tool):
    def begin(self, gate: str, journal: str) -> None:
        self.journal = Journal(journal)
        self.journal.write(f"body {here()}")
        Gate(gate).arrive()

    def on_cancel(self) -> None:
        self.journal.write(f"hook {here()}")


class Notes(_Notes):
    """Says by what it was left."""

    name = "notes"

    def call(self, gate: str, journal: str) -> None:
        try:
            self.begin(gate, journal)
            until = time.monotonic() + _LONG_S
            while time.monotonic() < until:
                time.sleep(0.005)
        except BaseException as exc:
            self.journal.write(f"left {type(exc).__name__}")
            raise
        self.journal.write("left nothing")


class ANotes(_Notes):
    """The same in a loop."""

    name = "anotes"

    async def call(self, gate: str, journal: str) -> None:
        try:
            self.begin(gate, journal)
            await _sleep(_LONG_S)
        except BaseException as exc:
            self.journal.write(f"left {type(exc).__name__}")
            raise
        self.journal.write("left nothing")


@tx.tool
def ignores(gate: str, journal: str) -> str:
    """Catch whatever comes."""
    if threading.current_thread() is threading.main_thread() and os.getpid() != os.getppid():
        note: Any = lambda *_: Journal(journal).write("SIGTERM")  # noqa: E731 - a handler
        try:
            signal.signal(signal.SIGTERM, note)
        except ValueError:  # in an interpreter nothing is handled
            pass
    until = time.monotonic() + _LONG_S
    arrived = False
    while time.monotonic() < until:
        try:
            if not arrived:
                Gate(gate).arrive()
                arrived = True
            time.sleep(0.02)
        except BaseException:  # noqa: BLE001 - what nobody should write
            pass
    return "through"


@tx.tool
async def aignores(gate: str, journal: str) -> str:
    """The same in a loop."""
    until = time.monotonic() + _LONG_S
    Gate(gate).arrive()
    while time.monotonic() < until:
        try:
            await _sleep(0.02)
        except BaseException:  # noqa: BLE001 - as above
            pass
    return "through"


async def _sleep(seconds: float) -> None:
    if running_loop() == "trio":
        await trio.sleep(seconds)
    else:
        await asyncio.sleep(seconds)
