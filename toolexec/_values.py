"""The value of a body: awaited where it is awaitable, collected where it comes in parts."""

from __future__ import annotations

import types
from typing import Any

from toolexec._call_state import CallState, Progress


async def settle_value(value: Any, call: CallState) -> Any:
    """Await ``value`` until it is no longer awaitable; an async generator's value is the list of its parts."""
    while True:
        kind = _type_of(value)
        if kind is types.AsyncGeneratorType:
            return await _acollect(value, call)
        if not hasattr(kind, "__await__"):
            return value
        value = await value


def collect(parts: Any, call: CallState) -> list[Any]:
    """Run a generator through: each part is a report of progress, the value is the list of parts."""
    collected: list[Any] = []
    try:
        for part in parts:
            collected.append(part)
            call.report(Progress(len(collected), data=part))
    finally:
        # An interrupt may land out here, between two parts: the generator's own ``finally`` still runs.
        parts.close()
    return collected


async def _acollect(parts: Any, call: CallState) -> list[Any]:
    collected: list[Any] = []
    try:
        async for part in parts:
            collected.append(part)
            call.report(Progress(len(collected), data=part))
    finally:
        await parts.aclose()
    return collected


def _type_of(value: object) -> type[object]:
    return type(value)
