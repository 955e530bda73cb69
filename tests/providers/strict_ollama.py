"""Refuses what Ollama's chat endpoint refuses, or would answer wrongly."""

from __future__ import annotations

import base64
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own

ROLES = frozenset(("system", "user", "assistant", "tool"))
# https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion (a message's fields)
FIELDS = frozenset(("role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"))


def check_request(body: dict[str, Any]) -> None:
    """Raise AssertionError unless the body of /api/chat would be taken."""
    # https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion (model is required)
    assert isinstance(body.get("model"), str), "model is required"
    assert body["model"], "model is required"
    tools = body.get("tools") or []
    for tool in tools:
        _tool(tool)
    open_: list[tuple[Any, str]] = []
    for place, message in enumerate(body["messages"]):
        # https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion (messages)
        assert message.keys() <= FIELDS, f"unknown fields in a message: {sorted(message)}"
        role = message.get("role")
        assert role in ROLES, f"role {role!r}"
        # https://github.com/ollama/ollama/blob/main/api/types.go (Message): Content is a string.  The SDK leaves an
        # empty one out beside calls.
        content = message.get("content", "" if message.get("tool_calls") else None)
        assert isinstance(content, str), f"message {place}: content is {content!r}"
        for image in message.get("images") or []:
            base64.b64decode(image, validate=True)
        if role == "tool":
            # https://docs.ollama.com/capabilities/tool-calling: each call's result in order, with its tool's name.
            assert open_, f"message {place}: a result that answers no call"
            asked_id, asked = open_.pop(0)
            assert message.get("tool_name") == asked, f"{message.get('tool_name')!r} answers {asked!r}"
            assert message.get("tool_call_id") == asked_id, f"message {place} answers another call's id"
            assert message["content"].strip(), f"message {place}: the model is told nothing"
            assert not message.get("tool_calls"), f"message {place}: a result that calls"
            continue
        assert not open_, f"message {place}: calls before it have no result: {open_}"
        assert "tool_name" not in message, f"message {place}: tool_name is of results"
        if message.get("tool_calls"):
            assert role == "assistant", f"message {place}: calls of {role}"
            open_ = [_call(call) for call in message["tool_calls"]]
    assert not open_, f"calls without a result: {open_}"


def _call(call: dict[str, Any]) -> tuple[Any, str]:
    # https://github.com/ollama/ollama/blob/main/api/types.go (ToolCall, ToolCallFunction)
    assert call.keys() <= {"id", "type", "function"}, f"unknown fields in a call: {sorted(call)}"
    function = call["function"]
    assert function.keys() <= {"index", "name", "arguments"}, f"unknown fields in a call: {sorted(function)}"
    assert isinstance(function["name"], str), "a call without a name"
    assert function["name"], "a call without a name"
    # The same page: arguments are a map; text is "cannot unmarshal string into Go struct field".
    assert isinstance(function["arguments"], dict), f"arguments are {function['arguments']!r}"
    assert "id" not in call or (isinstance(call["id"], str) and call["id"]), f"an id is {call['id']!r}"
    return call.get("id"), function["name"]


def _tool(tool: dict[str, Any]) -> None:
    # https://github.com/ollama/ollama/blob/main/docs/api.md#chat-request-with-tools
    assert tool.keys() == {"type", "function"}, f"a tool is {sorted(tool)}"
    assert tool["type"] == "function", f"a tool's type is {tool['type']!r}"
    function = tool["function"]
    assert function.keys() <= {"name", "description", "parameters"}, f"a function is {sorted(function)}"
    assert isinstance(function["name"], str), "a function without a name"
    assert function["name"], "a function without a name"
    parameters = function["parameters"]
    # https://github.com/ollama/ollama/blob/main/api/types.go (ToolFunctionParameters)
    assert parameters.get("type") == "object", f"parameters.type is {parameters.get('type')!r}"
    assert isinstance(parameters.get("properties", {}), dict), "properties are a map"
    assert all(isinstance(name, str) for name in parameters.get("required", [])), "required are strings"
    jsonschema.Draft202012Validator.check_schema(parameters)
    check_schema(parameters, "parameters")


def check_schema(schema: Any, where: str = "schema") -> None:
    """Raise AssertionError where the templates would lose a type."""
    if isinstance(schema, list):
        for inner in schema:
            check_schema(inner, where)
    if not isinstance(schema, dict):
        return
    # https://github.com/ollama/ollama/blob/main/api/types.go (ToolProperty): it has no references.
    assert not schema.keys() & {"$ref", "$defs"}, f"{where}: a reference that no template follows"
    for key, inner in schema.items():
        if key == "properties":
            for name, value in inner.items():
                check_schema(value, f"{where}.{name}")
        elif key not in ("enum", "const", "default"):
            check_schema(inner, f"{where}.{key}")
