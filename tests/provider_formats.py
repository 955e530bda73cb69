"""The same calls as each provider's API sends them, and what its answers look like taken apart again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock", "mcp")
# Those whose API gives every call an id.
WITH_IDS = ("openai", "openai-responses", "anthropic", "bedrock")
# Those that say by a flag of their own that a call failed.
WITH_FLAG = ("anthropic", "google", "bedrock", "mcp")


class Call(NamedTuple):
    """One call, as a test wants a model to ask for it."""

    name: str
    arguments: dict[str, Any]
    id: str | None = None


def response(provider: str, *calls: Call) -> Any:
    """A whole response that asks for the calls."""
    return _RESPONSES[provider](calls)


def _openai(calls: Sequence[Call]) -> Any:
    entries = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
        for c in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": entries}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }


def _responses(calls: Sequence[Call]) -> Any:
    items: list[Any] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    items += [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": c.id,
            "name": c.name,
            "arguments": json.dumps(c.arguments),
        }
        for n, c in enumerate(calls)
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _anthropic(calls: Sequence[Call]) -> Any:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "Let me see."},
    ]
    blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _google(calls: Sequence[Call]) -> Any:
    parts: list[Any] = [{"text": "Let me see."}]
    parts += [
        {
            "functionCall": {"name": c.name, "args": c.arguments, **({"id": c.id} if c.id else {})},
            "thoughtSignature": "c2ln",
        }
        for c in calls
    ]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}


def _ollama(calls: Sequence[Call]) -> Any:
    entries = [{"function": {"name": c.name, "arguments": c.arguments}} for c in calls]
    message = {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": entries}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}


def _bedrock(calls: Sequence[Call]) -> Any:
    blocks: list[Any] = [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}}, {"text": " "}]
    blocks += [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.arguments}} for c in calls]
    return {"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": "tool_use"}


def _mcp(calls: Sequence[Call]) -> Any:
    return [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": c.name, "arguments": c.arguments}}
        for n, c in enumerate(calls)
    ]


_RESPONSES: dict[str, Callable[[Sequence[Call]], Any]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "mcp": _mcp,
}


class Result(NamedTuple):
    """One result, as it stands in a request.

    Attributes:
        id: Under which it was sent, or None.
        text: All its text.
        failed: What its flag says; None where the format has none.
    """

    id: Any
    text: str
    failed: bool | None


def results(provider: str, messages: Sequence[dict[str, Any]]) -> list[Result]:
    """The results in what ``ctx.messages`` gave."""
    return [_RESULTS[provider](part) for message in messages for part in _parts(provider, message)]


def _parts(provider: str, message: dict[str, Any]) -> list[Any]:
    if provider in ("anthropic", "bedrock"):
        assert "user" == message["role"]
        content: list[Any] = message["content"]
        return content
    if provider == "google":
        assert "user" == message["role"]
        parts: list[Any] = message["parts"]
        return parts
    return [message]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


_RESULTS: dict[str, Callable[[Any], Result]] = {
    "openai": lambda m: Result(m["tool_call_id"], m["content"], None),
    "openai-responses": lambda m: Result(m["call_id"], _text(m["output"]), None),
    "anthropic": lambda p: Result(p["tool_use_id"], _text(p["content"]), p.get("is_error", False)),
    "google": lambda p: Result(
        p["functionResponse"].get("id"),
        next(iter(p["functionResponse"]["response"].values())),
        "error" in p["functionResponse"]["response"],
    ),
    "ollama": lambda m: Result(m.get("tool_call_id"), m["content"], None),
    "bedrock": lambda p: Result(
        p["toolResult"]["toolUseId"], _text(p["toolResult"]["content"]), p["toolResult"]["status"] == "error"
    ),
    "mcp": lambda m: Result(m["id"], _text(m["result"]["content"]), m["result"]["isError"]),
}


def call_ids(provider: str, assistant: Sequence[dict[str, Any]]) -> list[Any]:
    """The ids of the calls in the assistant's part of ``ctx.turn``."""
    if provider == "openai":
        return [call["id"] for call in assistant[0]["tool_calls"]]
    if provider == "openai-responses":
        return [item["call_id"] for item in assistant if item["type"] == "function_call"]
    if provider == "anthropic":
        return [block["id"] for block in assistant[0]["content"] if block["type"] == "tool_use"]
    if provider == "bedrock":
        return [block["toolUse"]["toolUseId"] for block in assistant[0]["content"] if "toolUse" in block]
    if provider == "google":
        return [p["functionCall"].get("id") for p in assistant[0]["parts"] if "functionCall" in p]
    return [call.get("id") for call in assistant[0]["tool_calls"]]
