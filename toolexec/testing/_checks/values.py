"""What a body returns is the call's value, whatever kind of body it is."""

from __future__ import annotations

import functools
from collections.abc import Awaitable
from typing import Any

import toolexec
from toolexec import Progress
from toolexec.testing import _tools as tools
from toolexec.testing._harness import Harness
from toolexec.testing._journal import Journal
from toolexec.testing._needs import about_the_body


def check_value(harness: Harness) -> None:
    """The Return has the value, and says what it answers and where it ran."""
    (ret,) = harness.run([tools.add], [("add", {"a": 2, "b": 3})])

    assert (ret.id, ret.name, ret.value, ret.status) == ("c0", "add", 5, "ok"), ret
    assert (ret.ok, ret.error, ret.cancelled, ret.abandoned) == (True, False, False, False), ret
    assert (ret.strategy, ret.attempts) == (harness.name, 1), ret
    assert ret.queued_s >= 0 and ret.duration_s >= 0, ret
    assert ret.unwrap() == 5


@about_the_body
def check_defaults(harness: Harness) -> None:
    """What the model leaves out is filled from the signature; arguments may come as text."""
    returns = harness.run([tools.add], [("add", {"a": 2}), ("add", '{"a": 3}')])

    assert [ret.value for ret in returns] == [3, 4], returns


@about_the_body
def check_none(harness: Harness) -> None:
    """None is a value like any other."""
    (ret,) = harness.run([tools.nothing], [("nothing", None)])

    assert (ret.value, ret.status) == (None, "ok"), ret


@about_the_body
def check_status_never_comes_from_the_value(harness: Harness) -> None:
    """A tool may return what an error form looks like."""
    (ret,) = harness.run([tools.looks_failed], [("looks_failed", None)])

    assert ret.ok and ret.value["error"] is True, ret


def check_async_tool(harness: Harness) -> None:
    """An async body runs under every strategy."""
    (ret,) = harness.run([tools.aadd], [("aadd", {"a": 2, "b": 3})])

    assert (ret.value, ret.status) == (5, "ok"), ret


def check_sync_and_async_tools_mix(harness: Harness) -> None:
    """Both kinds may stand in one Group."""
    calls = [("add", {"a": 1}), ("aadd", {"a": 2}), ("add", {"a": 3}), ("aadd", {"a": 4})]
    returns = harness.run([tools.add, tools.aadd], calls)

    assert [ret.value for ret in returns] == [2, 3, 4, 5], returns


def check_one_call_without_a_context(harness: Harness) -> None:
    """A single Task does as well as a Group."""
    ret = harness.one(tools.add, {"a": 1, "b": 1})

    assert (ret.id, ret.value, ret.strategy) == ("c0", 2, harness.name), ret


def check_generator_tool(harness: Harness) -> None:
    """Each part is reported as progress, in order and before the Return; the value is the list of parts."""
    _parts_arrive(harness, tools.parts)


@about_the_body
def check_async_generator_tool(harness: Harness) -> None:
    """The same of an async generator."""
    _parts_arrive(harness, tools.aparts)


def _parts_arrive(harness: Harness, tool: toolexec.Function) -> None:
    seen: list[Progress] = []
    ret = harness.one(tool, {"count": 4}, on_progress=seen.append)

    assert (ret.status, ret.value) == ("ok", [0, 1, 2, 3]), ret
    assert [(one.done, one.data) for one in seen] == [(1, 0), (2, 1), (3, 2), (4, 3)], seen


@about_the_body
def check_tool_of_no_parts(harness: Harness) -> None:
    """A generator that yields nothing has the empty list as its value."""
    seen: list[Progress] = []
    returns = [harness.one(tool, {"count": 0}, on_progress=seen.append) for tool in (tools.parts, tools.aparts)]

    assert [ret.value for ret in returns] == [[], []], returns
    assert seen == [], seen


@about_the_body
def check_awaitable_results_are_awaited(harness: Harness) -> None:
    """Whatever awaitable a callable returns is awaited, and its body runs once."""
    for kind, call in _awaitable_forms().items():
        journal = harness.journal()
        tool = toolexec.Function("form", kind)
        tool.define(call)
        ret = harness.one(tool, {"journal": journal.path})

        assert (ret.status, ret.value) == ("ok", "answer"), (kind, ret)
        assert journal.lines() == ["body"], (kind, journal.lines())


def _awaitable_forms() -> dict[str, Any]:
    async def body(journal: str) -> str:
        Journal(journal).write("body")
        return "answer"

    @functools.wraps(body)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return body(*args, **kwargs)

    class Caller:
        async def __call__(self, journal: str) -> str:
            return await body(journal)

    class Later:
        def __init__(self, journal: str) -> None:
            self.journal = journal

        def __await__(self) -> Any:
            return body(self.journal).__await__()

    def returns_awaitable(journal: str) -> Awaitable[str]:
        return Later(journal)

    return {
        "an async function behind a sync wrapper": wrapped,
        "an object with an async __call__": Caller(),
        "a partial of such an object": functools.partial(Caller()),
        "a sync function that returns an awaitable": returns_awaitable,
    }


@about_the_body
def check_class_tool(harness: Harness) -> None:
    """A Tool class gets an instance of its own for every call."""

    class Counter(toolexec.Tool):
        name = "counter"
        description = "Count the calls of this instance."

        def __init__(self) -> None:
            self.calls = 0

        def call(self) -> int:
            self.calls += 1
            return self.calls

    returns = harness.run([Counter], [("counter", None)] * 3)

    assert [ret.value for ret in returns] == [1, 1, 1], returns


@about_the_body
def check_closure(harness: Harness) -> None:
    """A function made inside another one runs with what it captured."""
    captured = [1, 2, 3]

    @toolexec.tool
    def total(start: int) -> int:
        return start + sum(captured)

    @toolexec.tool
    async def atotal(start: int) -> int:
        return start + sum(captured)

    returns = harness.run([total, atotal], [("total", {"start": 1}), ("atotal", {"start": 2})])

    assert [ret.value for ret in returns] == [7, 8], returns


CHECKS = (
    check_value,
    check_defaults,
    check_none,
    check_status_never_comes_from_the_value,
    check_async_tool,
    check_sync_and_async_tools_mix,
    check_one_call_without_a_context,
    check_generator_tool,
    check_async_generator_tool,
    check_tool_of_no_parts,
    check_awaitable_results_are_awaited,
    check_class_tool,
    check_closure,
)
