"""The tools that are called; alone here, because forked children and interpreters import this module."""

from __future__ import annotations

import asyncio
import time

import toolexec as tx
from toolexec.lowlevel import running_loop


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers, without ever suspending."""
    return a + b


async def add_suspending(a: int, b: int) -> int:
    """Add two numbers, after letting other tasks run once."""
    await asyncio.sleep(0)
    return a + b


def rest(a: int, b: int) -> int:
    """Sleep for 50 ms, then add two numbers."""
    time.sleep(0.05)
    return a + b


async def rest_async(a: int, b: int) -> int:
    """Sleep in the running loop for 50 ms, then add two numbers."""
    if running_loop() == "trio":
        import trio

        await trio.sleep(0.05)
    else:
        await asyncio.sleep(0.05)
    return a + b


def fibonacci(n: int) -> int:
    """Compute, in pure Python."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def make(size: int) -> bytes:
    """Give that many bytes."""
    return b"x" * size


ADD = tx.tool(add)
ADD_ASYNC = tx.tool(add_async)
ADD_SUSPENDING = tx.tool(add_suspending)
REST = tx.tool(rest)
# A deadline each, which none comes near.
REST_ASYNC = tx.tool(timeout=30)(rest_async)
FIBONACCI = tx.tool(fibonacci)
MAKE = tx.tool(make)
