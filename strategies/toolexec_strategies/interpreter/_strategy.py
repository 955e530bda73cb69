"""Interpreter: each call in a warm subinterpreter, with its own modules and its own GIL."""

from __future__ import annotations

import sys
import threading
import time
from typing import ClassVar

from toolexec import UnsendableError, WorkerLost
from toolexec.lowlevel import Job, Outcome, Strategy, usable_cpus
from toolexec_strategies._remote._carry import pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies._remote._wire import Garbled
from toolexec_strategies._workers import run_in_thread
from toolexec_strategies.interpreter._inside import WHERE
from toolexec_strategies.interpreter._worker import Interpreter

# How long closing waits for interpreters to end; an idle one takes a few milliseconds, one that a
# tool is stuck in is left to the end of the process.
_END_S = 2.0

# In a forked copy of the host there are no other interpreters any more: letting the handles go
# would have them destroyed once more.  So they are kept.
_forgotten: list[Interpreter] = []


class _Flight:
    """One job and the interpreter it runs in."""

    __slots__ = ("job", "left", "strategy")

    def __init__(self, strategy: InterpreterStrategy, job: Job) -> None:
        self.strategy = strategy
        self.job = job
        self.left = False

    def fly(self) -> None:
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
        inside = self.strategy.take()
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
        self.strategy.put(inside, usable=usable)
        job.deliver(outcome)


class InterpreterStrategy(Strategy):
    """Run each call in a subinterpreter, of which warm ones are kept.

    Calls of Python code run in parallel there.  Unlike fork it is this very process: a crash or
    ``os._exit`` there ends it, and the working folder and C's environment are shared.  Modules are
    imported once per interpreter and keep their state from call to call.  Many extension modules
    (numpy, pydantic) refuse to be loaded there.  Experimental, as the interpreters themselves are.

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
        self._forget_all()

    def _default_window(self) -> int | None:
        return max(2, usable_cpus())

    @classmethod
    def unavailable(cls) -> str | None:
        if sys.version_info >= (3, 14):
            return None
        return f"needs Python 3.14 or newer (this is {sys.version_info[0]}.{sys.version_info[1]})"

    def start(self, job: Job) -> None:
        flight = job.slot = _Flight(self, job)
        run_in_thread(flight.fly)

    def leave(self, job: Job) -> None:
        flight = job.slot
        if isinstance(flight, _Flight):
            flight.left = True

    def shutdown(self) -> None:
        with self._guard:
            live, idle = list(self._live_ones), list(self._idle)
            self._idle.clear()
            self._shut = True
        for inside in live:
            inside.end()
        deadline = time.monotonic() + _END_S
        for inside in live:
            inside.gone.wait(max(0.0, deadline - time.monotonic()))
        for inside in idle:
            inside.release()

    def reset_after_fork(self) -> None:
        live = list(self._live_ones)
        self._forget_all()
        for inside in live:
            inside.forget()
        _forgotten.extend(live)

    def take(self) -> Interpreter:
        """An interpreter for one call; on a worker thread."""
        with self._guard:
            if self._idle:
                return self._idle.pop()  # the one used last is the warmest
            inside = Interpreter()
            self._live_ones.add(inside)
            return inside

    def put(self, inside: Interpreter, *, usable: bool) -> None:
        """Give one back after its call."""
        with self._guard:
            if usable and not self._shut and len(self._idle) < (self.window or 1):
                self._idle.append(inside)
                return
            self._live_ones.discard(inside)
        inside.release()

    def _forget_all(self) -> None:
        self._guard = threading.Lock()  # only ever taken on worker threads and by shutdown
        self._idle: list[Interpreter] = []
        self._live_ones: set[Interpreter] = set()
        self._shut = False
