"""FakeStrategy: nothing happens to a call until the test makes it happen."""

from __future__ import annotations

import queue
from typing import Any, ClassVar, NamedTuple

from toolexec import Strategy
from toolexec.lowlevel import Job, Outcome, Progress

# As for gates: far more than a step of a test takes.
_TIMEOUT_S = 20.0


class FakeJob:
    """One call that was started, in the test's hands.

    Attributes:
        job: What the strategy was given.
        asks: How often the strategy was told to interrupt it.
        stops: How often to stop it by force.
        kills: How often to kill it.
        left: Whether it was left behind.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.asks = 0
        self.stops = 0
        self.kills = 0
        self.left = False

    @property
    def id(self) -> str | None:
        """The call's id."""
        return self.job.parcel.id

    def begin(self) -> bool:
        """Say that the body begins; False when the call was asked to stop before."""
        return self.job.begin()

    def progress(self, done: float, total: float | None = None, message: str | None = None, data: Any = None) -> None:
        """Report progress as from the body."""
        self.job.report(Progress(done, total, message, data))

    def succeed(self, value: Any = None) -> None:
        """Deliver a value."""
        self.job.deliver(Outcome("ok", value))

    def fail(self, exc: BaseException) -> None:
        """Deliver what the body raised."""
        self.job.deliver(self.job.failed(exc))

    def stop(self) -> None:
        """Deliver that the call ended because it was asked to."""
        self.job.deliver(self.job.stopped())

    def deliver(self, outcome: Outcome) -> None:
        """Deliver anything at all; also a second time."""
        self.job.deliver(outcome)


class Sign(NamedTuple):
    """One thing the engine told the strategy about a call: ``ask``, ``stop``, ``kill`` or ``leave``."""

    kind: str
    job: FakeJob


class FakeStrategy(Strategy):
    """Takes calls and does nothing with them; the test begins, reports and delivers, in its own order.

    Args:
        grace: As for every strategy.
        window: As for every strategy.
        killable: What ``kill`` answers.

    Attributes:
        jobs: Every call that was started, in order.
    """

    name: ClassVar[str] = "fake"

    def __init__(self, *, grace: float = 2.0, window: int | None = None, killable: bool = False) -> None:
        super().__init__(grace=grace, window=window)
        self.killable = killable
        self.jobs: list[FakeJob] = []
        self._arrivals: queue.SimpleQueue[FakeJob] = queue.SimpleQueue()
        self._signs: queue.SimpleQueue[Sign] = queue.SimpleQueue()

    # For the test

    def next_job(self, *, timeout: float = _TIMEOUT_S) -> FakeJob:
        """Block until the next call is started, and give it.

        Raises:
            TimeoutError: None was.
        """
        try:
            return self._arrivals.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no further call was started within {timeout:g} s; {len(self.jobs)} were") from None

    def next_sign(self, *, timeout: float = _TIMEOUT_S) -> Sign:
        """Block until the engine says the next thing about a call in flight, and give it.

        Raises:
            TimeoutError: It said nothing.
        """
        try:
            return self._signs.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"the engine asked nothing of any call within {timeout:g} s") from None

    # For the engine

    def start(self, job: Job) -> None:
        """Keep the call for the test."""
        fake = job.slot = FakeJob(job)
        self.jobs.append(fake)
        self._arrivals.put(fake)

    def ask(self, job: Job) -> None:
        """Keep that an interrupt was to be delivered."""
        job.slot.asks += 1
        self._signs.put(Sign("ask", job.slot))

    def stop(self, job: Job) -> None:
        """Keep that the call was to be stopped."""
        job.slot.stops += 1
        self._signs.put(Sign("stop", job.slot))

    def kill(self, job: Job) -> bool:
        """Keep that the call was to be killed."""
        job.slot.kills += 1
        self._signs.put(Sign("kill", job.slot))
        return self.killable

    def leave(self, job: Job) -> None:
        """Keep that the call was left behind."""
        job.slot.left = True
        self._signs.put(Sign("leave", job.slot))
