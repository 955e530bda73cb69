"""The tools that are interrupted: each shows that it runs, and then does what its name says."""

from __future__ import annotations

import socket
import time

import toolexec as tx
from toolexec.lowlevel import running_loop
from toolexec.testing import Gate


def _call() -> tx.CurrentCall:
    call = tx.current_call()
    assert call is not None
    return call


@tx.tool
def polls(gate: str) -> None:
    """Waits to be told, by itself."""
    Gate(gate).arrive()
    _call().wait_interrupted()
    tx.checkpoint()


@tx.tool
def sleeps(gate: str) -> None:
    """Sleeps in slices of 5 ms: on a thread an interrupt comes between two."""
    Gate(gate).arrive()
    while True:
        time.sleep(0.005)


@tx.tool
def busy(gate: str) -> None:
    """Counts."""
    Gate(gate).arrive()
    number = 0
    while True:
        number += 1


@tx.tool
def blocks(gate: str) -> None:
    """Blocks in a socket, which its callback shuts down."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _call().on_interrupt(lambda: ours.shutdown(socket.SHUT_RDWR)):
        Gate(gate).arrive()
        ours.recv(1)
    tx.checkpoint()


@tx.tool
def ignores(gate: str) -> None:
    """Catches whatever comes."""
    arrived = False
    while True:
        try:
            if not arrived:
                Gate(gate).arrive()
                arrived = True
            time.sleep(0.05)
        except BaseException:  # noqa: BLE001 - what is to be measured
            pass


@tx.tool
async def asleep(gate: str) -> None:
    """Sleeps in its loop."""
    Gate(gate).arrive()
    if running_loop() == "trio":
        import trio

        await trio.sleep_forever()
    else:
        import asyncio

        await asyncio.Event().wait()


@tx.tool
async def awaits(gate: str) -> None:
    """Waits to be told, in its loop."""
    Gate(gate).arrive()
    await _call().until_interrupted()
    tx.checkpoint()


@tx.tool
def hooked(gate: str) -> None:
    """Sleeps likewise, and has a hook."""
    Gate(gate).arrive()
    while True:
        time.sleep(0.005)


@hooked.on_interrupt
def _() -> None:
    """Does nothing: its own time would have to be taken off."""


@tx.tool
def nothing() -> None:
    """Does nothing."""


TOOLS = {
    "a tool that polls": polls,
    "a tool that sleeps": sleeps,
    "a tool that sleeps, with a hook": hooked,
    "a busy loop": busy,
    "a blocking call with a callback": blocks,
    "a tool that ignores it (grace)": ignores,
    "async, asks by itself": awaits,
    "async, sleeps": asleep,
}
