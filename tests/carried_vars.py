"""Context variables, and tools that look at them; importable in a worker."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any

import toolexec as tx

USER: ContextVar[str] = ContextVar("user")
TENANT: ContextVar[Any] = ContextVar("tenant", default="nobody")
# Its own name leads nowhere; the name it has here does.
LOCALE: ContextVar[str] = ContextVar("the locale", default="C")


class Setting:
    """A value with a class of its own."""

    def __init__(self, level: int) -> None:
        self.level = level


@tx.tool
def seen() -> list[Any]:
    return [USER.get("unset"), TENANT.get(), LOCALE.get()]


@tx.tool
async def seen_async() -> list[Any]:
    return [USER.get("unset"), TENANT.get(), LOCALE.get()]


@tx.tool
def change() -> str:
    USER.set("changed by the tool")
    return USER.get()


@tx.tool
def same(argument: Any) -> bool:
    """Whether what came as an argument is what was carried, and of the class that the module has."""
    return argument is TENANT.get() and type(argument) is Setting


class SaysWho(tx.Tool):
    """Its hook sees what its body does."""

    name = "says-who"
    description = "Waits to be interrupted"

    def call(self, gate: Any) -> str:
        told = threading.Event()
        self.told = told
        self.user = ""
        try:
            gate.arrive("waiting")
            told.wait(30)
        except tx.Interrupt:
            pass
        told.wait(30)
        return self.user

    def on_interrupt(self) -> None:
        self.user = USER.get("unset")
        self.told.set()
