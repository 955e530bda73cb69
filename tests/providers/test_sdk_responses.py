"""OpenAI's Responses, with the objects, types and client of its SDK."""

from __future__ import annotations

import copy
import json
from typing import Any

import openai
import pytest
from openai.types.responses import FunctionToolParam, Response, ResponseInputItemParam
from pydantic import TypeAdapter

import toolexec as tx
from providers.json_server import JsonServer
from providers.sdk_tools import RESULTS, SIX, STATUSES, TOOLS, context, run_six, what
from providers.strict_responses import check_request

ITEMS: TypeAdapter[Any] = TypeAdapter(list[ResponseInputItemParam])
DECLARED: TypeAdapter[Any] = TypeAdapter(list[FunctionToolParam])
WRONG = ("missing", "twice", "order", "empty", "name", "schema", "id", "item", "reason")
ASKED: dict[str, Any] = {"role": "user", "content": "Do it."}
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "thinking"}],
    "encrypted_content": "gAAA",
}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I try.", "annotations": []}],
}


def call(name: str, arguments: str, call_id: Any, item: str = "fc_1") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": item,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def response(*items: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def calls(*ids: Any) -> list[dict[str, Any]]:
    return [call("add", json.dumps({"x": n}), call_id, f"fc_{n}") for n, call_id in enumerate(ids)]


def six() -> dict[str, Any]:
    made = [call(name, arguments, f"call_{n}", f"fc_{n}") for n, (name, arguments) in enumerate(SIX)]
    return response(REASONING, SAID, *made)


def sent(ctx: tx.Context, *turns: dict[str, Any]) -> dict[str, Any]:
    """A request that the API would take, with the turns given or else the Context's."""
    body = {
        "model": "m",
        "input": [ASKED, *(turns or ctx.turn("openai-responses"))],
        "tools": ctx.declarations("openai-responses"),
    }
    check_request(body)
    ITEMS.validate_python(body["input"])
    DECLARED.validate_python(body["tools"])
    json.dumps(body, allow_nan=False).encode()
    return body


def test_an_object_a_dict_and_json_text_are_the_same_calls_and_turns() -> None:
    made = Response.model_validate(six())
    forms: list[object] = [six(), made, made.model_dump(), made.to_dict(), made.to_json(), made.model_dump_json()]
    seen: list[Any] = []
    turns: list[Any] = []
    for form in [*forms, made.to_json().encode()]:
        ctx = tx.Context(TOOLS, strategy="sequential")
        seen.append(what(ctx.receive(form)))
        ctx.wait()
        turns.append(sent(ctx)["input"])

    assert [(f"call_{n}", name, json.loads(text)) for n, (name, text) in enumerate(SIX)] == seen[0]
    assert [seen[0]] * 7 == seen
    assert [turns[0]] * 7 == turns


@pytest.mark.parametrize("strict", [False, True])
def test_declarations_are_taken(strict: bool) -> None:
    with context() as ctx:
        declared = ctx.declarations("openai-responses", strict=strict)

    check_request({"input": [ASKED], "tools": declared})
    DECLARED.validate_python(declared)
    assert [strict] * 5 == [tool["strict"] for tool in declared]


def test_every_way_to_end_is_answered_once() -> None:
    with context() as ctx:
        statuses = run_six(ctx, Response.model_validate(six()))
        body = sent(ctx)

    assert STATUSES == statuses
    outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
    assert [f"call_{n}" for n in range(6)] == [item["call_id"] for item in outputs]
    assert "3" == outputs[0]["output"]
    assert "not wanted" in outputs[4]["output"]
    assert outputs == ctx.messages("openai-responses")


def test_reasoning_text_and_the_calls_items_go_back_as_they_came() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(Response.model_validate(response(REASONING, SAID, *calls("a", "b"))))
    ctx.wait()

    assert [REASONING, SAID, *calls("a", "b")] == sent(ctx)["input"][1:5]


def test_a_call_whose_id_is_replaced_is_no_item_of_the_apis_any_more() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("add", '{"x": 1}', "a"), call("add", '{"x": 2}', "a")))
    ctx.wait()
    one, other = sent(ctx)["input"][1:3]

    assert ("fc_1", None) == (one.get("id"), other.get("id"))


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "a", "a"],
        ["", "", ""],
        [None, None, None],
        ["a", "", "a"],
        ["x" * 65, "x" * 65, "y" * 65],
        ["half \ud800", "half \ud800", "ü"],
    ],
)
def test_ids_that_cannot_stand_are_replaced_alike_in_call_and_result(ids: list[Any]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(*calls(*ids)))
    ctx.wait()
    items = sent(ctx)["input"][1:]

    assert [item["call_id"] for item in items[:3]] == [item["call_id"] for item in items[3:]]
    assert ["1", "2", "3"] == [item["output"] for item in items[3:]]


