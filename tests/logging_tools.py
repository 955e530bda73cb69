"""Tools that log, and module-level logging set-up of the kinds that modules have; importable in a worker."""

from __future__ import annotations

import enum
import logging
import os
import sys
import threading
from contextvars import ContextVar
from typing import Any

import toolexec as tx

LOG = logging.getLogger("logging_tools.inner")
REQUEST: ContextVar[str] = ContextVar("request", default="none")


class Level(enum.IntEnum):
    NOTICE = 25


class Unpicklable:
    """Whose text is all that can travel."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __repr__(self) -> str:
        return "an unpicklable one"


class Marked(str):
    __slots__ = ()


@tx.tool
def log(level: int = logging.WARNING, text: str = "hello") -> int:
    LOG.log(level, "%s, %d", text, 42)
    return os.getpid()


@tx.tool
async def log_async() -> None:
    LOG.warning("from a coroutine")


@tx.tool
def log_error() -> None:
    try:
        os.environ["MISSING"]
    except KeyError:
        LOG.exception("it failed", stack_info=True)


@tx.tool
def log_odd() -> None:
    """Arguments and extras that cannot travel, a level that is an enum member, and a message that is no text."""
    LOG.log(
        Level.NOTICE,
        Unpicklable(),
        extra={"held": Unpicklable(), "data": {"a": [1, 2.5, None]}, "marked": Marked("text"), "flag": True},
    )


@tx.tool
def log_badly() -> str:
    """Arguments that do not fit."""
    LOG.warning("%d", "three", "four")  # noqa: PLE1205 - the point
    return "went on"


@tx.tool
def log_at_all_levels(names: list[str]) -> None:
    for name in names:
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger(name).log(level, "%s", logging.getLevelName(level))


@tx.tool
def log_much(count: int, threads: int) -> None:
    def run(number: int) -> None:
        for step in range(count):
            LOG.warning("%d %d %s", number, step, "x" * 1000)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for one in started:
        one.start()
    for one in started:
        one.join()


@tx.tool
def log_and_report() -> None:
    for number in range(3):
        LOG.warning("%d", number)
        tx.progress(number)


@tx.tool
def log_in_a_fork() -> int:
    """Have a process of the tool's own log."""
    pid = os.fork()
    if pid == 0:
        LOG.warning("from a fork of the tool")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@tx.tool
def log_from_inside(where: str) -> str:
    """Log, and have a call of its own log."""
    LOG.warning("outer")
    return tx.run(log, {"text": "inner"}, where).status


@tx.tool
def configure_and_log() -> None:
    """What a careless tool does."""
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    LOG.warning("configured by the tool")


class LogsWhenStopped(tx.Tool):
    """Its hook logs."""

    name = "logs-when-stopped"
    description = "Waits to be interrupted"

    def call(self, gate: Any) -> None:
        call = tx.current_call()
        assert call is not None
        gate.arrive()
        call.wait_interrupted(30)
        call.checkpoint()

    def on_interrupt(self) -> None:
        LOG.warning("told to stop")
