"""A strategy that is written wrongly is told so; no caller waits for ever because of it."""

from __future__ import annotations

from typing import Any

import pytest

import toolexec as tx
from toolexec.lowlevel import Job


@tx.tool
def add(a: int) -> int:
    return a + 1


def test_one_without_a_name_cannot_be_made() -> None:
    class Nameless(tx.Strategy):
        def start(self, job: Job) -> None:
            raise AssertionError

    with pytest.raises(TypeError, match="class Nameless has no name: write  name = "):
        Nameless()


def test_what_is_no_outcome_makes_the_call_lost() -> None:
    class Five(tx.Strategy):
        name = "five"

        def start(self, job: Job) -> None:
            wrong: Any = 5
            job.deliver(wrong)

    with Five() as strategy:
        ret = tx.run(add, {"a": 1}, strategy)

    assert ("lost", "its strategy delivered a int, where an Outcome is due") == (ret.status, ret.value["message"])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: tx.Context([add], tracer=print), "not builtin_function_or_method"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: tx.Context([add], tracer=tx.Tracer), "an instance"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: add.bind({"a": 1}).task("sequential", on_progress=3), "on_progress is 3"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: tx.strategy("auto"), "no strategy to configure"),
        (lambda: tx.strategy("thred"), "did you mean 'thread'"),
        (lambda: tx.run(add, {"a": 1}, tx.Strategy), "what tx.strategy"),
    ],
)
def test_a_wrong_use_says_what_is_right(wrong: Any, told: str) -> None:
    with pytest.raises((TypeError, tx.UnknownStrategy), match=told):
        wrong()


def test_a_sequential_call_that_nobody_waits_for_holds_no_limit() -> None:
    """It would keep every other Group from the tool until somebody waited for its own."""

    @tx.tool(max_in_flight=1)
    def one() -> str:
        return "done"

    waiting, going = tx.Context([one]), tx.Context([one])
    waiting.receive([{"name": "one"}, {"name": "one"}])
    going.receive([{"name": "one"}])
    group = waiting.group("sequential")

    assert ["done"] == [ret.value for ret in going.wait("thread", timeout=20)]
    assert ["done", "done"] == [ret.value for ret in group.wait(timeout=20)]
