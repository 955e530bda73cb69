"""Amazon Bedrock's Converse, with boto3: its service model checks the parameters, its client sends them."""

from __future__ import annotations

import base64
import copy
import importlib
import json
from typing import Any

import pytest

import toolexec as tx
from providers.bedrock_client import client_of
from providers.json_server import JsonServer
from providers.sdk_tools import RESULTS, SIX, STATUSES, TOOLS, context, run_six, what
from providers.strict_bedrock import check_request

# Without stubs.
validate: Any = importlib.import_module("botocore.validate")

WRONG = ("missing", "twice", "order", "status", "empty", "long", "description", "schema", "id", "input", "two")
ASKED: dict[str, Any] = {"role": "user", "content": [{"text": "Do it."}]}
REASONING: dict[str, Any] = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
HIDDEN: dict[str, Any] = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
SAID: dict[str, Any] = {"text": "I try."}


@pytest.fixture(scope="module")
def shape() -> Any:
    """What Converse takes, as the SDK has it."""
    with client_of("http://127.0.0.1:9") as client:
        return client.meta.service_model.operation_model("Converse").input_shape


def call(name: str, given: Any, call_id: Any, **more: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": given, **more}}


def response(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": "tool_use" if any("toolUse" in block for block in blocks) else "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def calls(*ids: Any) -> list[dict[str, Any]]:
    return [call("add", {"x": n}, call_id) for n, call_id in enumerate(ids, 1)]


def six() -> dict[str, Any]:
    made = [call(name, json.loads(text), f"tooluse_{n}") for n, (name, text) in enumerate(SIX)]
    return response(REASONING, SAID, *made)


def sent(ctx: tx.Context, shape: Any, *turns: dict[str, Any]) -> dict[str, Any]:
    """A request that the API would take, with the turns given or else the Context's."""
    body = {
        "modelId": "m",
        "messages": [ASKED, *(turns or ctx.turn("bedrock"))],
        "toolConfig": {"tools": ctx.declarations("bedrock")},
    }
    check_request(body)
    report = validate.ParamValidator().validate(body, shape)
    assert not report.has_errors(), report.generate_report()
    return body


def test_a_dict_with_metadata_and_json_text_are_the_same_calls_and_turns(shape: Any) -> None:
    forms: list[object] = [
        six(),
        {**six(), "ResponseMetadata": {"HTTPStatusCode": 200}},
        json.dumps(six()),
        json.dumps(six()).encode(),
    ]
    seen: list[Any] = []
    turns: list[Any] = []
    for form in forms:
        ctx = tx.Context(TOOLS, strategy="sequential")
        seen.append(what(ctx.receive(form)))
        ctx.wait()
        turns.append(sent(ctx, shape)["messages"])

    assert [(f"tooluse_{n}", name, json.loads(text)) for n, (name, text) in enumerate(SIX)] == seen[0]
    assert [seen[0]] * 4 == seen
    assert [turns[0]] * 4 == turns


@pytest.mark.parametrize("strict", [False, True])
def test_declarations_are_taken(shape: Any, strict: bool) -> None:
    with context() as ctx:
        declared = ctx.declarations("bedrock", strict=strict)
    body = {"modelId": "m", "messages": [ASKED], "toolConfig": {"tools": declared}}

    check_request(body)
    assert not validate.ParamValidator().validate(body, shape).has_errors()
    assert 5 == len(declared)


def test_every_way_to_end_is_answered_once(shape: Any) -> None:
    with context() as ctx:
        statuses = run_six(ctx, six())
        body = sent(ctx, shape)

    assert STATUSES == statuses
    assert ["user", "assistant", "user"] == [message["role"] for message in body["messages"]]
    results = [block["toolResult"] for block in body["messages"][2]["content"]]
    assert [f"tooluse_{n}" for n in range(6)] == [result["toolUseId"] for result in results]
    assert ["success", *["error"] * 5] == [result["status"] for result in results]
    assert [{"text": "3"}] == results[0]["content"]
    assert "not wanted" in results[4]["content"][0]["text"]
    assert body["messages"][2:] == ctx.messages("bedrock")


def test_reasoning_text_and_calls_go_back_as_they_came(shape: Any) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(REASONING, HIDDEN, SAID, {"text": " \n"}, *calls("a", "b")))
    ctx.wait()

    assert [REASONING, HIDDEN, SAID, *calls("a", "b")] == sent(ctx, shape)["messages"][1]["content"]


def test_what_the_server_ran_itself_is_no_call_of_ours(shape: Any) -> None:
    done: list[dict[str, Any]] = [
        call("nova_grounding", {"query": "x"}, "srv", type="server_tool_use"),
        {"toolResult": {"toolUseId": "srv", "content": [{"text": "found"}], "type": "nova_grounding_result"}},
    ]
    ctx = tx.Context(TOOLS, strategy="sequential")
    functions = ctx.receive(response(*done, *calls("a")))
    ctx.wait()

    assert ["a"] == [fn.id for fn in functions]
    assert [*done, *calls("a")] == sent(ctx, shape)["messages"][1]["content"]


@pytest.mark.parametrize(
    "ids",
    [
        ["a", "a", "a"],
        ["", "", ""],
        [None, None, None],
        ["a", "", "a"],
        ["a b", "x" * 65, "ü"],
        ["half \ud800", "a", "a.b"],
    ],
)
def test_ids_that_cannot_stand_are_replaced_alike_in_call_and_result(shape: Any, ids: list[Any]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(*calls(*ids)))
    ctx.wait()
    _, assistant, user = sent(ctx, shape)["messages"]

    given = [block["toolUse"]["toolUseId"] for block in assistant["content"]]
    assert given == [block["toolResult"]["toolUseId"] for block in user["content"]]
    assert [[{"text": str(n)}] for n in (2, 3, 4)] == [block["toolResult"]["content"] for block in user["content"]]


@pytest.mark.parametrize("kind", RESULTS)
def test_no_result_makes_a_blank_block(shape: Any, kind: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", {"kind": kind}, "a"), call("give", {"kind": "mixed"}, "b")))

    assert ["ok", "ok"] == [ret.status for ret in ctx.wait()]
    one, mixed = sent(ctx, shape)["messages"][2]["content"]
    assert one["toolResult"]["content"]
    assert ["text", "image", "text", "document", "document"] == [
        next(iter(part)) for part in mixed["toolResult"]["content"]
    ]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("image", "image"), ("pdf", "document"), ("csv", "document"), ("bmp", "text"), ("no_pdf", "text")],
)
def test_images_and_files_are_shown(shape: Any, kind: str, shown: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(call("give", {"kind": kind}, "a")))
    ctx.wait()

    content = sent(ctx, shape)["messages"][2]["content"][0]["toolResult"]["content"]
    assert [[shown]] == [list(part) for part in content]


