"""The registry: one weak, locked list for finding tools by name."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import toolexec as tx
from toolexec._registry import Registry


@pytest.fixture(autouse=True)
def empty_registry() -> Iterator[None]:
    """The list is the process's: leave it as it was found."""
    before = dict(Registry._entries)
    tx.Tool.clear_registry()
    yield
    Registry._entries.clear()
    Registry._entries.update(before)


def test_anc_T1_T2_named_subclasses_are_listed_in_the_order_of_their_definition() -> None:
    class Second(tx.Tool):
        name = "b"

    class Unnamed(tx.Tool):
        """An intermediate class, which no model could call."""

    class Inherits(Second):
        """Its name is its parent's."""

    class First(Unnamed):
        name = "a"

    assert [Second, First] == tx.Tool.registry()
    assert Inherits not in tx.Tool.registry()


def test_anc_T4_a_tool_is_found_by_name_or_not_at_all() -> None:
    class Here(tx.Tool):
        name = "here"

    assert Here is tx.Tool.find_by_name("here") is tx.Function.find_by_name("here")
    assert None is tx.Tool.find_by_name("gone")
    assert Here is tx.Tool.find_by_name("here", strict=True)
    with pytest.raises(tx.NoSuchToolError, match="no tool named 'gone' is registered; these are: here"):
        tx.Tool.find_by_name("gone", strict=True)


def test_a_later_tool_of_the_same_name_replaces_the_earlier() -> None:
    first, second = tx.Function("t"), tx.Function("t")
    tx.Function.register(first)

    assert second is tx.Function.register(second)
    assert [second] == tx.Function.registry()


def test_anc_T3_unregistering_gives_the_tool_back_and_is_harmless_twice() -> None:
    there, never = tx.Function.register(tx.Function("t")), tx.Function("t")

    assert never is tx.Function.unregister(never)
    assert [there] == tx.Function.registry()
    assert there is tx.Function.unregister(there)
    assert there is tx.Function.unregister(there)
    assert [] == tx.Function.registry()


def test_clearing_takes_classes_and_functions_alike() -> None:
    class Here(tx.Tool):
        name = "here"

    kept = tx.Function.register(tx.Function("fn"))
    tx.Function.clear_registry()

    assert [] == tx.Tool.registry()
    assert kept.name == "fn"


def test_it_keeps_no_tool_alive() -> None:
    tx.Function.register(tx.Function("short-lived"))
    gc.collect()

    assert None is tx.Function.find_by_name("short-lived")
    assert [] == tx.Function.registry()


def test_a_thing_without_a_name_cannot_be_registered() -> None:
    with pytest.raises(ValueError, match="no name"):
        tx.Tool.register(object())


def test_anc_T5_many_threads_may_change_it_at_once() -> None:
    functions = [tx.Function(f"t{number}") for number in range(200)]
    start = threading.Barrier(4)
    lost: list[BaseException] = []

    def work(mine: list[tx.Function]) -> None:
        try:
            start.wait()
            for function in mine:
                tx.Function.register(function)
                tx.Function.registry()
        except BaseException as exc:  # noqa: BLE001 - shown by the main thread
            lost.append(exc)

    threads = [threading.Thread(target=work, args=(functions[part::4],)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == lost
    assert {function.name for function in functions} == {found.name for found in tx.Function.registry()}


def test_the_lock_is_reentrant_and_holds_others_off() -> None:
    other_is_through = threading.Event()

    def register() -> None:
        tx.Function.register(function)
        other_is_through.set()

    function = tx.Function("t")
    other = threading.Thread(target=register)
    with tx.Tool.lock():
        other.start()
        assert [] == tx.Tool.registry()
        assert not other_is_through.is_set()
    other.join()

    assert [function] == tx.Tool.registry()
