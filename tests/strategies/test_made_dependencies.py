"""Dependencies that are made for every call: where its body runs, right before it."""

from __future__ import annotations

import functools
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

import injected_tools as tools
import toolexec as tx
from cases.case_tools import ALL

ISOLATED = ("fork", "interpreter")


@pytest.fixture(params=ALL)
def strategy(request: pytest.FixtureRequest) -> Iterator[tx.Strategy]:
    with tx.strategy(request.param, grace=1.0) as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def made_in(log: Path) -> dict[Any, Any]:
    return {tools.Made: tx.factory(functools.partial(tools.Made, str(log)))}


TOOLS = [tools.uses, tools.auses, tools.parts_of, tools.aparts_of, tools.Uses]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_it_is_made_on_the_thread_and_in_the_loop_of_the_body_once_for_each_call(
    tool: Any, strategy: tx.Strategy, log: Path
) -> None:
    ctx = tx.Context([tool], deps=made_in(log), strategy=strategy)
    assert not log.exists()
    ctx.receive([{"id": str(n), "name": tool.name, "arguments": {"a": n}} for n in range(3)])

    assert [[0, True], [1, True], [2, True]] == [list(ret.unwrap()) for ret in ctx.wait()]
    places = log.read_text().splitlines()
    assert 3 == len(places)
    if strategy.name != "sequential":
        assert not [place for place in places if place.startswith(f"({os.getpid()}, {threading.get_ident()},")]


def test_what_only_its_own_thread_may_use_can_be_used(strategy: tx.Strategy) -> None:
    """A connection of sqlite3 checks that, and can be neither shared nor sent."""
    ctx = tx.Context([tools.query], deps={sqlite3.Connection: tx.factory(tools.connect)}, strategy=strategy)
    ctx.receive([{"name": "query", "arguments": {"number": n}} for n in range(3)])

    assert [0, 2, 4] == [ret.unwrap() for ret in ctx.wait()]


def test_a_function_without_a_name_or_an_annotation_makes_it_too(strategy: tx.Strategy) -> None:
    ctx = tx.Context(
        [tools.query], deps={sqlite3.Connection: tx.factory(lambda: sqlite3.connect(":memory:"))}, strategy=strategy
    )
    ctx.receive([{"name": "query", "arguments": {"number": 4}}])

    assert [8] == [ret.unwrap() for ret in ctx.wait()]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_where_making_it_fails_that_is_what_the_call_raised(tool: Any, strategy: tx.Strategy) -> None:
    ctx = tx.Context(
        [tool, tools.query],
        deps={tools.Made: tx.factory(tools.refuse), sqlite3.Connection: tx.factory(tools.connect)},
        strategy=strategy,
    )
    ctx.receive([{"name": tool.name, "arguments": {"a": 1}}, {"name": "query", "arguments": {"number": 1}}])
    failed, fine = ctx.wait()

    assert ("raised", "ConnectionError", "no route") == (failed.status, failed.value["type"], failed.value["message"])
    assert 1 == failed.attempts
    assert 2 == fine.value


def test_a_call_that_does_not_fit_makes_nothing(strategy: tx.Strategy, log: Path) -> None:
    ctx = tx.Context([tools.uses], deps=made_in(log), strategy=strategy)
    ctx.receive([{"name": "uses", "arguments": {"a": "x"}}, {"name": "uses", "arguments": {"a": 1, "made": {}}}])

    assert ["bad_arguments"] * 2 == [ret.status for ret in ctx.wait()]
    assert not log.exists()


@pytest.mark.parametrize("strategy", [name for name in ISOLATED if name in ALL], indirect=True)
def test_a_dependency_that_cannot_travel_is_refused_before_there_is_a_worker(strategy: tx.Strategy) -> None:
    ctx = tx.Context([tools.wants_lock], deps={tools.Locked: tools.Locked()}, strategy=strategy)
    before = workers()
    (ret,) = ctx.receive([{"name": "wants_lock"}]).wait()

    assert before == workers()
    assert "unsendable" == ret.status
    for words in (
        f"the {strategy.name} strategy cannot carry the dependency 'locked', of type injected_tools.Locked, of tool",
        "'wants_lock' (",
        "attribute 'lock', of type _thread.lock",
        "give Context(deps=...) a toolexec.factory(make), which makes it in the worker, or use the thread strategy",
    ):
        assert words in ret.value["message"]


def workers() -> list[Any]:
    """Children and interpreters of this process."""
    children = [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        return [*children, *(one.id for one in interpreters.list_all())]
    return children


def test_what_makes_it_in_a_coroutine_is_refused_at_once() -> None:
    async def make() -> tools.Made:
        raise AssertionError

    with pytest.raises(tx.DeclarationError, match=r"deps: what makes .*Made.* is async; it takes a plain function"):
        tx.Context(deps={tools.Made: tx.factory(make)})


class Search(tx.Tool):
    name = "inner-search"

    def call(self) -> str:
        return "found"


@tx.tool
def outer(search: Annotated[Search, tx.Inject]) -> str:
    return search.call()


def test_a_class_that_is_a_tool_itself_may_be_a_dependency() -> None:
    for made in (tx.factory(Search), tx.factory(lambda: Search(), tool=Search)):  # noqa: PLW0108 - no class by itself
        assert "found" == tx.Context([outer], deps={Search: made}).receive([{"name": "outer"}]).call()[0].value


def test_a_dependency_that_is_never_a_tool_shows_what_makes_it() -> None:
    def make() -> Any:
        raise AssertionError("made to be shown")

    assert "make at 0x" in repr(tx.factory(make))
