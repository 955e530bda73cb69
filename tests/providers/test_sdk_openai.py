"""OpenAI's chat completions, with the objects, types and client of its SDK."""

from __future__ import annotations

import copy
import json
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

import toolexec as tx
from providers.json_server import JsonServer
from providers.sdk_tools import RESULTS, SIX, STATUSES, TOOLS, context, run_six, what
from providers.strict_openai import check_request

MESSAGES: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
DECLARED: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionToolParam])
WRONG = ("missing", "twice", "order", "between", "empty", "name", "schema", "id", "none")
ASKED: dict[str, Any] = {"role": "user", "content": "Do it."}


def call(name: str, arguments: str, call_id: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def response(*calls: dict[str, Any], content: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }


def six() -> dict[str, Any]:
    return response(*(call(name, arguments, f"call_{n}") for n, (name, arguments) in enumerate(SIX)), content="I try.")


def sent(ctx: tx.Context, *turns: dict[str, Any]) -> dict[str, Any]:
    """A request that the API would take, with the turns given or else the Context's."""
    body = {
        "model": "m",
        "messages": [ASKED, *(turns or ctx.turn("openai"))],
        "tools": ctx.declarations("openai"),
    }
    check_request(body)
    MESSAGES.validate_python(body["messages"])
    DECLARED.validate_python(body["tools"])
    json.dumps(body, allow_nan=False).encode()
    return body


def test_an_object_a_dict_and_json_text_are_the_same_calls_and_turns() -> None:
    made = ChatCompletion.model_validate(six())
    forms: list[object] = [six(), made, made.model_dump(), made.to_dict(), made.to_json(), made.model_dump_json()]
    seen: list[Any] = []
    turns: list[Any] = []
    for form in [*forms, made.to_json().encode()]:
        ctx = tx.Context(TOOLS, strategy="sequential")
        seen.append(what(ctx.receive(form)))
        ctx.wait()
        turns.append(ctx.turn())

    assert [(f"call_{n}", name, json.loads(text)) for n, (name, text) in enumerate(SIX)] == seen[0]
    assert [seen[0]] * 7 == seen
    assert [turns[0]] * 7 == turns


@pytest.mark.parametrize("strict", [False, True])
def test_declarations_are_taken(strict: bool) -> None:
    with context() as ctx:
        declared = ctx.declarations("openai", strict=strict)

    check_request({"messages": [ASKED], "tools": declared})
    DECLARED.validate_python(declared)
    assert 5 == len(declared)


def test_every_way_to_end_is_answered_once() -> None:
    with context() as ctx:
        statuses = run_six(ctx, ChatCompletion.model_validate(six()))
        body = sent(ctx)

    assert STATUSES == statuses
    _, assistant, *results = body["messages"]
    assert "I try." == assistant["content"]
    assert [f"call_{n}" for n in range(6)] == [result["tool_call_id"] for result in results]
    assert ["3", "broken", "expected"] == [
        results[0]["content"],
        json.loads(results[1]["content"])["message"],
        next(word for word in ("expected", "x") if word in results[2]["content"]),
    ]
    assert "not wanted" in results[4]["content"]
    sent(ctx, assistant, *ctx.messages("openai"))


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "a", "a"],
        ["", "", ""],
        [None, None, None],
        ["a", "", "a"],
        ["x" * 41, "x" * 41, "y" * 41],
        ["half \ud800", "half \ud800", "ü"],
    ],
)
def test_ids_that_cannot_stand_are_replaced_alike_in_call_and_result(ids: list[Any]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(*(call("add", json.dumps({"x": n}), call_id) for n, call_id in enumerate(ids))))
    ctx.wait()
    _, assistant, *results = sent(ctx)["messages"]

    assert [one["id"] for one in assistant["tool_calls"]] == [one["tool_call_id"] for one in results]
    assert ["1", "2", "3"] == [one["content"] for one in results]


