"""Interpreter: each call in a warm subinterpreter, with its own modules and its own GIL."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

from toolexec import UnsendableError, WorkerLost
from toolexec.lowlevel import Job, Outcome, Strategy, usable_cpus
from toolexec_strategies._remote._carried import Carried
from toolexec_strategies._remote._carry import pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies._remote._settings import current_folder
from toolexec_strategies._remote._wire import AskWords, Garbled
from toolexec_strategies._workers import retire_idle, run_in_thread
from toolexec_strategies.interpreter._inside import WHERE
from toolexec_strategies.interpreter._pool import Pool
from toolexec_strategies.interpreter._worker import Interpreter

_log = logging.getLogger("toolexec")


class _Flight:
    """One job and the interpreter it runs in."""

    __slots__ = ("inside", "job", "left", "strategy")

    def __init__(self, strategy: InterpreterStrategy, job: Job) -> None:
        self.strategy = strategy
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
        job, pool = self.job, self.strategy.pool
        try:
            payload = pack_request(job.to_send(), "interpreter", self.strategy.carried.values(job.context)).payload
        except UnsendableError as exc:
            job.slot = None
            job.deliver(Outcome("unsendable", exception=exc))
            return
        inside = pool.take()
        inside.calls += 1
        # The order is half of a handshake: whoever asks sets the flag first and looks for this then.
        self.inside = inside
        if job.asked:
            job.slot = None
            pool.put(inside, usable=True)  # it has not heard of this call, and takes no ask of it for the next
            job.deliver(job.stopped())
            return
        folder = current_folder()
        try:
            inside.request(payload)
            del payload
            outcome = hear(job, inside.reader, WHERE)
            most = self.strategy.calls_per_interpreter
            _, fit = inside.reader.frame()
            usable = bool(fit) and not self.left and (most is None or inside.calls < most)
        except (EOFError, OSError, Garbled) as exc:
            usable = False
            why = str(exc) if isinstance(exc, Garbled) else inside.failure
            error = WorkerLost(f"the interpreter of tool {job.parcel.name!r} is lost: {why}")
            outcome = Outcome("lost", exception=error)
        self.strategy.note_folder(job.parcel.name, folder)
        job.slot = None  # or job and flight would keep each other, arguments and all
        # Before the delivery: the caller's next call shall find it.
        pool.put(inside, usable=usable)
        job.deliver(outcome)

    def ask(self) -> None:
        """Have the call interrupted; one that has no interpreter yet looks at its flag once it has."""
        inside, call = self.inside, self.job.call
        if inside is not None:
            left = call.grace_left()
            inside.ask(AskWords(call.reason, call.asks[0].timeout, call.grace if left is None else left, inside.calls))

    def leave(self) -> None:
        """The call was left behind, and its interpreter with it."""
        self.left = True
        if self.inside is not None:
            self.strategy.pool.leave(self.inside)


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
        self._moved: list[bool] = []

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

    def ask(self, job: Job) -> None:
        if isinstance(job.slot, _Flight):
            job.slot.ask()

    def leave(self, job: Job) -> None:
        if isinstance(job.slot, _Flight):
            job.slot.leave()

    def note_folder(self, name: str, before: str | None) -> None:
        """Log, once, that the working folder, which is this whole process's, has changed during a call."""
        now = current_folder()
        if now != before and not self._moved:
            self._moved.append(True)
            _log.warning(
                "toolexec: the working folder changed from %r to %r while tool %r ran in an interpreter; it is this "
                "whole process's, and a tool there must not change it",
                before,
                now,
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
