"""Anthropic's Messages, with the objects, types and client of its SDK."""

from __future__ import annotations

import copy
import json
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, MessageParam, ToolParam
from pydantic import TypeAdapter

import toolexec as tx
from providers.json_server import JsonServer
from providers.sdk_tools import RESULTS, SIX, STATUSES, TOOLS, context, run_six, what
from providers.strict_anthropic import check_request

MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])
DECLARED: TypeAdapter[Any] = TypeAdapter(list[ToolParam])
WRONG = ("missing", "twice", "order", "late", "split", "empty", "name", "schema", "id", "input", "signature")
ASKED: dict[str, Any] = {"role": "user", "content": "Do it."}
THINKING: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
HIDDEN: dict[str, Any] = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SAID: dict[str, Any] = {"type": "text", "text": "I try."}


def call(name: str, given: Any, call_id: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given, **more}


def response(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(blocks),
        "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def calls(*ids: Any) -> list[dict[str, Any]]:
    return [call("add", {"x": n}, call_id) for n, call_id in enumerate(ids, 1)]


def six() -> dict[str, Any]:
    made = [call(name, json.loads(text), f"toolu_{n}") for n, (name, text) in enumerate(SIX)]
    return response(THINKING, HIDDEN, SAID, *made)


def sent(ctx: tx.Context, *turns: dict[str, Any]) -> dict[str, Any]:
    """A request that the API would take, with the turns given or else the Context's."""
    body = {
        "model": "m",
        "max_tokens": 100,
        "messages": [ASKED, *(turns or ctx.turn("anthropic"))],
        "tools": ctx.declarations("anthropic"),
    }
    check_request(body)
    MESSAGES.validate_python(body["messages"])
    DECLARED.validate_python(body["tools"])
    json.dumps(body, allow_nan=False).encode()
    return body


def without_nulls(value: Any) -> Any:
    """What the API takes as left out."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


def test_an_object_a_dict_and_json_text_are_the_same_calls_and_turns() -> None:
    made = Message.model_validate(six())
    forms: list[object] = [six(), made, made.model_dump(), made.to_dict(), made.to_json(), made.model_dump_json()]
    seen: list[Any] = []
    turns: list[Any] = []
    for form in [*forms, made.to_json().encode()]:
        ctx = tx.Context(TOOLS, strategy="sequential")
        seen.append(what(ctx.receive(form)))
        ctx.wait()
        turns.append(without_nulls(sent(ctx)["messages"]))

    assert [(f"toolu_{n}", name, json.loads(text)) for n, (name, text) in enumerate(SIX)] == seen[0]
    assert [seen[0]] * 7 == seen
    assert [turns[0]] * 7 == turns


@pytest.mark.parametrize("strict", [False, True])
def test_declarations_are_taken(strict: bool) -> None:
    with context() as ctx:
        declared = ctx.declarations("anthropic", strict=strict)

    check_request({"messages": [ASKED], "max_tokens": 1, "tools": declared})
    DECLARED.validate_python(declared)
    assert 5 == len(declared)


def test_every_way_to_end_is_answered_once() -> None:
    with context() as ctx:
        statuses = run_six(ctx, Message.model_validate(six()))
        body = sent(ctx)

    assert STATUSES == statuses
    assert ["user", "assistant", "user"] == [message["role"] for message in body["messages"]]
    results = body["messages"][2]["content"]
    assert [f"toolu_{n}" for n in range(6)] == [result["tool_use_id"] for result in results]
    assert [False, True, True, True, True, True] == [result.get("is_error", False) for result in results]
    assert "3" == results[0]["content"]
    assert "not wanted" in results[4]["content"]
    assert body["messages"][2:] == ctx.messages("anthropic")


def test_thinking_text_and_calls_go_back_as_they_came() -> None:
    blocks = [THINKING, HIDDEN, SAID, call("add", {"x": 1}, "a", caller={"type": "direct"}), call("add", {"x": 2}, "b")]
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(Message.model_validate(response(*blocks)))
    ctx.wait()

    assert blocks == sent(ctx)["messages"][1]["content"]


def test_blank_texts_which_the_api_sends_and_refuses_are_left_out() -> None:
    blank = {"type": "text", "text": "\n"}
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(Message.model_validate(response(THINKING, blank, *calls("a"), blank)))
    ctx.wait()

    assert [THINKING, *calls("a")] == sent(ctx)["messages"][1]["content"]


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "a", "a"],
        ["", "", ""],
        [None, None, None],
        ["a", "", "a"],
        ["a b", "a b", "ü"],
        ["half \ud800", "a.b", "a:b"],
    ],
)
def test_ids_that_cannot_stand_are_replaced_alike_in_call_and_result(ids: list[Any]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(*calls(*ids)))
    ctx.wait()
    _, assistant, user = sent(ctx)["messages"]

    assert [block["id"] for block in assistant["content"]] == [block["tool_use_id"] for block in user["content"]]
    assert ["2", "3", "4"] == [block["content"] for block in user["content"]]


@pytest.mark.parametrize("kind", RESULTS)
def test_no_result_makes_a_blank_block(kind: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", {"kind": kind}, "a"), call("give", {"kind": "mixed"}, "b")))

    assert ["ok", "ok"] == [ret.status for ret in ctx.wait()]
    one, mixed = sent(ctx)["messages"][2]["content"]
    assert one["content"]
    assert ["text", "image", "text", "document", "document"] == [part["type"] for part in mixed["content"]]


@pytest.mark.parametrize(
    ("kind", "shown"), [("image", "image"), ("pdf", "document"), ("bmp", "text"), ("csv", "text"), ("no_pdf", "text")]
)
def test_images_and_files_are_shown(kind: str, shown: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", {"kind": kind}, "a")))
    ctx.wait()

    assert [shown] == [part["type"] for part in sent(ctx)["messages"][2]["content"][0]["content"]]


def test_a_response_without_calls_goes_back_as_it_came() -> None:
    ctx = tx.Context(TOOLS)

    assert not ctx.receive(Message.model_validate(response(THINKING, SAID)))
    assert not ctx.receive(Message.model_validate(response()))
    assert [THINKING, SAID] == sent(ctx, *ctx.history())["messages"][1]["content"]
    assert 1 == len(ctx.history())


@pytest.mark.parametrize(
    "foreign",
    [
        [{"name": "add", "arguments": {"x": 1}}],
        [{"id": "call:1.2", "name": "add", "arguments": None}],
        [{"id": "a b", "name": "", "arguments": "{"}, {"id": "a b", "name": "x" * 100, "arguments": "[]"}],
    ],
)
def test_calls_from_elsewhere_can_be_sent_here(foreign: list[dict[str, Any]]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(foreign)
    ctx.wait()

    assert len(foreign) == len(sent(ctx)["messages"][2]["content"])


def test_a_renamed_tool_is_found_again() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    name = ctx.declarations("anthropic")[3]["name"]
    ctx.receive(response(call(name, {"points": [{"x": 1, "y": 2}]}, "a")))

    assert [("ok", 1)] == [(ret.status, ret.value) for ret in ctx.wait()]
    assert name == sent(ctx)["messages"][1]["content"][0]["name"]


def test_a_whole_loop_with_the_client() -> None:
    more = response(THINKING, *calls("toolu_8", "toolu_9"))
    with (
        JsonServer(check_request, [six(), more, response({"type": "text", "text": "done"})]) as server,
        anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0) as client,
        context(provider="anthropic") as ctx,
    ):
        messages: list[Any] = [ASKED]
        statuses: list[list[str]] = []
        while True:
            tools: Any = ctx.declarations()
            reply = client.messages.create(model="m", max_tokens=100, messages=messages, tools=tools)
            if reply.stop_reason != "tool_use":
                break
            if len(reply.content) == 9:
                statuses.append(run_six(ctx, reply))
            else:
                ctx.receive(reply)
                statuses.append([ret.status for ret in ctx.wait()])
            messages += ctx.turn()

    assert ([], ["done"]) == (server.faults, [block.text for block in reply.content if block.type == "text"])
    assert [STATUSES, ["ok", "ok"]] == statuses
    assert [1, 3, 5] == [len(body["messages"]) for body in server.bodies]
    assert [THINKING, HIDDEN, SAID] == server.bodies[2]["messages"][1]["content"][:3]


def good() -> dict[str, Any]:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(THINKING, *calls("a", "b")))
    ctx.wait()
    return copy.deepcopy(sent(ctx))


def broken_requests() -> dict[str, dict[str, Any]]:
    """Requests that the API refuses, each with one thing wrong."""
    bodies = {name: good() for name in WRONG}
    results = {name: body["messages"][2]["content"] for name, body in bodies.items()}
    said = {name: body["messages"][1]["content"] for name, body in bodies.items()}
    results["missing"].pop()
    results["twice"].append(results["twice"][-1])
    results["order"].reverse()
    results["late"].insert(0, SAID)
    bodies["split"]["messages"].append({"role": "user", "content": [results["split"].pop()]})
    results["empty"][0]["content"] = [{"type": "text", "text": " "}]
    bodies["name"]["tools"][0]["name"] = "a b"
    bodies["schema"]["tools"][0]["input_schema"]["$ref"] = "#/$defs/nowhere"
    said["id"][1]["id"] = results["id"][0]["tool_use_id"] = "a b"
    said["input"][1]["input"] = "{}"
    del said["signature"][0]["signature"]
    return bodies


@pytest.mark.parametrize("wrong", WRONG)
def test_the_check_refuses_what_the_api_refuses(wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=r"."):
        check_request(broken_requests()[wrong])
