"""What a body shares with its caller, and what it cannot change there."""

from __future__ import annotations

import copy
from contextvars import ContextVar, copy_context
from typing import Any

import toolexec
from toolexec.testing import _tools as tools
from toolexec.testing._drivers import settle
from toolexec.testing._harness import Harness
from toolexec.testing._needs import about_the_body, in_process, isolated, needs, only_under

VARIABLE: ContextVar[str] = ContextVar("toolexec_testing_variable", default="unset")


@toolexec.tool
def swap(new: str) -> str:
    """Read the context variable, then set it."""
    old = VARIABLE.get()
    VARIABLE.set(new)
    return old


@toolexec.tool
async def aswap(new: str) -> str:
    """Read the context variable, then set it."""
    old = VARIABLE.get()
    VARIABLE.set(new)
    return old


@about_the_body
def check_arguments_are_the_callers(harness: Harness) -> None:
    """A tool that empties what it was given changes nothing in the caller's call records."""
    options = {"inner": {"a": {"deep": [1]}}, "list": ["b", "c"]}
    call = {"id": "c0", "name": "take_apart", "arguments": {"options": options}}
    before = copy.deepcopy(call)
    functions = harness.receive([tools.take_apart], [call])
    (ret,) = settle(harness.driver, functions.group)

    assert ret.value == ["a", "b", "c"], ret
    assert call == before, call
    assert functions[0].arguments == before["arguments"], functions[0].arguments


@needs(in_process)
def check_context_variables(harness: Harness) -> None:
    """A body sees the values of who started it; what it sets is seen by no sibling and no caller."""

    def start_and_look() -> None:
        VARIABLE.set("the caller's")
        calls = [(name, {"new": f"of call {place}"}) for place, name in enumerate(["swap", "aswap"] * 3)]
        returns = harness.run([swap, aswap], calls, window=2)

        assert [ret.value for ret in returns] == ["the caller's"] * 6, returns
        assert VARIABLE.get() == "the caller's"

    copy_context().run(start_and_look)
    assert VARIABLE.get() == "unset"


@needs(in_process)
@only_under("sync")
def check_siblings_started_from_different_contexts(harness: Harness) -> None:
    """Each call sees the values of the moment it was started in."""

    def start(value: str) -> toolexec.Task:
        VARIABLE.set(value)
        return swap.bind({"new": "overwritten"}).task(harness.strategy)

    started = [copy_context().run(start, value) for value in ("one", "two")]

    assert [task.wait().value for task in started] == ["one", "two"]


@needs(in_process)
@only_under("sync")
def check_instance_is_shared(harness: Harness) -> None:
    """A tool given as an instance serves all its calls."""

    class Counter(toolexec.Tool):
        name = "counter"
        description = "Count the calls of this instance."

        def __init__(self) -> None:
            self.calls: list[int] = []

        def call(self) -> int:
            self.calls.append(1)
            return len(self.calls)

    counter = Counter()
    returns = harness.run([counter], [("counter", None)] * 3, window=1)

    assert [ret.value for ret in returns] == [1, 2, 3], returns
    assert len(counter.calls) == 3, counter.calls


@needs(in_process)
def check_values_are_passed_by_identity(harness: Harness) -> None:
    """What a body returns is what the caller gets, whatever it is."""
    made: list[Any] = []

    @toolexec.tool
    def make() -> object:
        made.append(object())
        return made[-1]

    (ret,) = harness.run([make], [("make", None)])

    assert made[0] is ret.value, ret


@needs(isolated)
@about_the_body
def check_host_memory_is_out_of_reach(harness: Harness) -> None:
    """What an isolated body changes, it changes in its own copy."""
    seen: list[int] = []

    @toolexec.tool
    def remember(number: int) -> int:
        seen.append(number)
        return len(seen)

    returns = harness.run([remember], [("remember", {"number": 1})] * 2)

    assert [ret.value for ret in returns] == [1, 1], returns
    assert seen == [], seen


CHECKS = (
    check_arguments_are_the_callers,
    check_context_variables,
    check_siblings_started_from_different_contexts,
    check_instance_is_shared,
    check_values_are_passed_by_identity,
    check_host_memory_is_out_of_reach,
)
