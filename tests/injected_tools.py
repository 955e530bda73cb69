"""Tools whose parameters the engine fills, for workers to find by name."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from asyncio import get_running_loop
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
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


class Made:
    """Knows where it was made: the thread, and the loop that ran there."""

    def __init__(self, log: str) -> None:
        self.where = here()
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{self.where}\n")


def here() -> tuple[int, int, int]:
    """The process, the thread, and the loop if one runs."""
    loop: object = None
    with suppress(RuntimeError):
        loop = get_running_loop()
    trio = sys.modules.get("trio")  # where nobody has imported it, it runs no loop
    if trio is not None and trio.lowlevel.in_trio_run():
        loop = trio.lowlevel.current_trio_token()
    return os.getpid(), threading.get_ident(), id(loop)


Injected = Annotated[Made, tx.Inject]


@tx.tool
def uses(a: int, made: Injected) -> tuple[int, bool]:
    """Whether it was made here."""
    return a, made.where == here()


@tx.tool
async def auses(a: int, made: Injected) -> tuple[int, bool]:
    """The same, async."""
    return a, made.where == here()


@tx.tool
def parts_of(a: int, made: Injected) -> Iterator[Any]:
    """The same, in parts."""
    yield a
    yield made.where == here()


@tx.tool
async def aparts_of(a: int, made: Injected) -> AsyncIterator[Any]:
    """The same, in parts and async."""
    yield a
    yield made.where == here()


class Uses(tx.Tool):
    """The same, as an object that can be called."""

    name = "uses-class"

    def call(self, made: Injected, /, *, a: int) -> tuple[int, bool]:
        return a, made.where == here()


@tx.tool
def query(database: Annotated[sqlite3.Connection, tx.Inject], number: int) -> int:
    """Asks a connection that only its own thread may use."""
    with closing(database):
        value: int = database.execute("select ? * 2", (number,)).fetchone()[0]
    return value


def connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def refuse() -> Made:
    raise ConnectionError("no route")
