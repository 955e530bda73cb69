"""What the host says of a call whose child ended without an answer."""

from __future__ import annotations

import os
import signal

from toolexec import WorkerLost
from toolexec.lowlevel import Outcome
from toolexec_strategies.fork._child import NO_WIRE
from toolexec_strategies.fork._limits import Limits


def ended(status: int, name: str, pid: int, limits: Limits) -> Outcome:
    """A child's end, by its wait status.

    Args:
        status: The wait status.
        name: The tool's name.
        pid: The child's.
        limits: What it was held to.
    """
    who = process_of(name, pid)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        why = limits.explain(number)
        if why is None and number == signal.SIGKILL:
            why = "perhaps because the system ran out of memory"
        how = _signal_name(number) if why is None else f"{_signal_name(number)}, {why}"
        return lost(f"{who} was ended by {how}", pid=pid, signal_number=number)
    code = os.waitstatus_to_exitcode(status)
    guess = " (perhaps because the tool closed a descriptor that is not its own)" if code == NO_WIRE else ""
    return lost(f"{who} exited with code {code} before it answered{guess}", pid=pid, exit_code=code)


def process_of(name: str, pid: int) -> str:
    """A child, in words."""
    return f"the process of tool {name!r} (pid {pid})"


def lost(
    message: str, *, pid: int | None = None, exit_code: int | None = None, signal_number: int | None = None
) -> Outcome:
    """A call whose worker was lost."""
    return Outcome("lost", exception=WorkerLost(message, pid=pid, exit_code=exit_code, signal=signal_number))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
