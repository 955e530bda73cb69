"""Limits of time, by a clock that is moved by hand: what starts them, which one counts, what ends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from toolexec._control import CONTROL
from toolexec._outcome import Outcome
from toolexec._time_limits import NO_LIMITS, TimeLimits
from toolexec.testing import FakeJob, FakeStrategy, ManualClock

GRACE = 2.0


@tx.tool
def free() -> None: ...


@tx.tool(timeout=10)
def in_ten() -> None: ...


@tx.tool(idle_timeout=5)
def not_idle() -> None: ...


@tx.tool(timeout=12, idle_timeout=5)
def neither() -> None: ...


class Fake:
    """One call in a fake strategy, begun or not."""

    def __init__(
        self, tool: Any, *, timeout: float | None = None, group: float | None = None, clock: ManualClock | None = None
    ) -> None:
        self.clock = ManualClock() if clock is None else clock
        self.strategy = FakeStrategy(grace=GRACE)
        context = tx.Context([tool], strategy=self.strategy, clock=self.clock)
        if group is None:
            self.task = context.submit({"id": "c", "name": tool.name}, timeout=timeout)
        else:
            (self.task,) = context.receive([{"id": "c", "name": tool.name}]).group(timeout=group).tasks
        self.job: FakeJob = self.strategy.next_job()

    def begin(self) -> Fake:
        assert self.job.begin()
        return self

    def stopped(self) -> tx.Return:
        """Wait for the engine to ask, end the call for that reason, and give its Return."""
        assert "ask" == self.strategy.next_sign().kind
        self.job.stop()
        return self.task.wait()

    @property
    def deadline(self) -> float | None:
        return self.job.job.call.deadline


def test_a_calls_clock_starts_with_its_body() -> None:
    fake = Fake(in_ten)
    assert (0, None) == (fake.clock.timers, fake.deadline)
    fake.clock.advance(100)
    fake.begin()
    assert (1, 110) == (fake.clock.timers, fake.deadline)
    fake.clock.advance(9.99)
    assert not fake.job.job.asked
    fake.clock.advance(0.01)

    ret = fake.stopped()
    assert ("timeout", 100, 10) == (ret.status, ret.queued_s, ret.duration_s)
    assert "the tool's time limit of 10 s is over" == str(ret.exception) == ret.value["message"]
    assert 0 == fake.clock.timers


@pytest.mark.parametrize(
    ("limits", "whose", "over"),
    [
        ({"timeout": 4}, "call", 4),
        ({"timeout": 10}, "tool", 10),
        ({"timeout": 40}, "tool", 10),
        ({"group": 4}, "group", 4),
        ({"group": 40}, "tool", 10),
    ],
)
def test_the_nearest_wins_and_names_itself(limits: dict[str, Any], whose: str, over: float) -> None:
    fake = Fake(in_ten, **limits).begin()
    assert over == fake.deadline
    fake.clock.advance(over)

    assert f"the {whose}'s time limit of {over:g} s is over" == str(fake.stopped().exception)


def test_a_group_counts_from_its_start_for_calls_that_wait_as_well() -> None:
    clock = ManualClock()
    with FakeStrategy(grace=GRACE) as strategy:
        context = tx.Context([free], strategy=strategy, clock=clock)
        group = context.receive([{"name": "free"}] * 3).group(timeout=10, window=1)
        first = strategy.next_job()
        assert first.begin()
        clock.advance(6)
        first.succeed("done")
        second = strategy.next_job()
        assert 10 == second.job.call.deadline
        assert second.begin()
        clock.advance(4)
        second.stop()
        rets = group.wait()

    assert ["ok", "timeout", "timeout"] == [ret.status for ret in rets]
    assert [1, 1, 0] == [ret.attempts for ret in rets]
    assert 0 == clock.timers


def test_a_group_that_is_through_leaves_no_timer() -> None:
    fake = Fake(free, group=10).begin()
    assert 1 == fake.clock.timers
    fake.job.succeed()
    fake.task.wait()

    assert 0 == fake.clock.timers


def test_progress_starts_the_idle_limit_anew() -> None:
    fake = Fake(not_idle).begin()
    for done in range(4):
        fake.clock.advance(4)
        fake.job.progress(done)
    fake.clock.advance(4.99)
    assert not fake.job.job.asked
    fake.clock.advance(0.01)

    assert "the tool's idle limit of 5 s is over: no progress for that long" == str(fake.stopped().exception)


def test_progress_does_not_move_the_limit_in_all() -> None:
    fake = Fake(neither).begin()
    for done in range(3):
        fake.clock.advance(4)
        fake.job.progress(done)

    assert "the tool's time limit of 12 s is over" == str(fake.stopped().exception)


def test_what_came_first_is_what_counts() -> None:
    """An interrupt stays one when a limit passes during its grace, and the other way round."""
    interrupted = Fake(in_ten).begin()
    interrupted.clock.advance(9)
    interrupted.task.interrupt("enough")
    interrupted.clock.wait_for_timers(4)
    interrupted.clock.advance(1)
    assert ("cancelled", "enough") == (interrupted.stopped().status, interrupted.task.wait().reason)

    late = Fake(in_ten).begin()
    late.clock.advance(10)
    late.task.interrupt("enough")
    assert "timeout" == late.stopped().status


def test_a_value_that_comes_after_the_limit_is_dropped() -> None:
    fake = Fake(in_ten).begin()
    fake.clock.advance(10)
    fake.job.succeed("too late")
    ret = fake.task.wait()

    assert ("timeout", "DeadlineExceeded") == (ret.status, ret.value["type"])
    assert isinstance(ret.exception, tx.DeadlineExceeded)
    assert ret.exception.__cause__ is None


def test_what_a_body_raises_after_the_limit_is_its_cause() -> None:
    fake, raised = Fake(in_ten).begin(), ValueError("while cleaning up")
    fake.clock.advance(10)
    fake.job.fail(raised)
    ret = fake.task.wait()

    assert isinstance(ret.exception, tx.DeadlineExceeded)
    assert raised is ret.exception.__cause__


def test_one_that_goes_on_is_left_behind_and_says_so() -> None:
    fake = Fake(in_ten).begin()
    fake.clock.advance(10)
    fake.clock.wait_for_timers(3)
    fake.clock.advance(GRACE)
    ret = fake.task.wait()

    assert ("timeout", True, True) == (ret.status, ret.abandoned, ret.value["abandoned"])
    assert ret.error
    assert not ret.cancelled


class HastyClock(ManualClock):
    """Its time moves on by ``GRACE`` right after the first timer that is set once it is in haste."""

    in_haste = False

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        cancel = super().call_at(when, call)
        if self.in_haste:
            self.in_haste = False
            self.advance(GRACE)
        return cancel


def test_the_rungs_of_a_ladder_count_from_one_moment() -> None:
    clock = HastyClock()
    fake = Fake(free, clock=clock).begin()
    clock.in_haste = True

    fake.task.interrupt("enough")
    CONTROL.catch_up()

    assert not fake.task.alive
    assert fake.task.wait().abandoned


def test_a_timeout_error_of_the_tools_is_no_limit() -> None:
    fake = Fake(in_ten).begin()
    fake.job.fail(TimeoutError("the database"))

    assert ("raised", "the database") == (fake.task.wait().status, fake.task.wait().value["message"])


@pytest.mark.parametrize("seconds", [0, -1, True, float("inf"), float("nan"), "1", [1]])
def test_a_limit_is_a_number_of_seconds_above_zero(seconds: Any) -> None:
    functions = tx.Context([free], strategy="thread").receive([{"name": "free"}])
    uses: list[Any] = [
        lambda: functions.group(timeout=seconds),
        lambda: functions[0].task(timeout=seconds),
        lambda: tx.run(free, timeout=seconds),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=r"timeout is .* it takes seconds, more than zero, or None for no limit"):
            use()
    assert functions[0].pending

    for option in ("timeout", "idle_timeout"):
        with pytest.raises(tx.DeclarationError, match=f"tool 'free': {option} is"):
            tx.tool(**{option: seconds})(free.__wrapped__)


def test_the_smaller_of_two_limits_of_a_call() -> None:
    assert TimeLimits(3, None, "call") == NO_LIMITS.or_call(3)
    assert TimeLimits(3, 1, "call") == TimeLimits(5, 1).or_call(3)
    assert TimeLimits(5, 1) == TimeLimits(5, 1).or_call(8)
    assert NO_LIMITS is NO_LIMITS.or_call(None)


def test_of_two_who_settle_past_the_first_look_one_counts() -> None:
    fake = Fake(free).begin()
    fake.task._come_to(Outcome("ok", "first"))
    fake.task._come_to(Outcome("ok", "second"))

    assert "first" == fake.task.wait().value
    assert [fake.task] == fake.task._group._finished
