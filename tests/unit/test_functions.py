"""Functions: several calls together, in call order, told apart by identity."""

from __future__ import annotations

import threading

import pytest

import toolexec as tx


@tx.tool
def echo(n: int) -> int:
    return n


def received(*ids: str | None) -> tx.Functions:
    calls = [{"id": own, "name": "echo", "arguments": {"n": n}} for n, own in enumerate(ids)]
    return tx.Context([echo]).receive(calls)


def test_it_is_a_sequence_and_falsy_when_there_are_no_calls() -> None:
    fns = received("a", "b", "c")

    assert ["a", "b", "c"] == [fn.id for fn in fns]
    assert (3, "b", "c") == (len(fns), fns[1].id, fns[-1].id)
    assert fns
    assert not received()


def test_a_slice_keeps_the_methods() -> None:
    rest = received("a", "b", "c")[1:]

    assert isinstance(rest, tx.Functions)
    assert [1, 2] == [ret.value for ret in rest.wait("sequential")]


def test_leaving_some_out_goes_by_identity_and_not_by_id() -> None:
    """Two calls that share an id are equal, and still two calls."""
    fns = received("same", "same", "c")
    assert fns[0] == fns[1]

    left = fns.except_(fns[0])

    assert [1, 2] == [ret.value for ret in left.wait("sequential")]
    assert [True, False, False] == [fn.pending for fn in fns]


def test_anc_S10_subtraction_keeps_the_methods() -> None:
    fns = received("a", "b", "c")
    left = fns - fns[:1] - [fns[2]]

    assert [1] == [ret.value for ret in left.call()]
    assert [] == list(fns - fns)


def test_only_what_is_pending_is_started_and_all_is_answered() -> None:
    fns = received("a", "b", "c")
    fns[0].cancel("not this one")
    fns[1].call()

    first, second, third = fns.wait("sequential")

    assert ("cancelled", "not this one") == (first.status, first.reason)
    assert (1, 2) == (second.value, third.value)
    assert [first, second, third] == list(fns.wait())
    assert 0 == len(fns.group())


def test_waiting_includes_calls_that_another_group_has_in_flight() -> None:
    gate = threading.Event()

    @tx.tool
    def hold(n: int) -> int:
        gate.wait()
        return n

    ctx = tx.Context([hold, echo])
    calls = [{"id": name, "name": name, "arguments": {"n": 1}} for name in ("hold", "echo")]
    fns = ctx.receive(calls)
    first = fns[:1].group("thread")

    with pytest.raises(tx.WaitTimeout) as caught:
        fns.wait("thread", timeout=0.01)
    assert ("hold",) == caught.value.unsettled

    gate.set()
    assert [1, 1] == [ret.value for ret in fns.wait()]
    assert not first.alive


@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", True])
def test_a_timeout_that_is_no_number_of_seconds_is_refused_before_anything_starts(timeout: float) -> None:
    fns = received("a")

    with pytest.raises(ValueError, match="timeout is"):
        fns.wait("sequential", timeout=timeout)
    assert fns[0].pending


@pytest.mark.parametrize("window", [0, -1, 1.5, True])
def test_C12_a_window_that_lets_nothing_start_is_refused_before_anything_starts(window: int) -> None:
    fns = received("a")

    with pytest.raises(ValueError, match="window is"):
        fns.wait("sequential", window=window)
    assert fns[0].pending


def test_polling_starts_the_calls_and_does_not_wait_for_them() -> None:
    fns = received("a", "b")

    with pytest.raises(tx.WaitTimeout) as caught:
        fns.wait("sequential", timeout=0)
    assert ("a", "b") == caught.value.unsettled
    assert [False, False] == [fn.pending for fn in fns]
