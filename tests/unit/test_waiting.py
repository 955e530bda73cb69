"""Parking a thread or a task: no wake-up is lost, and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

from toolexec import MonotonicClock, WrongLoop
from toolexec._bell import Bell
from toolexec._clock import MONOTONIC
from toolexec._waiting import Wakers, apark, check_timeout, park, refuse_running_loop, wake_all

LOOPS: list[Any] = [pytest.param(asyncio.run, id="asyncio"), pytest.param(trio.run, id="trio")]


class StillClock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 100.0
        self.timers: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.time

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        timer = (when, call)
        self.timers.append(timer)
        return lambda: self.timers.remove(timer)

    def move(self, seconds: float) -> None:
        self.time += seconds
        for when, call in list(self.timers):
            if when <= self.time:
                call()


class Door:
    """Something that settles once, from any thread."""

    def __init__(self) -> None:
        self.open = False
        self.wakers: Wakers = []

    def settle(self) -> None:
        self.open = True
        wake_all(self.wakers)


def test_what_is_done_already_is_not_waited_for() -> None:
    wakers: Wakers = []
    park(wakers, lambda: True, StillClock(), None)

    assert [] == wakers


def test_a_settle_between_the_look_and_the_sleep_is_seen() -> None:
    """1. the waiter registers, 2. it looks, 3. somebody settles and wakes, 4. it sleeps: and must not."""
    door = Door()

    def looked() -> bool:
        if door.open:
            return True
        door.settle()
        return False

    park(door.wakers, looked, StillClock(), None)

    assert [] == door.wakers


def test_a_wake_up_that_was_for_somebody_else_is_slept_through() -> None:
    door, woken = Door(), threading.Event()
    looks: list[int] = []

    def looked() -> bool:
        looks.append(1)
        if len(looks) > 1:
            woken.set()
        return door.open

    waiter = threading.Thread(target=park, args=(door.wakers, looked, StillClock(), None))
    waiter.start()
    while not door.wakers:
        time.sleep(0)
    wake_all(door.wakers)
    assert woken.wait(10)
    assert waiter.is_alive()
    door.settle()
    waiter.join(10)

    assert not waiter.is_alive()


def test_the_time_limit_is_the_clocks() -> None:
    clock, door = StillClock(), Door()
    waiter = threading.Thread(target=park, args=(door.wakers, lambda: door.open, clock, 105.0))
    waiter.start()
    while not clock.timers:
        time.sleep(0)
    clock.move(4)
    assert waiter.is_alive()
    clock.move(1)
    waiter.join(10)

    assert not waiter.is_alive()
    assert ([], []) == (clock.timers, door.wakers)


def test_an_exception_in_the_wait_leaves_no_timer_and_no_waker() -> None:
    clock, wakers = StillClock(), list[Callable[[], object]]()

    def fault() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        park(wakers, fault, clock, 200.0)
    assert ([], []) == (clock.timers, wakers)


@pytest.mark.parametrize("run", LOOPS)
def test_a_task_is_woken_from_a_thread(run: Callable[[Any], object]) -> None:
    door = Door()

    async def main() -> None:
        thread = threading.Thread(target=door.settle)
        thread.start()
        await apark(door.wakers, lambda: door.open, StillClock(), None)
        thread.join()

    run(main) if run is trio.run else run(main())
    assert [] == door.wakers


@pytest.mark.parametrize("run", LOOPS)
def test_a_task_waits_no_longer_than_the_clock_says(run: Callable[[Any], object]) -> None:
    async def main() -> float:
        start = time.monotonic()
        await apark([], lambda: False, MONOTONIC, start + 0.03)
        return time.monotonic() - start

    took: Any = run(main) if run is trio.run else run(main())
    assert 0.03 <= took < 5


@pytest.mark.parametrize("run", LOOPS)
def test_a_bell_rung_before_anyone_waits_is_heard_and_more_rings_harm_nothing(run: Callable[[Any], object]) -> None:
    async def main() -> Bell:
        bell = Bell()
        bell.ring()
        bell.ring()
        await bell.wait()
        bell.ring()
        return bell

    bell: Any = run(main) if run is trio.run else run(main())
    bell.ring()  # its loop is gone, and nobody minds


def test_a_bell_needs_a_loop() -> None:
    with pytest.raises(RuntimeError, match="use the sync form"):
        Bell()


@pytest.mark.parametrize("run", LOOPS)
def test_blocking_a_loop_is_refused_and_the_await_form_named(run: Callable[[Any], object]) -> None:
    async def main() -> None:
        with pytest.raises(WrongLoop, match="await something"):
            refuse_running_loop("await something")

    run(main) if run is trio.run else run(main())
    refuse_running_loop("await something")


@pytest.mark.parametrize("timeout", [None, 0, 0.5, 3, float("inf")])
def test_seconds_are_a_timeout(timeout: float | None) -> None:
    check_timeout(timeout)


@pytest.mark.parametrize("timeout", [-0.1, float("nan"), "3", True, [1]])
def test_anything_else_is_none(timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout is"):
        check_timeout(timeout)


def test_the_monotonic_clock_goes_forward_and_calls_back() -> None:
    clock, called = MonotonicClock(), threading.Event()
    before = clock.now()
    clock.call_at(before + 0.01, called.set)

    assert called.wait(10)
    assert clock.now() >= before + 0.01
