"""What a LoopGuard takes for a loop: calls asked for again although their results were there, whole or streamed."""

from __future__ import annotations

from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import response, stream


@tx.tool
def look(path: str) -> str:
    return path


def settled(ctx: tx.Context, how: str, *paths: str) -> list[str]:
    calls = [("look", {"path": path}) for path in paths]
    if how == "streamed":
        for _ in ctx.stream(stream("openai", calls)):
            pass
    else:
        ctx.receive(response("openai", calls))
    return [ret.status for ret in ctx.wait("thread", timeout=15)]


both = pytest.mark.parametrize("how", ["whole", "streamed"])


@both
def test_a_first_response_may_ask_three_times_for_the_same(how: str) -> None:
    ctx = tx.Context([look], guard=True)

    assert [["ok"] * 3, ["ok"], ["budget"] * 2] == [settled(ctx, how, *paths) for paths in ("aaa", "a", "aa")]
    assert "you have the answers to the earlier ones" in str(ctx.returns[-1].reason)


@both
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_third_response_of_a_pattern_is_refused_as_a_whole(how: str, length: int) -> None:
    ctx = tx.Context([look], guard=True)
    went = [settled(ctx, how, *"abc"[:length]) for _ in range(3)]

    assert [["ok"] * length, ["ok"] * length, ["budget"] * length] == went


@both
def test_what_goes_on_differently_is_no_loop(how: str) -> None:
    ctx = tx.Context([look], guard=True)

    assert [["ok"], ["ok"], ["ok", "ok"]] == [settled(ctx, how, *paths) for paths in ("a", "a", "ab")]


@both
def test_an_intercept_that_changes_arguments_hides_no_loop(how: str) -> None:
    class Changes(tx.Intercept):
        @classmethod
        def call(cls, *, function: tx.Function) -> None:
            function.arguments["path"] += "!"

    ctx = tx.Context([look], guard=True, intercept=Changes)

    assert [["ok"], ["ok"], ["budget"]] == [settled(ctx, how, "a") for _ in range(3)]


def test_a_submitted_call_is_neither_counted_nor_refused() -> None:
    ctx = tx.Context([look], guard=True, strategy="thread")
    call: dict[str, Any] = {"name": "look", "arguments": {"path": "a"}}

    assert ["ok"] * 4 == [ctx.submit(call).wait(15).status for _ in range(4)]
    assert [["ok"], ["ok"], ["budget"]] == [settled(ctx, "whole", "a") for _ in range(3)]
    assert ["ok"] * 2 == [ctx.submit(call).wait(15).status for _ in range(2)]


def test_a_loop_refuses_no_call_of_an_earlier_response() -> None:
    ctx = tx.Context([look], guard=True, strategy="thread")
    (earlier,) = ctx.receive([{"name": "look", "arguments": {"path": "z"}}])
    last = [ctx.receive([{"name": "look", "arguments": {"path": "a"}}]) for _ in range(3)][-1][0]

    assert ["ok", "budget"] == [function.task().wait(15).status for function in (earlier, last)]
