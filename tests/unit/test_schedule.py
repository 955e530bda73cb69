"""Which calls may start now: windows, limits and barriers, as pure bookkeeping."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from toolexec._schedule import Entry, Limit, Window, resource_limit


def window_of(
    items: str,
    *,
    window: int | None = None,
    limits: dict[str, Sequence[Limit]] | None = None,
    exclusive: str = "",
) -> tuple[Window[str], dict[str, Entry[str]]]:
    entries = {item: Entry(item, None, (limits or {}).get(item, ()), exclusive=item in exclusive) for item in items}
    return Window(entries.values(), {None: window}), entries


def names(entries: Sequence[Entry[str]]) -> str:
    return "".join(entry.item for entry in entries)


def test_without_limits_all_start_in_call_order() -> None:
    calls, _ = window_of("abcd")

    assert "abcd" == names(calls.take())
    assert "" == names(calls.take())


def test_a_window_lets_as_many_start_and_one_more_for_each_that_settles() -> None:
    calls, entry = window_of("abcd", window=2)

    assert "ab" == names(calls.take())
    assert "c" == names(calls.settle(entry["b"]))
    assert "d" == names(calls.settle(entry["a"]))


def test_each_strategy_has_its_own_window() -> None:
    entries = [Entry(item, key, ()) for item, key in [("a", "t"), ("b", "t"), ("c", "f"), ("d", "t"), ("e", "f")]]
    calls = Window(entries, {"t": 1, "f": 1})

    assert "ac" == names(calls.take())
    assert "b" == names(calls.settle(entries[0]))
    assert "e" == names(calls.settle(entries[2]))


def test_a_call_that_waits_for_a_limit_takes_no_place_in_the_window() -> None:
    limit = Limit(1)
    calls, entry = window_of("abc", window=2, limits={"a": [limit], "b": [limit]})

    assert "ac" == names(calls.take())
    assert "b" == names(calls.settle(entry["a"]))


def test_a_limit_spans_windows_and_serves_the_first_come_first() -> None:
    limit = Limit(1)
    first, one = window_of("a", limits={"a": [limit]})
    second, two = window_of("b", limits={"b": [limit]})
    third, _ = window_of("c", limits={"c": [limit]})

    assert ("a", "", "") == (names(first.take()), names(second.take()), names(third.take()))
    assert "b" == names(first.settle(one["a"]))
    assert "c" == names(second.settle(two["b"]))


def test_all_limits_are_taken_together_or_none() -> None:
    """A call that held one while it waits for another could wait for ever."""
    left, right = Limit(1), Limit(1)
    calls, entry = window_of("abc", limits={"a": [left], "b": [left, right], "c": [right]})

    assert "ac" == names(calls.take())
    assert "" == names(calls.settle(entry["c"]))
    assert (1, 0) == (left.held, right.held)
    assert "b" == names(calls.settle(entry["a"]))


def test_a_barrier_waits_for_what_is_before_it_and_holds_up_what_is_behind() -> None:
    calls, entry = window_of("abXcd", exclusive="X")

    assert "ab" == names(calls.take())
    assert "" == names(calls.settle(entry["a"]))
    assert "X" == names(calls.settle(entry["b"]))
    assert "cd" == names(calls.settle(entry["X"]))


def test_a_barrier_waits_for_a_call_before_it_that_has_not_even_started() -> None:
    limit = Limit(1)
    other, theirs = window_of("o", limits={"o": [limit]})
    other.take()
    calls, entry = window_of("aX", limits={"a": [limit]}, exclusive="X")

    assert "" == names(calls.take())
    assert "a" == names(other.settle(theirs["o"]))
    assert "X" == names(calls.settle(entry["a"]))


def test_two_barriers_in_a_row_go_one_by_one() -> None:
    calls, entry = window_of("XY", exclusive="XY")

    assert "X" == names(calls.take())
    assert "Y" == names(calls.settle(entry["X"]))


def test_a_call_that_settles_without_having_started_gives_way() -> None:
    """Interrupted in the queue: it held nothing, and what waited behind it may go on."""
    calls, entry = window_of("aXb", exclusive="X")
    calls.take()

    assert "b" == names(calls.settle(entry["X"]))
    assert "" == names(calls.settle(entry["X"]))


def test_settling_twice_gives_nothing_back_twice() -> None:
    limit = Limit(1)
    calls, entry = window_of("abc", window=1, limits={"a": [limit]})
    calls.take()

    assert "b" == names(calls.settle(entry["a"]))
    assert "" == names(calls.settle(entry["a"]))
    assert 0 == limit.held


def test_one_resource_is_one_limit_of_one() -> None:
    assert resource_limit("test-db") is resource_limit("test-db") is not resource_limit("test-disk")
    assert 1 == resource_limit("test-db").capacity


Lines = list[tuple[Window[Any], list[Entry[Any]], int | None]]


def random_lines(rng: random.Random, limits: Sequence[Limit]) -> Lines:
    lines: Lines = []
    for number in range(rng.randint(1, 4)):
        window = rng.choice([None, 1, 2, 5])
        entries = [
            Entry((number, place), None, rng.sample(limits, rng.choice([0, 0, 1, 2])), exclusive=rng.random() < 0.1)
            for place in range(rng.randint(1, 12))
        ]
        lines.append((Window(entries, {None: window}), entries, window))
    return lines


def check(lines: Lines, limits: Sequence[Limit], running: list[Entry[Any]], unsettled: list[Entry[Any]]) -> None:
    """No bound is exceeded, and nothing passes a barrier in either direction."""
    for limit in limits:
        assert sum(limit in entry.limits for entry in running) == limit.held <= limit.capacity
    for line, entries, window in lines:
        mine = [entry for entry in running if entry.window is line]
        assert window is None or len(mine) <= window
        for entry in mine:
            before = entries[: entries.index(entry)]
            ahead = before if entry.exclusive else [other for other in before if other.exclusive]
            assert not [other for other in ahead if other in unsettled]
            assert not entry.exclusive or [entry] == mine


@pytest.mark.parametrize("seed", range(150))
def test_the_model(seed: int) -> None:
    """Random lines over shared limits: every bound holds at every step, and all start in the end."""
    rng = random.Random(seed)
    limits = [Limit(rng.randint(1, 3)) for _ in range(3)]
    lines = random_lines(rng, limits)
    unsettled = [entry for _, entries, _ in lines for entry in entries]
    running: list[Entry[Any]] = []
    for line, _, _ in lines:
        running += line.take()
        check(lines, limits, running, unsettled)

    while unsettled:
        waiting = [entry for entry in unsettled if entry not in running]
        interrupted = waiting and rng.random() < 0.1
        assert interrupted or running, "nothing runs, and something waits for ever"
        entry = rng.choice(waiting if interrupted else running)
        unsettled.remove(entry)
        if entry in running:
            running.remove(entry)
        running += entry.window.settle(entry)
        assert len(running) == len(set(running))
        check(lines, limits, running, unsettled)

    assert [0, 0, 0] == [limit.held for limit in limits]
    assert [set(), set(), set()] == [limit.waiting for limit in limits]
