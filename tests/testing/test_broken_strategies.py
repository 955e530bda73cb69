"""The suite finds what is wrong with a strategy that does not keep its promises."""

from __future__ import annotations

import threading
import types
from typing import ClassVar

import pytest

from toolexec import Strategy
from toolexec.lowlevel import Job, Outcome
from toolexec.testing import CHECKS, Check, Harness, run_check, run_suite

BY_NAME = {check.__name__: check for check in CHECKS}


class Thread(Strategy):
    """What is right, as plain as it gets; the broken ones change one step."""

    name: ClassVar[str] = "broken"

    def start(self, job: Job) -> None:
        threading.Thread(target=self.work, args=(job,), daemon=True).start()

    def work(self, job: Job) -> None:
        job.finish(self.body(job) if job.begin() else job.stopped())

    def body(self, job: Job) -> Outcome:
        outcome = job.body()
        assert isinstance(outcome, Outcome)
        return outcome


class NeverBegins(Thread):
    def work(self, job: Job) -> None:
        job.deliver(self.body(job))


class RunsTwice(Thread):
    def body(self, job: Job) -> Outcome:
        super().body(job)
        return super().body(job)


class HidesFailures(Thread):
    def body(self, job: Job) -> Outcome:
        outcome = super().body(job)
        return Outcome("ok") if outcome.status == "raised" else outcome


class CallsTheBodyItself(Thread):
    def body(self, job: Job) -> Outcome:
        assert job.entry is not None
        try:
            value = job.entry(*job.parcel.args, **job.parcel.kwargs)
            if isinstance(value, types.CoroutineType):
                value.close()  # or Python would warn of it
            return Outcome("ok", value)
        except Exception as exc:  # noqa: BLE001 - as somebody might write it
            return job.failed(exc)


class RunsOnTheCallersThread(Thread):
    def start(self, job: Job) -> None:
        self.work(job)


class SwapsItsName(Thread):
    name: ClassVar[str] = "another"


class IgnoresItsWindow(Thread):
    def __init__(self, *, grace: float = 2.0, window: int | None = None) -> None:
        super().__init__(grace=grace)


class RunsAfterClose(Thread):
    @property
    def closed(self) -> bool:
        return False


CAUGHT = {
    NeverBegins: ["check_value"],
    RunsTwice: ["check_each_body_once", "check_awaitable_results_are_awaited", "check_wait_again"],
    HidesFailures: ["check_failure", "check_base_exception", "check_traced_once"],
    CallsTheBodyItself: [
        "check_async_tool",
        "check_generator_tool",
        "check_awaitable_results_are_awaited",
        "check_context_variables",
    ],
    RunsOnTheCallersThread: ["check_where_sync_bodies_run"],
    SwapsItsName: ["check_value", "check_says_whether_isolated"],
    IgnoresItsWindow: ["check_own_window", "check_window_has_to_let_something_through"],
    RunsAfterClose: ["check_close", "check_close_unused", "check_with_strategy"],
}
CASES = [(cls, BY_NAME[name]) for cls, names in CAUGHT.items() for name in names]


@pytest.mark.parametrize(("cls", "check"), CASES, ids=lambda part: part.__name__)
def test_caught(cls: type[Strategy], check: Check) -> None:
    """The promise that it breaks is the one that says so."""
    with Harness("broken", cls, home="thread") as harness, pytest.raises(AssertionError):
        # Whether calls that may overlap do so is up to the scheduler; a window ignored shows in most rounds.
        for _ in range(20):
            run_check(harness, check)


def test_suite_names_every_broken_promise() -> None:
    """All of them, not only the first; and the right one of the same shape passes."""
    some = [BY_NAME[name] for name in ("check_value", "check_failure", "check_system_exit")]
    with pytest.raises(ExceptionGroup) as broken:
        run_suite(Harness("broken", HidesFailures, home="thread"), some)

    notes = [exc.__notes__ for exc in broken.value.exceptions]
    assert ["check_failure, waiting under sync"] in notes
    assert ["check_system_exit, waiting under trio"] in notes
    assert 6 == len(notes)

    assert {} == run_suite(Harness("broken", Thread, home="thread"), some)
