"""The tools whose time is limited."""

from __future__ import annotations

import sys
from typing import Any

import toolexec
from toolexec.lowlevel import running_loop
from toolexec.testing._gate import Gate
from toolexec.testing._stopping_tools import aheed_at, current, heed_at


@toolexec.tool(timeout=10)
def heed_for_ten(gate: str, label: str) -> str:
    """Go on until asked to stop, for ten seconds at the most."""
    return heed_at(gate, label)


@toolexec.tool(timeout=10)
async def aheed_for_ten(gate: str, label: str) -> str:
    """Go on until asked to stop, for ten seconds at the most."""
    return await aheed_at(gate, label)


@toolexec.tool(timeout=10)
def pass_in_ten(gate: str, label: str) -> str:
    """Pass a gate within ten seconds."""
    Gate(gate).pass_through(label)
    return label


@toolexec.tool(idle_timeout=10)
def report_then_heed(gate: str, label: str) -> str:
    """Report once the gate is open; then go on in silence."""
    return _report_then_heed(gate, label)


@toolexec.tool(idle_timeout=10, timeout=15)
def report_then_heed_for_fifteen(gate: str, label: str) -> str:
    """As ``report_then_heed``, and for fifteen seconds in all."""
    return _report_then_heed(gate, label)


def _report_then_heed(gate: str, label: str) -> str:
    Gate(gate).pass_through(label)
    call = current()
    call.progress(1)
    call.wait_interrupted()
    call.checkpoint()
    return "nobody asked"


@toolexec.tool
def time_out_itself() -> None:
    """Raise a TimeoutError that is the tool's own."""
    raise TimeoutError("the database did not answer")


@toolexec.tool
async def atime_out_itself() -> None:
    """Let a limit of the tool's own pass, as the loop here has it."""
    library: Any = sys.modules[running_loop() or "asyncio"]
    if running_loop() == "trio":
        with library.fail_after(0):
            await library.sleep_forever()
    async with library.timeout(0):
        await library.Event().wait()