@pytest.mark.parametrize("kind", RESULTS)
def test_no_result_makes_a_blank_output(kind: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(
        response(
            call("give", json.dumps({"kind": kind}), "1"),
            call("give", '{"kind": "mixed"}', "2", "fc_2"),
        )
    )

    assert ["ok", "ok"] == [ret.status for ret in ctx.wait()]
    one, mixed = sent(ctx)["input"][3:]
    assert one["output"]
    assert ["input_text", "input_image", "input_text", "input_file", "input_file"] == [
        part["type"] for part in mixed["output"]
    ]


@pytest.mark.parametrize(("kind", "shown"), [("image", "input_image"), ("pdf", "input_file"), ("bmp", "input_text")])
def test_images_and_files_are_shown(kind: str, shown: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", json.dumps({"kind": kind}), "1")))
    ctx.wait()

    assert [shown] == [part["type"] for part in sent(ctx)["input"][2]["output"]]


def test_a_response_without_calls_goes_back_as_it_came() -> None:
    ctx = tx.Context(TOOLS)

    assert not ctx.receive(Response.model_validate(response(REASONING, SAID)))
    assert [REASONING, SAID] == sent(ctx, *ctx.history())["input"][1:]


@pytest.mark.parametrize(
    "foreign",
    [
        [{"name": "add", "arguments": {"x": 1}}],
        [{"id": "x" * 70, "name": "add", "arguments": None}],
        [{"id": "a b", "name": "", "arguments": "{"}, {"id": "a b", "name": "x" * 100, "arguments": "[]"}],
    ],
)
def test_calls_from_elsewhere_can_be_sent_here(foreign: list[dict[str, Any]]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(foreign)
    ctx.wait()

    assert 2 * len(foreign) == len(sent(ctx)["input"]) - 1


def test_a_renamed_tool_is_found_again() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    name = ctx.declarations("openai-responses")[3]["name"]
    ctx.receive(response(call(name, '{"points": [], "mode": null}', "1")))

    assert [("ok", 0)] == [(ret.status, ret.value) for ret in ctx.wait()]
    assert name == sent(ctx)["input"][1]["name"]


def test_a_whole_loop_with_the_client() -> None:
    again = {**REASONING, "id": "rs_2"}
    more = [call("add", '{"x": 4}', "call_8", "fc_8"), call("add", '{"x": 5}', "call_9", "fc_9")]
    done = {**SAID, "id": "msg_2", "content": [{"type": "output_text", "text": "done", "annotations": []}]}
    with (
        JsonServer(check_request, [six(), response(again, *more), response(done)]) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
        context(provider="openai-responses") as ctx,
    ):
        items: list[Any] = [ASKED]
        statuses: list[list[str]] = []
        while True:
            tools: Any = ctx.declarations()
            reply = client.responses.create(model="m", input=items, tools=tools)
            asked = sum(item.type == "function_call" for item in reply.output)
            if not asked:
                break
            if asked == 6:
                statuses.append(run_six(ctx, reply))
            else:
                ctx.receive(reply)
                statuses.append([ret.status for ret in ctx.wait()])
            items += ctx.turn()

    assert ([], "done") == (server.faults, reply.output_text)
    assert [STATUSES, ["ok", "ok"]] == statuses
    assert [1, 15, 20] == [len(body["input"]) for body in server.bodies]
    assert REASONING == server.bodies[2]["input"][1]


def good() -> dict[str, Any]:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(REASONING, *calls("a", "b")))
    ctx.wait()
    return copy.deepcopy(sent(ctx))


def broken_requests() -> dict[str, dict[str, Any]]:
    """Requests that the API refuses, each with one thing wrong."""
    bodies = {n: good() for n in WRONG}
    bodies["missing"]["input"].pop()
    bodies["twice"]["input"].append(bodies["twice"]["input"][-1])
    bodies["order"]["input"][4:] = reversed(bodies["order"]["input"][4:])
    bodies["empty"]["input"][4]["output"] = ""
    bodies["name"]["tools"][0]["name"] = "a b"
    bodies["schema"]["tools"][0]["parameters"]["type"] = "array"
    bodies["id"]["input"][2]["call_id"] = None
    bodies["item"]["input"][3]["id"] = "fc_0"
    del bodies["reason"]["input"][2]["id"]
    return bodies


@pytest.mark.parametrize("wrong", WRONG)
def test_the_check_refuses_what_the_api_refuses(wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=r"."):
        check_request(broken_requests()[wrong])