def test_no_two_documents_of_a_conversation_have_one_name(shape: Any) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    turns: list[dict[str, Any]] = []
    for ids in (["a", "b"], ["c", "d"]):
        ctx.receive(response(*(call("give", {"kind": "pdf"}, call_id) for call_id in ids)))
        ctx.wait()
        turns += ctx.turn()
        assert turns[-2:] == ctx.turn()

    assert 5 == len(sent(ctx, shape, *turns)["messages"])


def test_a_response_without_calls_goes_back_as_it_came(shape: Any) -> None:
    ctx = tx.Context(TOOLS)

    assert not ctx.receive(response(REASONING, SAID))
    assert not ctx.receive(response())
    assert [REASONING, SAID] == sent(ctx, shape, *ctx.history("bedrock"))["messages"][1]["content"]
    assert 1 == len(ctx.history("bedrock"))


@pytest.mark.parametrize(
    "foreign",
    [
        [{"name": "add", "arguments": {"x": 1}}],
        [{"id": "x" * 65, "name": "add", "arguments": None}],
        [{"id": "a b", "name": "", "arguments": "{"}, {"id": "a b", "name": "x" * 100, "arguments": "[]"}],
    ],
)
def test_calls_from_elsewhere_can_be_sent_here(shape: Any, foreign: list[dict[str, Any]]) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(foreign)
    ctx.wait()

    assert len(foreign) == len(sent(ctx, shape)["messages"][2]["content"])


def test_a_renamed_tool_is_found_again(shape: Any) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    name = ctx.declarations("bedrock")[3]["toolSpec"]["name"]
    ctx.receive(response(call(name, {"points": [{"x": 1, "y": 2}]}, "a")))

    assert [("ok", 1)] == [(ret.status, ret.value) for ret in ctx.wait()]
    assert name == sent(ctx, shape)["messages"][1]["content"][0]["toolUse"]["name"]


def test_a_whole_loop_with_the_client() -> None:
    on_the_wire = {"reasoningContent": {"redactedContent": base64.b64encode(b"\x00\xff").decode()}}
    more = response(on_the_wire, call("give", {"kind": "mixed"}, "m"), call("give", {"kind": "pdf"}, "n"))
    with (
        JsonServer(check_request, [six(), more, response({"text": "done"})]) as server,
        client_of(server.url) as client,
        context(provider="bedrock") as ctx,
    ):
        messages: list[Any] = [ASKED]
        statuses: list[list[str]] = []
        while True:
            reply = client.converse(modelId="m", messages=messages, toolConfig={"tools": ctx.declarations()})
            if reply["stopReason"] != "tool_use":
                break
            if len(reply["output"]["message"]["content"]) == 8:
                statuses.append(run_six(ctx, reply))
            else:
                ctx.receive(reply)
                statuses.append([ret.status for ret in ctx.wait()])
            messages += ctx.turn()

    assert ([], [{"text": "done"}]) == (server.faults, reply["output"]["message"]["content"])
    assert [STATUSES, ["ok", "ok"]] == statuses
    assert [1, 3, 5] == [len(body["messages"]) for body in server.bodies]
    assert on_the_wire == server.bodies[2]["messages"][3]["content"][0]


def good(shape: Any) -> dict[str, Any]:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(REASONING, *calls("a", "b")))
    ctx.wait()
    return copy.deepcopy(sent(ctx, shape))


def broken_requests(shape: Any) -> dict[str, dict[str, Any]]:
    """Requests that the API refuses, each with one thing wrong."""
    bodies = {name: good(shape) for name in WRONG}
    results = {name: body["messages"][2]["content"] for name, body in bodies.items()}
    said = {name: body["messages"][1]["content"] for name, body in bodies.items()}
    results["missing"].pop()
    results["twice"].append(results["twice"][-1])
    results["order"].reverse()
    results["status"][0]["toolResult"]["status"] = "ok"
    results["empty"][0]["toolResult"]["content"] = []
    said["long"][1]["toolUse"]["toolUseId"] = results["long"][0]["toolResult"]["toolUseId"] = "x" * 65
    bodies["description"]["toolConfig"]["tools"][0]["toolSpec"]["description"] = ""
    bodies["schema"]["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]["type"] = "string"
    said["id"][1]["toolUse"]["toolUseId"] = results["id"][0]["toolResult"]["toolUseId"] = "a b"
    said["input"][1]["toolUse"]["input"] = "{}"
    said["two"][1]["text"] = "a block has one member"
    return bodies


@pytest.mark.parametrize("wrong", WRONG)
def test_the_check_refuses_what_the_api_refuses(shape: Any, wrong: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=r"."):
        check_request(broken_requests(shape)[wrong])
