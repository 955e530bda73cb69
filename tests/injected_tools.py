"""Tools whose parameters the engine fills, for workers to find by name."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import toolexec as tx


@dataclass
class Settings:
    region: str


class Locked:
    """Something that cannot leave its process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@tx.tool
def tells(call: tx.CurrentCall, /, a: int, *, settings: Annotated[Settings, tx.Inject]) -> dict[str, Any]:
    """Uses what it is given."""
    call.progress(1, 2, "half")
    mine = call == tx.current_call()
    return {"a": a, "id": call.id, "mine": mine, "region": settings.region, "pid": os.getpid()}


@tx.tool
async def atells(*, call: tx.CurrentCall, a: int) -> dict[str, Any]:
    """The same, async."""
    return {"a": a, "id": call.id, "mine": call == tx.current_call()}


@tx.tool
def wants_context(ctx: tx.Context) -> str:
    """Takes what stays in the host."""
    return repr(ctx)


@tx.tool
def wants_tracer(tracer: tx.Tracer | None = None) -> str:
    """Takes what stays in the host."""
    return repr(tracer)


@tx.tool
def wants_lock(locked: Annotated[Locked, tx.Inject]) -> str:
    """Takes what cannot be pickled."""
    return repr(locked)
