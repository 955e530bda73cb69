"""One job and the interpreter it runs in."""

from __future__ import annotations

import logging
from typing import Protocol

from toolexec import UnsendableError, WorkerLost
from toolexec.lowlevel import Job, Outcome
from toolexec_strategies._remote._carried import Carried
from toolexec_strategies._remote._carry import pack_request
from toolexec_strategies._remote._hear import hear
from toolexec_strategies._remote._settings import current_folder
from toolexec_strategies._remote._wire import AskWords, Garbled
from toolexec_strategies.interpreter._inside import AFTERWARDS, WHERE
from toolexec_strategies.interpreter._pool import Pool
from toolexec_strategies.interpreter._worker import Interpreter

_log = logging.getLogger("toolexec")


class Owner(Protocol):
    """What a flight has to know of its strategy."""

    pool: Pool
    carried: Carried
    calls_per_interpreter: int | None

    def moved(self, name: str, before: str | None) -> None:
        """The working folder was ``before`` when this tool began."""

    def environment_changed(self, name: str) -> None:
        """This tool changed the environment."""


class Flight:
    """Runs one job on the thread that calls :meth:`fly`; others may ask it to stop, or give it up."""

    __slots__ = ("_number", "_owner", "_seat", "inside", "job")

    def __init__(self, owner: Owner, job: Job) -> None:
        self.job = job
        self.inside: Interpreter | None = None
        self._owner = owner
        self._number = 0  # which of its interpreter's calls it is
        self._seat = [1]  # whoever pops it decides what becomes of the interpreter: the call's end, or who gives it up

    def fly(self) -> None:
        """Run the call and deliver it; never raises."""
        try:
            self._fly()
        except Exception as exc:  # noqa: BLE001 - a fault of ours; whoever waits must not wait for ever
            error = WorkerLost(f"the interpreter strategy met an error of its own; please report it: {exc!r}")
            self.job.deliver(Outcome("lost", exception=error))
            _log.exception("toolexec: the interpreter strategy met an error of its own; please report it")

    def ask(self) -> None:
        """Have the call interrupted; one that has no interpreter yet looks at its flag once it has."""
        inside, call = self.inside, self.job.call
        if inside is not None:
            left = call.grace_left()
            inside.ask(self._words(call.grace if left is None else left))

    def leave(self) -> None:
        """The call is left behind, and its interpreter with it."""
        inside = self.inside
        if self._land() and inside is not None:
            if self.job.asked:  # which without a grace nobody has told it; a body that waits for that ends then
                inside.ask(self._words(0.0, left=True))
            self._owner.pool.leave(inside)

    def _words(self, grace: float, *, left: bool = False) -> AskWords:
        call = self.job.call
        return AskWords(call.reason, call.asks[0].timeout, grace, self._number, left)

    def _land(self) -> bool:
        try:
            self._seat.pop()
        except IndexError:
            return False
        return True

    def _fly(self) -> None:
        job, owner = self.job, self._owner
        try:
            packed = [pack_request(job.to_send(), "interpreter", owner.carried.values(job.context)).payload]
        except UnsendableError as exc:
            job.slot = None
            job.deliver(Outcome("unsendable", exception=exc))
            return
        inside = owner.pool.take()
        inside.calls += 1
        self._number = inside.calls
        # The order is half of a handshake: whoever asks sets the flag first and looks for this then.
        self.inside = inside
        if job.asked:
            fit, outcome = True, job.stopped()  # it has heard nothing of this call but perhaps the ask
        else:
            fit, outcome = self._call(inside, packed)
        job.slot = None  # or job and flight would keep each other, arguments and all
        most = owner.calls_per_interpreter
        landed = self._land()
        # Before the delivery: the caller's next call shall find it.
        owner.pool.put(inside, usable=landed and fit and (most is None or inside.calls < most))
        if landed:  # or whoever gave it up delivers that it was left behind, as it has logged
            job.deliver(outcome)

    def _call(self, inside: Interpreter, packed: list[bytes]) -> tuple[bool, Outcome]:
        job, owner = self.job, self._owner
        folder = current_folder()
        try:
            inside.request(packed.pop())  # nobody holds it any more while the call runs
            outcome = hear(job, inside.reader, WHERE)
            fit, environment_changed = AFTERWARDS.unpack(inside.reader.frame()[1])
        except (EOFError, OSError, Garbled) as exc:
            why = str(exc) if isinstance(exc, Garbled) else inside.failure
            error = WorkerLost(f"the interpreter of tool {job.parcel.name!r} is lost: {why}")
            return False, Outcome("lost", exception=error)
        owner.moved(job.parcel.name, folder)
        if environment_changed:
            owner.environment_changed(job.parcel.name)
        return fit, outcome
