"""Answers out: messages, turns, ids rewritten alike, and what the history keeps."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from typing import Any

import pytest

import toolexec as tx


@tx.tool
def a(x: int) -> str:
    return f"a{x}"


@tx.tool
def b(x: int) -> str:
    return f"b{x}"


@tx.tool
def fail() -> None:
    raise ValueError("broken")


def received(*calls: dict[str, Any]) -> tx.Context:
    ctx = tx.Context([a, b, fail], strategy="sequential")
    ctx.receive(list(calls))
    ctx.wait()
    return ctx


def test_messages_answer_in_call_order_and_are_the_same_when_asked_twice() -> None:
    ctx = received({"id": "1", "name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {"x": 2}})
    first = ctx.messages()

    assert ["tool", "tool"] == [message["role"] for message in first]
    assert ["a1", "b2"] == [message["content"] for message in first]
    assert first == ctx.messages()
    assert ctx.turn() == ctx.turn()


def test_A5_two_calls_that_share_an_id_are_answered_under_two_alike_in_call_and_result() -> None:
    ctx = received({"id": "c", "name": "a", "arguments": {"x": 1}}, {"id": "c", "name": "b", "arguments": {"x": 2}})
    assistant, *results = ctx.turn()

    ids = [call["id"] for call in assistant["tool_calls"]]
    assert "c" == ids[0]
    assert 2 == len(set(ids))
    assert ids == [result["tool_call_id"] for result in results]
    assert ["a", "b"] == [call["function"]["name"] for call in assistant["tool_calls"]]
    assert ["a1", "b2"] == [result["content"] for result in results]
    assert ["c", "c"] == [ret.id for ret in ctx.returns]


def test_A5_an_id_made_up_for_one_call_never_takes_anothers() -> None:
    calls = [{"id": call_id, "name": "a", "arguments": {"x": 1}} for call_id in ["c", "c", "", None, "d", "c"]]
    ids = [message["tool_call_id"] for message in received(*calls).messages()]

    assert 6 == len(set(ids))
    assert ("c", "d") == (ids[0], ids[4])


@pytest.mark.parametrize("no_id", [{}, {"id": None}, {"id": ""}])
def test_A6_calls_without_an_id_get_distinct_ones(no_id: dict[str, Any]) -> None:
    ctx = received(*({**no_id, "name": "a", "arguments": {"x": x}} for x in (1, 2)))
    assistant, *results = ctx.turn()

    ids = [call["id"] for call in assistant["tool_calls"]]
    assert 2 == len(set(ids))
    assert not {"None", "null", "", "a"} & set(ids)
    assert [(ids[0], "a1"), (ids[1], "a2")] == [(r["tool_call_id"], r["content"]) for r in results]


def test_the_assistant_message_repeats_what_the_model_sent() -> None:
    """Broken JSON too: a provider wants its own call back, not ours."""
    ctx = tx.Context([a], strategy="sequential")
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"x": '}}
    ctx.receive({"choices": [{"message": {"content": "thinking", "tool_calls": [call]}}]})
    ctx.wait()
    assistant, result = ctx.turn()

    assert {"role": "assistant", "content": "thinking", "tool_calls": [call]} == assistant
    assert "bad_arguments" == ctx.returns[0].status
    assert "ArgumentsError" in result["content"]


@pytest.mark.parametrize(("sent", "shown"), [(None, {}), ({"x": 1}, {"x": 1}), ('{"x": 1}', {"x": 1})])
def test_arguments_go_out_as_text(sent: Any, shown: object) -> None:
    call = received({"id": "1", "name": "a", "arguments": sent}).turn()[0]["tool_calls"][0]

    assert shown == json.loads(call["function"]["arguments"])


def test_an_unknown_tools_answer_lists_those_there_are_for_the_model_only() -> None:
    ctx = received({"id": "1", "name": "aa"}, {"id": "2", "name": ""})
    texts = [json.loads(message["content"]) for message in ctx.messages()]

    assert [["a", "b", "fail"]] * 2 == [text["available"] for text in texts]
    assert {"error": True, "type": "NoSuchToolError", "message": "tool not found"} == ctx.returns[0].value


def test_a_failure_is_told_without_its_backtrace() -> None:
    text = json.loads(received({"id": "1", "name": "fail"}).messages()[0]["content"])

    assert {"error": True, "type": "ValueError", "message": "broken"} == text


def test_messages_of_unsettled_calls_are_an_error_of_use() -> None:
    ctx = tx.Context([a])
    ctx.receive([{"id": "1", "name": "a"}])

    with pytest.raises(tx.ToolexecError, match="'a' has no Return yet"):
        ctx.messages()


def test_a_context_that_received_nothing_has_nothing_to_say() -> None:
    ctx = tx.Context([a])

    assert ((), [], [], ()) == (ctx.wait(), ctx.messages(), ctx.turn(), ctx.returns)


def test_waiting_is_for_the_last_response_and_returns_are_of_all() -> None:
    ctx = received({"id": "1", "name": "a", "arguments": {"x": 1}})
    ctx.receive([{"id": "2", "name": "b", "arguments": {"x": 2}}])

    assert ["b2"] == [ret.value for ret in ctx.wait()]
    assert ["a1", "b2"] == [ret.value for ret in ctx.returns]
    assert ["b2"] == [message["content"] for message in ctx.messages()]


def test_anc_C1_pending_calls_are_those_neither_begun_nor_answered() -> None:
    ctx = tx.Context([a, b], strategy="sequential")
    one, two, three = ctx.receive([{"id": str(n), "name": "a", "arguments": {"x": n}} for n in range(3)])
    one.cancel()
    two.call()

    assert [three] == list(ctx.pending_functions)
    ctx.group()
    assert not ctx.pending_functions


def test_what_was_received_is_never_changed() -> None:
    response = {
        "choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "a", "arguments": "{}"}}] * 2}}]
    }
    before = copy.deepcopy(response)
    ctx = tx.Context([a], strategy="sequential")
    ctx.receive(response)
    ctx.wait()
    ctx.turn()

    assert before == response


class Big:
    """Something a tool holds in a local when it fails."""


def raising(held: list[weakref.ref[Big]]) -> tx.Function:
    @tx.tool
    def burst() -> None:
        big = Big()
        held.append(weakref.ref(big))
        try:
            raise KeyError("inner")
        except KeyError as exc:
            raise ValueError("outer") from exc

    return burst


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio"])
def test_the_next_turn_lets_go_of_the_frames_of_past_exceptions(strategy: str) -> None:
    held: list[weakref.ref[Big]] = []
    ctx = tx.Context([raising(held)])
    ctx.receive([{"id": "1", "name": "burst"}])
    before = ctx.wait(strategy)[0]
    assert before.exception is not None
    assert before.exception.__traceback__ is not None

    ctx.next_turn()
    after = ctx.returns[0]
    assert before == after
    assert isinstance(after.exception, ValueError)
    assert ("outer", None, None) == (str(after.exception), after.exception.__traceback__, after.exception.__cause__)
    del before
    gc.collect()
    assert None is held[0]()


def test_an_exception_that_cannot_be_copied_is_stood_for() -> None:
    class Stubborn(Exception):
        def __init__(self, code: int, text: str) -> None:
            super().__init__(text)

    @tx.tool
    def burst() -> None:
        raise Stubborn(3, "no copies")

    ctx = tx.Context([burst])
    ctx.receive([{"id": "1", "name": "burst"}])
    ctx.wait("sequential")
    ctx.next_turn()

    exception = ctx.returns[0].exception
    assert isinstance(exception, tx.ForeignError)
    assert ("Stubborn", "no copies") == (exception.type_name, str(exception))


class Full(tx.ToolError):
    """Written for the model; the constructor takes something else than it hands on."""

    def __init__(self, day: str) -> None:
        super().__init__(f"{day} is full")


def test_what_a_tool_has_written_for_the_model_is_read_by_it_after_the_turn_too() -> None:
    @tx.tool
    def book() -> None:
        raise Full("Monday")

    ctx = tx.Context([book], reveal="type", strategy="sequential")
    ctx.receive([{"id": "1", "name": "book"}]).wait()
    told = ctx.messages()
    assert "Monday is full" in told[0]["content"]
    for _ in range(2):
        ctx.next_turn()
        assert told == ctx.messages()

    exception = ctx.returns[0].exception
    assert isinstance(exception, tx.ForeignError)
    assert isinstance(exception, tx.ToolError)
    assert ("Full", "Monday is full") == (exception.type_name, str(exception))


def test_without_a_history_settled_calls_are_forgotten_and_pending_ones_are_not() -> None:
    ctx = tx.Context([a], strategy="sequential", history=False)
    ctx.receive([{"id": "1", "name": "a", "arguments": {"x": 1}}])
    ctx.wait()
    ctx.receive([{"id": "2", "name": "a", "arguments": {"x": 2}}])
    ctx.receive([{"id": "3", "name": "a", "arguments": {"x": 3}}])

    assert ["2", "3"] == [fn.id for fn in ctx.pending_functions]
    assert () == ctx.returns


def test_without_a_history_memory_stays_flat() -> None:
    ctx = tx.Context([a], strategy="sequential", history=False)
    for turn in range(50):
        ctx.receive([{"id": str(turn), "name": "a", "arguments": {"x": turn}}])
        ctx.wait()

    assert 1 == len(ctx._responses)
    assert ["a49"] == [message["content"] for message in ctx.messages()]
