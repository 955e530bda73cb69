"""The no-op tool, plain and async; alone here, because forked children and interpreters import this module."""

from __future__ import annotations

import toolexec as tx


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers, without ever suspending."""
    return a + b


ADD = tx.tool(add)
ADD_ASYNC = tx.tool(add_async)
