"""The control thread: posts in order, timers by time, and no fault of one ends the others."""

from __future__ import annotations

import logging
import queue
import threading
import time

import pytest

from toolexec._control import Control


def settle(control: Control) -> None:
    """Return when everything posted so far has run."""
    through = threading.Event()
    control.post(through.set)
    assert through.wait(10)


def test_what_is_posted_runs_in_order_on_one_other_thread() -> None:
    control, ran = Control(), list[tuple[int, int]]()
    for number in range(100):
        control.post(lambda number=number: ran.append((number, threading.get_ident())))  # type: ignore[misc]  # the default binds it now
    settle(control)

    assert list(range(100)) == [number for number, _ in ran]
    assert 1 == len({ident for _, ident in ran})
    assert threading.get_ident() != ran[0][1]


def test_only_one_thread_sits_there_however_many_post_first() -> None:
    control, idents = Control(), queue.SimpleQueue[int]()
    start = threading.Barrier(8)

    def poster() -> None:
        start.wait()
        control.post(lambda: idents.put(threading.get_ident()))

    posters = [threading.Thread(target=poster) for _ in range(8)]
    for thread in posters:
        thread.start()
    for thread in posters:
        thread.join()

    assert 1 == len({idents.get(timeout=10) for _ in posters})


def test_timers_fire_in_the_order_of_their_times_and_not_of_their_making() -> None:
    control, fired = Control(), queue.SimpleQueue[str]()
    now = time.monotonic()
    control.call_at(now + 0.06, lambda: fired.put("late"))
    control.call_at(now + 0.03, lambda: fired.put("early"))
    control.call_at(now - 1, lambda: fired.put("past"))

    assert ["past", "early", "late"] == [fired.get(timeout=10) for _ in range(3)]
    assert time.monotonic() >= now + 0.06


def test_timers_of_one_time_fire_in_the_order_of_their_making() -> None:
    control, fired = Control(), queue.SimpleQueue[int]()
    when = time.monotonic() + 0.02
    for number in range(20):
        control.call_at(when, lambda number=number: fired.put(number))  # type: ignore[misc]  # the default binds it now

    assert list(range(20)) == [fired.get(timeout=10) for _ in range(20)]


def test_a_cancelled_timer_never_fires_and_may_be_cancelled_again() -> None:
    control, fired = Control(), queue.SimpleQueue[str]()
    when = time.monotonic() + 0.02
    cancel = control.call_at(when, lambda: fired.put("cancelled"))
    control.call_at(when, lambda: fired.put("kept"))
    cancel()
    cancel()

    assert "kept" == fired.get(timeout=10)
    assert fired.empty()


def test_cancelled_timers_do_not_pile_up() -> None:
    """A server sets a timer per call and cancels nearly all of them."""
    control = Control()
    for _ in range(5000):
        control.call_at(time.monotonic() + 3600, lambda: None)()
    settle(control)

    assert len(control._timers._heap) < 1000


@pytest.mark.parametrize("way", ["post", "timer"])
def test_a_fault_is_logged_and_what_comes_after_still_runs(way: str, caplog: pytest.LogCaptureFixture) -> None:
    control = Control()

    def fault() -> None:
        raise ZeroDivisionError("engine's own")

    with caplog.at_level(logging.ERROR, "toolexec"):
        if way == "post":
            control.post(fault)
        else:
            control.call_at(time.monotonic(), fault)
        settle(control)
        settle(control)

    assert ["ZeroDivisionError"] == [
        record.exc_info[0].__name__ for record in caplog.records if record.exc_info and record.exc_info[0]
    ]


def test_it_knows_its_own_thread() -> None:
    control, seen = Control(), queue.SimpleQueue[bool]()
    control.post(lambda: seen.put(control.is_current()))

    assert seen.get(timeout=10)
    assert not control.is_current()


def test_nothing_that_ran_is_held_on_to() -> None:
    """The last closure would keep a call's arguments and result alive until the next one comes."""
    import weakref

    class Held: ...

    control, held = Control(), Held()
    gone = weakref.ref(held)
    control.post(lambda held=held: None)  # type: ignore[misc]  # the default binds it now
    settle(control)
    del held
    settle(control)

    assert None is gone()