@pytest.mark.parametrize("kind", RESULTS)
def test_no_result_makes_a_blank_message(kind: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", json.dumps({"kind": kind}), "1"), call("give", '{"kind": "mixed"}', "2")))
    returns = ctx.wait()
    results = sent(ctx)["messages"][2:]

    assert ["ok", "ok"] == [ret.status for ret in returns]
    assert all(result["content"].strip() for result in results)


@pytest.mark.parametrize("text", [None, "", "text"])
def test_text_beside_calls_goes_back(text: str | None) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("add", '{"x": 1}', "1"), content=text))
    ctx.wait()

    assert text == sent(ctx)["messages"][1]["content"]


def test_a_response_without_calls_goes_back_as_it_can() -> None:
    ctx = tx.Context(TOOLS)

    assert not ctx.receive(response(content="done"))
    assert not ctx.receive(ChatCompletion.model_validate(response(refusal="I will not.")))
    assert not ctx.receive(response())
    assert [
        {"role": "assistant", "content": "done"},
        {"role": "assistant", "content": None, "refusal": "I will not."},
    ] == ctx.history()
    sent(ctx, *ctx.history())


@pytest.mark.parametrize(
    "calls",
    [
        [{"name": "add", "arguments": {"x": 1}}],
        [{"id": "tooluse_" + "x" * 60, "name": "add", "arguments": None}],
        [{"id": "a b", "name": "", "arguments": "{"}, {"id": "a b", "name": "x" * 100, "arguments": "[]"}],
    ],
)
def test_calls_from_elsewhere_can_be_sent_here(calls: list[dict[str, Any]]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(calls)
    ctx.wait()

    assert len(calls) == len(sent(ctx)["messages"]) - 2


def test_a_renamed_tool_is_found_again() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    name = ctx.declarations("openai")[3]["function"]["name"]
    ctx.receive(response(call(name, '{"points": [{"x": 1, "y": 2}], "mode": null}', "1")))

    assert [("ok", 1)] == [(ret.status, ret.value) for ret in ctx.wait()]
    assert name == sent(ctx)["messages"][1]["tool_calls"][0]["function"]["name"]


def test_a_whole_loop_with_the_client() -> None:
    replies = [six(), response(call("add", '{"x": 4}', "call_0"), call("add", '{"x": 5}', "call_0"))]
    with (
        JsonServer(check_request, [*replies, response(content="done")]) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
        context(provider="openai") as ctx,
    ):
        messages: list[Any] = [ASKED]
        statuses: list[list[str]] = []
        while True:
            tools: Any = ctx.declarations()
            reply = client.chat.completions.create(model="m", messages=messages, tools=tools)
            if reply.choices[0].message.tool_calls is None:
                break
            if len(reply.choices[0].message.tool_calls) == 6:
                statuses.append(run_six(ctx, reply))
            else:
                ctx.receive(reply)
                statuses.append([ret.status for ret in ctx.wait()])
            messages += ctx.turn()

    assert ([], "done") == (server.faults, reply.choices[0].message.content)
    assert [STATUSES, ["ok", "ok"]] == statuses
    assert [1, 8, 11] == [len(body["messages"]) for body in server.bodies]


def good() -> dict[str, Any]:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("add", '{"x": 1}', "1"), call("add", '{"x": 2}', "2")))
    ctx.wait()
    return copy.deepcopy(sent(ctx))


def broken_requests() -> dict[str, dict[str, Any]]:
    """Requests that the API refuses, each with one thing wrong."""
    bodies = {name: good() for name in WRONG}
    bodies["missing"]["messages"].pop()
    bodies["twice"]["messages"].append(bodies["twice"]["messages"][-1])
    bodies["order"]["messages"][2:] = reversed(bodies["order"]["messages"][2:])
    bodies["between"]["messages"].insert(3, ASKED)
    bodies["empty"]["messages"][2]["content"] = ""
    bodies["name"]["tools"][0]["function"]["name"] = "a b"
    bodies["schema"]["tools"][0]["function"]["parameters"]["properties"]["x"]["type"] = "int"
    bodies["id"]["messages"][1]["tool_calls"][0]["id"] = None
    bodies["none"]["messages"].append({"role": "assistant", "content": None})
    return bodies


@pytest.mark.parametrize("wrong", WRONG)
def test_the_check_refuses_what_the_api_refuses(wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=r"."):
        check_request(broken_requests()[wrong])
