"""The real SDKs' types take what we render, and we take their objects."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

import toolexec as tx
from provider_formats import Call, response, results

# What the SDKs warn of on a newer Python than theirs is none of our doing.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@tx.tool
def add(x: int, y: int = 1) -> int:
    """Add two numbers."""
    return x + y


@tx.tool
def look() -> list[Any]:
    return ["here:", tx.Image(b"PNG"), tx.File(b"%PDF", "application/pdf", "a.pdf")]


CALLS = [
    Call("add", {"x": 1}, "c1"),
    Call("add", {"x": "one"}, "c2"),
    Call("nobody", {}, "c3"),
    Call("look", {}, "c4"),
]


def answered(provider: str, sent: Any) -> tx.Context:
    ctx = tx.Context([add, look], strategy="sequential", provider=provider)
    ctx.receive(sent)
    assert ["ok", "bad_arguments", "unknown_tool", "ok"] == [ret.status for ret in ctx.wait()]
    assert "2" == results(provider, ctx.messages())[0].text
    return ctx


def check(kind: Any, value: Any) -> None:
    """Hold a value to an SDK's type for what a request takes."""
    from pydantic import TypeAdapter

    TypeAdapter(kind).validate_python(value)


def check_each(kind: Any, values: list[Any]) -> None:
    """The same for each of some."""
    assert values
    for value in values:
        check(kind, value)


def test_openai() -> None:
    chat = importlib.import_module("openai.types.chat")
    ctx = answered("openai", chat.ChatCompletion.model_validate(response("openai", *CALLS)))
    assistant, *told = ctx.turn()

    check(chat.ChatCompletionAssistantMessageParam, assistant)
    check_each(chat.ChatCompletionToolMessageParam, told)
    for strict in (False, True):
        check_each(chat.ChatCompletionToolParam, tx.Context([add]).declarations("openai", strict=strict))


def test_openai_responses() -> None:
    types = importlib.import_module("openai.types.responses")
    ctx = answered("openai-responses", types.Response.model_validate(response("openai-responses", *CALLS)))

    for item in ctx.turn():
        check(types.ResponseInputItemParam, item)
    for strict in (False, True):
        declared = tx.Context([add]).declarations("openai-responses", strict=strict)
        check_each(types.FunctionToolParam, declared)


def test_anthropic() -> None:
    types = importlib.import_module("anthropic.types")
    ctx = answered("anthropic", types.Message.model_validate(response("anthropic", *CALLS)))

    check_each(types.MessageParam, ctx.turn())
    check_each(types.ToolParam, ctx.declarations())


def test_google() -> None:
    types = importlib.import_module("google.genai.types")
    ctx = answered("google", types.GenerateContentResponse.model_validate(response("google", *CALLS)))

    for content in ctx.turn():
        types.Content.model_validate(content)
    for tool in ctx.declarations():
        types.Tool.model_validate(tool)
    # Its thought signatures are bytes there, and come back as they were.
    parts = [types.Part.model_validate(part) for part in ctx.turn()[0]["parts"]]
    assert b"sig" == parts[1].thought_signature


def test_ollama() -> None:
    ollama = importlib.import_module("ollama")
    ctx = answered("ollama", ollama.ChatResponse.model_validate(response("ollama", *CALLS)))

    for message in ctx.turn():
        ollama.Message.model_validate(message)
    for tool in ctx.declarations():
        kept = ollama.Tool.model_validate(tool).model_dump(exclude_none=True)
        sent, took = (form["function"]["parameters"]["properties"] for form in (tool, kept))
        assert sent.keys() == took.keys()


def test_bedrock() -> None:
    session = importlib.import_module("botocore.session").get_session()
    validate = importlib.import_module("botocore.validate").ParamValidator()
    shape = session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape
    ctx = answered("bedrock", response("bedrock", *CALLS))
    request = {"modelId": "m", "messages": ctx.turn(), "toolConfig": {"tools": ctx.declarations()}}

    report = validate.validate(request, shape)
    assert not report.has_errors(), report.generate_report()


def test_mcp() -> None:
    types = importlib.import_module("mcp.types")
    ctx = answered("mcp", response("mcp", *CALLS))

    for message in ctx.messages():
        types.CallToolResult.model_validate(message["result"])
    for tool in ctx.declarations():
        types.Tool.model_validate(tool)
    request = types.CallToolRequest.model_validate(
        {"method": "tools/call", "params": {"name": "add", "arguments": {"x": 1}}}
    )
    ctx.receive(request)
    ctx.wait()
    [result] = ctx.messages()
    assert "2" == types.CallToolResult.model_validate(result).content[0].text
    json.dumps(result)
