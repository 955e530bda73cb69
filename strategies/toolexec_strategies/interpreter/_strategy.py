"""Interpreter: each call in a warm subinterpreter, with its own modules and its own GIL."""

from __future__ import annotations

import logging
import sys
from typing import ClassVar

from toolexec import UnsendableError, WorkerLost
from toolexec.lowlevel import Job, Outcome, Strategy, usable_cpus
from toolexec_strategies._remote._carry import pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies._remote._wire import Garbled
from toolexec_strategies._workers import retire_idle, run_in_thread
from toolexec_strategies.interpreter._inside import WHERE
from toolexec_strategies.interpreter._pool import Pool
from toolexec_strategies.interpreter._worker import Interpreter

_log = logging.getLogger("toolexec")


class _Flight:
    """One job and the interpreter it runs in."""

    __slots__ = ("inside", "job", "left", "pool")

    def __init__(self, pool: Pool, job: Job) -> None:
        self.pool = pool
        self.job = job
        self.inside: Interpreter | None = None
        self.left = False

    def fly(self) -> None:
        """Run the call and deliver it; never raises."""
        try:
            self._fly()
        except Exception as exc:  # noqa: BLE001 - a fault of ours; whoever waits must not wait for ever
            error = WorkerLost(f"the interpreter strategy met an error of its own; please report it: {exc!r}")
            self.job.deliver(Outcome("lost", exception=error))
            _log.exception("toolexec: the interpreter strategy met an error of its own; please report it")

    def _fly(self) -> None:
        job = self.job
        try:
            payload = pack_request(job.parcel, "interpreter").payload
        except UnsendableError as exc:
            job.slot = None
            job.deliver(Outcome("unsendable", exception=exc))
            return
        if job.asked:
            job.slot = None
            job.deliver(job.stopped())
            return
        inside = self.inside = self.pool.take()
        try:
            inside.request(payload)
            del payload
            outcome = hear(job, inside.reader, WHERE)
            usable = not job.asked and not self.left
        except (EOFError, OSError, Garbled) as exc:
            usable = False
            why = str(exc) if isinstance(exc, Garbled) else inside.failure
            error = WorkerLost(f"the interpreter of tool {job.parcel.name!r} is lost: {why}")
            outcome = Outcome("lost", exception=error)
        job.slot = None  # or job and flight would keep each other, arguments and all
        # Before the delivery: the caller's next call shall find it.
        self.pool.put(inside, usable=usable)
        job.deliver(outcome)


class InterpreterStrategy(Strategy):
    """Run each call in a subinterpreter, of which warm ones are kept.

    Calls of Python code run in parallel there.  Unlike fork it is this very process: a crash or
    ``os._exit`` there ends it, and the working folder and C's environment are shared.  Modules are
    imported once per interpreter and keep their state from call to call.  Many extension modules
    (numpy, pydantic) refuse to be loaded there.  Experimental, as the interpreters themselves are:
    CPython 3.14 and 3.15 crash in the child of an ``os.fork()`` when any interpreter exists, so idle
    ones are closed before a fork, and a fork while a call runs here is logged.

    Cancellation: the body is only told.  One that goes on is left behind at the end of the grace,
    and its interpreter with it.

    Args:
        grace: Seconds from asking a call to stop to its Return.
        window: How many calls of one Group run at once, and how many idle interpreters are kept; by
            default the CPUs this process may use, and two at least.
    """

    name: ClassVar[str] = "interpreter"
    isolated: ClassVar[bool] = True

    def __init__(self, *, grace: float = 2.0, window: int | None = None) -> None:
        super().__init__(grace=grace, window=window)
        self._pool = Pool(self.window or 1)

    def _default_window(self) -> int | None:
        return max(2, usable_cpus())

    @classmethod
    def unavailable(cls) -> str | None:
        if sys.version_info >= (3, 14):
            return None
        return f"needs Python 3.14 or newer (this is {sys.version_info[0]}.{sys.version_info[1]})"

    def start(self, job: Job) -> None:
        flight = job.slot = _Flight(self._pool, job)
        run_in_thread(flight.fly)

    def leave(self, job: Job) -> None:
        flight = job.slot
        if isinstance(flight, _Flight):
            flight.left = True
            if flight.inside is not None:
                flight.pool.leave(flight.inside)

    def shutdown(self) -> None:
        self._pool.shut()
        retire_idle()

    def reset_after_fork(self) -> None:
        self._pool.forget()
        self._pool = Pool(self.window or 1)
