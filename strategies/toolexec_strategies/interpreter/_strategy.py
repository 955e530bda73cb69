"""Interpreter: each call in a warm subinterpreter, with its own modules and its own GIL."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

from toolexec.lowlevel import Job, Strategy, usable_cpus
from toolexec_strategies._remote._carried import Carried
from toolexec_strategies._remote._settings import current_folder
from toolexec_strategies._workers import retire_idle, run_in_thread
from toolexec_strategies.interpreter._flight import Flight
from toolexec_strategies.interpreter._pool import Pool

_log = logging.getLogger("toolexec")


class InterpreterStrategy(Strategy):
    """Run each call in a subinterpreter, of which warm ones are kept.

    Calls of Python code run in parallel there.  Unlike fork it is this very process: a crash or
    ``os._exit`` there ends it, and the working folder and C's environment are shared.  Modules are
    imported once per interpreter and keep their state from call to call.  Many extension modules
    (numpy, pydantic) refuse to be loaded there.  Experimental, as the interpreters themselves are:
    CPython 3.14 and 3.15 crash in the child of an ``os.fork()`` when any interpreter exists, so idle
    ones are closed before a fork, and a fork while a call runs here is logged.

    Cancellation: the tool's hook runs there, and then ``Interrupt`` is raised in the body by a thread
    of the same interpreter; a body blocked in C code sees it only when that returns.  One that goes on
    is left behind at the end of the grace, and its interpreter with it.  On CPython 3.14 one in which
    an Interrupt was raised serves no other call: a lock of its may have stayed taken.

    Args:
        grace: Seconds from asking a call to stop to its Return.
        window: How many calls of one Group run at once, and how many idle interpreters are kept; by
            default the CPUs this process may use, and two at least.
        calls_per_interpreter: How many calls an interpreter may serve; None for any number.
        carry: Context variables that go along: those that are set where a call is submitted are set
            alike where it runs.  They have to be globals of importable modules, and their values have to
            be fit for pickling.  What a tool sets does not come back.
    """

    name: ClassVar[str] = "interpreter"
    isolated: ClassVar[bool] = True

    def __init__(
        self,
        *,
        grace: float = 2.0,
        window: int | None = None,
        calls_per_interpreter: int | None = None,
        carry: Sequence[ContextVar[Any]] = (),
    ) -> None:
        super().__init__(grace=grace, window=window)
        self.calls_per_interpreter = _check_calls(calls_per_interpreter)
        self.carried = Carried(carry)
        self.pool = Pool(self.window or 1)
        self._noted: set[str] = set()

    def _default_window(self) -> int | None:
        return max(2, usable_cpus())

    @classmethod
    def unavailable(cls) -> str | None:
        if sys.version_info >= (3, 14):
            return None
        return f"needs Python 3.14 or newer (this is {sys.version_info[0]}.{sys.version_info[1]})"

    def start(self, job: Job) -> None:
        flight = job.slot = Flight(self, job)
        run_in_thread(flight.fly)

    def ask(self, job: Job) -> None:
        if isinstance(job.slot, Flight):
            job.slot.ask()

    def leave(self, job: Job) -> None:
        if isinstance(job.slot, Flight):
            job.slot.leave()

    def moved(self, name: str, before: str | None) -> None:
        """Log, once, that the working folder, which is this whole process's, has changed during a call."""
        now = current_folder()
        if now != before and "folder" not in self._noted:
            self._noted.add("folder")
            _log.warning(
                "toolexec: the working folder changed from %r to %r while tool %r ran in an interpreter; it is this "
                "whole process's, and a tool there must not change it",
                before,
                now,
                name,
            )

    def environment_changed(self, name: str) -> None:
        """Log, once, that a tool has changed the environment, which in C is this whole process's."""
        if "environment" not in self._noted:
            self._noted.add("environment")
            _log.warning(
                "toolexec: tool %r changed os.environ in an interpreter; programs that this whole process starts may "
                "find it changed, and a tool there must not change it",
                name,
            )

    def shutdown(self) -> None:
        self.pool.shut()
        retire_idle()

    def reset_after_fork(self) -> None:
        self.pool.forget()
        self.pool = Pool(self.window or 1)


def _check_calls(count: object) -> int | None:
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ValueError(
            f"calls_per_interpreter is {count!r}: it takes a whole number of calls, 1 or more, or None for any"
        )
    return count
