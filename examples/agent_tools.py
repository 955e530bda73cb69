"""Tools of the agents in agent_*.py, and the question that is asked before one that does harm."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import toolexec as tx


@tx.tool
def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text("utf-8")


@tx.tool
def wait_for_change(path: str) -> str:
    """Wait until a file is changed, however long that takes."""
    before = Path(path).stat().st_mtime_ns
    print(f"waiting for {path}; Ctrl-C stops that")
    while Path(path).stat().st_mtime_ns == before:
        time.sleep(0.05)
    return f"{path} was changed"


@tx.tool
def delete_file(path: str) -> None:
    """Delete a file."""
    Path(path).unlink()


TOOLS = [read_file, wait_for_change, delete_file]


def harmless(function: tx.Function) -> bool:
    """Whether a call may run without a question."""
    return function.name != "delete_file"


async def approve(function: tx.Function) -> bool:
    """Ask the user whether a call may run."""
    if harmless(function):
        return True
    question = f"\nMay I call {function.name} with {function.arguments}? [y/N] "
    # On a thread, so that other calls go on meanwhile.
    return (await asyncio.to_thread(input, question)).strip().lower() == "y"
