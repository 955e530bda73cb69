"""Ollama's own types and client on the other side."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import ollama
import pytest

import toolexec as tx
from providers.json_server import JsonServer
from providers.outcome_tools import OUTCOMES, STATUSES, TOOLS, calls_of, context, settled
from providers.strict_ollama import check_request

ASKED = {"role": "user", "content": "go on"}


def answer(*calls: dict[str, Any], **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", **message, **({"tool_calls": list(calls)} if calls else {})}
    return {"model": "m", "created_at": "2026-05-01T12:00:00Z", "message": said, "done": True, "done_reason": "stop"}


def call(name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


RESPONSE = answer(
    call("give", {"x": 1}), call("give", {"x": 3}), call("fail", {}), content="Two numbers.", thinking="hm"
)
EVERYTHING = answer(*(call(name, arguments) for name, arguments, _ in OUTCOMES))

# The ways in which the same response may come in.
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "object": ollama.ChatResponse.model_validate,
    "wire": lambda sent: sent,
    "dumped": lambda sent: ollama.ChatResponse.model_validate(sent).model_dump(exclude_none=True),
    "dumped with nulls": lambda sent: ollama.ChatResponse.model_validate(sent).model_dump(),
    "text": json.dumps,
    "text with nulls": lambda sent: ollama.ChatResponse.model_validate(sent).model_dump_json(),
    "bytes": lambda sent: json.dumps(sent).encode(),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def request(ctx: tx.Context) -> dict[str, Any]:
    """A whole request, as it would go over the wire."""
    body = {"model": "m", "messages": [ASKED, *ctx.turn("ollama")], "tools": ctx.declarations("ollama")}
    loaded: dict[str, Any] = json.loads(json.dumps(body, allow_nan=False))
    return loaded


@every_form
def test_every_form_of_a_response_gives_the_same_calls(form: Callable[[dict[str, Any]], Any]) -> None:
    calls = calls_of(form(RESPONSE))

    assert [(None, "give", {"x": 1}), (None, "give", {"x": 3}), (None, "fail", {})] == calls
    assert calls == calls_of(form(RESPONSE), "ollama")


@every_form
def test_every_form_of_a_response_is_said_again_alike(form: Callable[[dict[str, Any]], Any]) -> None:
    ctx = settled(form(RESPONSE))
    check_request(request(ctx))

    assert settled(RESPONSE).turn() == ctx.turn()
    said, *results = (ollama.Message.model_validate(message) for message in ctx.turn())
    assert ("assistant", "Two numbers.", "hm") == (said.role, said.content, said.thinking)
    assert [("give", {"x": 1}), ("give", {"x": 3}), ("fail", {})] == [
        (each.function.name, each.function.arguments) for each in said.tool_calls or []
    ]
    assert [("tool", "give"), ("tool", "give"), ("tool", "fail")] == [(it.role, it.tool_name) for it in results]
    assert ["x1", "x3"] == [result.content for result in results[:2]]


@every_form
def test_every_outcome_is_answered_in_its_place(form: Callable[[dict[str, Any]], Any]) -> None:
    ctx = settled(form(EVERYTHING))
    body = request(ctx)
    check_request(body)
    said, *results = ctx.turn()

    assert STATUSES == [ret.status for ret in ctx.returns]
    assert [name for name, _, _ in OUTCOMES] == [result["tool_name"] for result in results]
    assert not any("id" in each for each in said["tool_calls"])
    assert not any("tool_call_id" in result for result in results)
    for status, result in zip(STATUSES[:6], results[:6], strict=True):
        told = result["content"]
        assert (status == "ok") == (told == "x1")
        assert status == "ok" or json.loads(told).keys() & {"error", "cancelled"}
    for message in [said, *results]:
        ollama.Message.model_validate(message)


def test_empty_results_are_told_in_words() -> None:
    ctx = settled(EVERYTHING)

    assert ["null", '""', '"  \\n"', "[]", "{}"] == [message["content"] for message in ctx.messages()[6:11]]
    assert [None, "", "  \n", [], {}] == [ret.value for ret in ctx.returns[6:11]]


def test_images_and_files_are_stated() -> None:
    png, icon, pdf, archive, mixed = [message["content"] for message in settled(EVERYTHING).messages()[11:]]

    assert [True] * 4 == ["image/png" in png, "image/x-icon" in icon, "'a.pdf'" in pdf, "ein Brief ü.zip" in archive]
    assert ["see:", "image/png", "all the rest.zip"] == [
        word for word in ("see:", "image/png", "all the rest.zip") if word in mixed
    ]


def test_ids_that_a_server_sends_are_kept_and_none_is_added() -> None:
    ctx = settled(answer(call("give", {"x": 1}, id="call_1"), call("give", {"x": 3})))
    said, one, two = ctx.turn()
    check_request(request(ctx))

    assert ["call_1", None] == [each.get("id") for each in said["tool_calls"]]
    assert ["call_1", None] == [one.get("tool_call_id"), two.get("tool_call_id")]
    assert ["x1", "x3"] == [one["content"], two["content"]]


def test_declarations_are_legal_and_keep_every_value() -> None:
    declared = context().declarations("ollama")
    check_request({"model": "m", "messages": [ASKED], "tools": declared})
    functions = [ollama.Tool.model_validate(tool).function for tool in declared]

    assert [each.name for each in TOOLS] == [function.name for function in functions if function]
    last = functions[-1]
    assert last is not None
    assert last.parameters is not None
    kinds = last.parameters.properties or {}
    assert ["a", "b"] == kinds["words"].enum
    assert ["red", "green"] == kinds["colour"].enum
    assert [1, 2] == kinds["size"].enum
    assert {"type": "string", "enum": ["x", "y"]} == kinds["listed"].items
    assert "array" == kinds["points"].type


@pytest.mark.parametrize("bare", [{}, {"function": {}}, {"function": {"name": None, "arguments": None}}])
def test_a_call_without_a_name_is_answered_too(bare: dict[str, Any]) -> None:
    ctx = settled(answer(bare, call("give", {"x": 1})))

    assert ["unknown_tool", "ok"] == [ret.status for ret in ctx.returns]
    check_request(request(ctx))


def test_arguments_that_came_as_text_go_back_as_an_object() -> None:
    ctx = context()
    ctx.receive([{"id": "c", "name": "give", "arguments": '{"x": 1}'}, {"name": "give", "arguments": '{"x": '}])
    ctx.wait()
    check_request(request(ctx))

    assert [{"x": 1}, {}] == [each["function"]["arguments"] for each in ctx.turn("ollama")[0]["tool_calls"]]


def test_a_response_without_calls_asks_for_nothing() -> None:
    ctx = settled(answer(content="done"))

    assert () == ctx.returns
    assert [] == ctx.turn()
    assert [{"role": "assistant", "content": "done"}] == ctx.history()


def test_a_whole_conversation_through_the_real_client() -> None:
    ctx = context()
    messages: list[Any] = [ASKED]
    tools = ctx.declarations("ollama")
    with JsonServer(check_request, [RESPONSE, EVERYTHING, answer(content="done")]) as server:
        client = ollama.Client(host=server.url)
        response = client.chat(model="m", messages=messages, tools=tools)
        while functions := ctx.receive(response):
            for function in functions:
                if function.arguments == {"x": 2}:
                    function.cancel()
            ctx.wait()
            messages.extend(ctx.turn())
            response = client.chat(model="m", messages=messages, tools=tools)
        client._client.close()

    assert [] == server.faults
    assert [1, 5, 6 + len(OUTCOMES)] == [len(body["messages"]) for body in server.bodies]
    assert "done" == response.message.content
    assert STATUSES == [ret.status for ret in ctx.returns[3:]]
    assert [each.name for each in TOOLS] == [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
    assert "hm" == server.bodies[-1]["messages"][1]["thinking"]


# The check itself

CALLED = {"role": "assistant", "content": "", "tool_calls": [call("a", {}), call("b", {})]}


def result(name: str, content: Any = "1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_name": name, "content": content, **more}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([CALLED], "without a result"),
        ([CALLED, result("a")], "without a result"),
        ([CALLED, result("b"), result("a")], "answers 'a'"),
        ([CALLED, result("a"), ASKED, result("b")], "have no result"),
        ([result("a")], "answers no call"),
        ([CALLED, result("a"), result("b", "")], "told nothing"),
        ([CALLED, result("a"), result("b", ["1"])], "content is"),
        ([CALLED, result("a"), result("b", tool_call_id="x")], "another call's id"),
        ([{**CALLED, "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}, result("a")], "arguments are"),
        ([{**CALLED, "content": None}], "content is None"),
    ],
)
def test_the_check_refuses_what_the_api_refuses(messages: Any, why: str) -> None:
    check_request({"model": "m", "messages": [ASKED, CALLED, result("a"), result("b")]})
    with pytest.raises(AssertionError, match=why):
        check_request({"model": "m", "messages": messages})
