"""Tools of web_service.py, one for each way to wait: for a database, for time to pass, for the CPU."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import tempfile
import uuid
from pathlib import Path
from typing import Any

import toolexec as tx

DATABASE = os.environ.get("DATABASE", ":memory:")
EVERY = 5_000_000  # steps of SQLite's machine, a tenth of a second or so


def query(sql: str) -> list[list[Any]]:
    """Ask the database in SQL; it may only be read."""
    call = tx.current_call()
    assert call is not None
    # check_same_thread: it is another thread that interrupts.
    with contextlib.closing(sqlite3.connect(DATABASE, check_same_thread=False)) as connection:
        connection.execute("PRAGMA query_only = ON")

        def report() -> bool:
            call.progress(0, message="still searching")
            return call.interrupted  # that ends the query; interrupt() does not end one that begins right after it

        connection.set_progress_handler(report, EVERY)
        with call.on_interrupt(connection.interrupt):
            try:
                return [list(row) for row in connection.execute(sql)]
            except sqlite3.OperationalError:
                call.checkpoint()  # by now it may be the interrupt's doing
                raise


async def remind(seconds: float) -> str:
    """Wait for some seconds."""
    await asyncio.sleep(seconds)
    return "It is time."


class Primes(tx.Tool):
    """Write all primes below a limit to a file."""

    name = "primes"
    file: Path | None = None

    def call(self, limit: int) -> str:
        self.file = Path(tempfile.gettempdir(), f"primes-{uuid.uuid4()}")
        with self.file.open("w") as file:
            for number in range(2, limit):
                if number % 1000 == 2:
                    tx.progress(number, limit, f"process {os.getpid()}")
                if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
                    print(number, file=file)
        return str(self.file)

    def on_cancel(self) -> None:
        """Leave no half of a file; told in the child process."""
        if self.file is not None:
            self.file.unlink(missing_ok=True)


def tools(threads: tx.Strategy, loop: tx.Strategy) -> list[Any]:
    """The tools: where each runs, and how many of its calls at once; those without a strategy, in the Context's."""
    return [tx.tool(strategy=threads, max_in_flight=8)(query), tx.tool(strategy=loop)(remind), Primes]
