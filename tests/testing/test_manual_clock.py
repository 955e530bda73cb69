"""Time that moves when it is told to."""

from __future__ import annotations

import pytest

from toolexec import Clock
from toolexec.testing import ManualClock


def test_calls_run_in_the_order_of_their_times() -> None:
    """Each sees its own time on the clock, and those set on the way have their turn."""
    clock, seen = ManualClock(100), list[tuple[str, float]]()
    as_engine_sees_it: Clock = clock

    def note(label: str) -> None:
        seen.append((label, clock.now()))

    as_engine_sees_it.call_at(103, lambda: note("late"))
    as_engine_sees_it.call_at(101, lambda: clock.call_at(102, lambda: note("set on the way")))
    cancel = as_engine_sees_it.call_at(101, lambda: note("cancelled"))
    cancel()
    cancel()
    clock.advance(2)

    assert [("set on the way", 102)] == seen
    assert (102, 1) == (clock.now(), clock.timers)
    clock.advance(1)
    assert ("late", 103) == seen[-1]


def test_past_times_are_now() -> None:
    """Whoever asks too late is called at once."""
    clock, seen = ManualClock(5), list[float]()

    clock.call_at(5, lambda: seen.append(clock.now()))
    clock.call_at(1, lambda: seen.append(clock.now()))

    assert [5, 5] == seen


def test_time_never_goes_back() -> None:
    with pytest.raises(ValueError, match="never goes back"):
        ManualClock().advance(-1)


def test_waiting_for_timers_fails_with_words() -> None:
    with pytest.raises(TimeoutError, match="only 0 of 1 timers"):
        ManualClock().wait_for_timers(timeout=0.01)
