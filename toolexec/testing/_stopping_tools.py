"""The tools that are asked to stop: some heed it, some answer it, some do not listen."""

from __future__ import annotations

import os
import sys
from typing import Any

import toolexec
from toolexec import CurrentCall
from toolexec.lowlevel import running_loop
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal

# Short beside any grace, and no load.
_LOOK_EVERY_S = 0.005


def current() -> CurrentCall:
    """The call that runs here."""
    call = toolexec.current_call()
    assert call is not None, "a body has no current call"
    return call


def heed_at(gate: str, label: str) -> str:
    """Arrive, wait until this call is asked to stop, and leave by a checkpoint."""
    Gate(gate).arrive(label)
    call = current()
    call.wait_interrupted()
    call.checkpoint()
    return "nobody asked"


async def aheed_at(gate: str, label: str) -> str:
    """:func:`heed_at` without blocking the loop."""
    Gate(gate).arrive(label)
    call = current()
    await call.until_interrupted()
    call.checkpoint()
    return "nobody asked"


def ignore_at(gate: str, label: str) -> str:
    """Stay at a gate until it is open, whatever is raised here."""
    try:
        Gate(gate).pass_through(label)
    except toolexec.Interrupt:
        Gate(gate).pass_through(f"{label} again")
    return "late"


async def aignore_at(gate: str, label: str) -> str:
    """:func:`ignore_at` without blocking the loop."""
    library: Any = sys.modules[running_loop() or "asyncio"]
    try:
        await Gate(gate).apass_through(label)
    except BaseException as exc:
        if isinstance(exc, Exception):
            raise
        Gate(gate).arrive(f"{label} again")
        if running_loop() == "trio":  # it raises at every await, and not once
            with library.CancelScope(shield=True):
                await Gate(gate).apass_through(label)
        # One that is left behind on a loop that goes on takes no further step, and keeps what it holds.
        while not Gate(gate).is_open:
            await library.sleep(_LOOK_EVERY_S)
    return "late"


@toolexec.tool
def heed(gate: str, label: str) -> str:
    """Arrive at a gate and go on until asked to stop."""
    return heed_at(gate, label)


@toolexec.tool
async def aheed(gate: str, label: str) -> str:
    """Arrive at a gate and go on until asked to stop."""
    return await aheed_at(gate, label)


@toolexec.tool
def clean_up(gate: str, label: str, then: str) -> str:
    """As ``heed``, but clean up, and then return or raise something else."""
    try:
        return heed_at(gate, label)
    except BaseException:  # noqa: BLE001 - a tool may answer an interrupt as it likes
        return _cleaned_up(then)


@toolexec.tool
async def aclean_up(gate: str, label: str, then: str) -> str:
    """As ``aheed``, but clean up, and then return or raise something else."""
    try:
        return await aheed_at(gate, label)
    except BaseException:  # noqa: BLE001 - see clean_up
        return _cleaned_up(then)


def _cleaned_up(then: str) -> str:
    if then == "raise":
        raise ValueError("while cleaning up")
    return "cleaned up"


@toolexec.tool
def return_when_asked(gate: str, label: str) -> str:
    """Return, the very moment it is asked to stop."""
    Gate(gate).arrive(label)
    current().wait_interrupted()
    return "returned"


@toolexec.tool
def ignore(gate: str, label: str) -> str:
    """Stay at a gate, whatever is raised here."""
    return ignore_at(gate, label)


@toolexec.tool
async def aignore(gate: str, label: str) -> str:
    """Stay at a gate, whatever is cancelled here."""
    return await aignore_at(gate, label)


@toolexec.tool(max_in_flight=1)
def ignore_alone(gate: str, label: str) -> str:
    """As ``ignore``, and nobody else may."""
    return ignore_at(gate, label)


@toolexec.tool
def ignore_and_say(gate: str, journal: str, label: str) -> str:
    """As ``ignore``, and write down in which process; and again should it come to its end."""
    Journal(journal).write(str(os.getpid()))
    late = ignore_at(gate, label)
    Journal(journal).write(late)
    return late


@toolexec.tool(max_in_flight=1)
def die_alone(dies: bool) -> str:
    """End the process, and nobody else may meanwhile; or do not."""
    if dies:
        os._exit(9)
    return "alive"


@toolexec.tool(max_in_flight=1, timeout=10)
def heed_alone(journal: str, gate: str, label: str) -> str:
    """As ``heed``, and nobody else may; write a line, and at no gate do nothing else."""
    Journal(journal).write(label)
    return heed_at(gate, label) if gate else label
