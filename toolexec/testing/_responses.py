"""A whole response, as each provider's API sends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from toolexec.testing._scripted_calls import Asked, ScriptedCall, Spoken, asked, unknown_format


def response(
    provider: str, calls: Iterable[ScriptedCall] = (), text: str | None = None, *, thought: str | None = None
) -> Any:
    """A response of a model that asks for the calls, for ``Context.receive``.

        ctx.receive(response("anthropic", [("add", {"a": 2, "b": 3})], "Let me see."))

    Args:
        provider: "openai", "openai-responses", "anthropic", "google", "ollama", "bedrock" or "mcp".
        calls: Each ``("name", {arguments})``, which gets an id where the API gives every call one; or
            ``("name", {arguments}, "id")``.  None as the id is a call that came without one.
        text: What the model says beside them; a server of MCP is told nothing.
        thought: What it thinks first, where the format has a place for that.

    Returns:
        Plain data, a new one each time: a dict; for "mcp" the list of its requests.

    Raises:
        FormatError: There is no such provider.
        TypeError: Something in ``calls`` is no call.
    """
    if provider not in RESPONSES:
        raise unknown_format(provider, RESPONSES)
    return RESPONSES[provider](Spoken(asked(provider, calls), text, thought))


def _openai(spoken: Spoken) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": spoken.text}
    if spoken.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(dict(c.arguments))}}
            for c in spoken.calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if spoken.calls else "stop", "message": message}],
    }


def _openai_responses(spoken: Spoken) -> Any:
    items: list[Any] = []
    if spoken.thought is not None:
        summary = [{"type": "summary_text", "text": spoken.thought}] if spoken.thought else []
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if spoken.text is not None:
        said: dict[str, Any] = {"type": "output_text", "text": spoken.text, "annotations": []}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]})
    items += [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": c.id,
            "name": c.name,
            "arguments": json.dumps(dict(c.arguments)),
        }
        for n, c in enumerate(spoken.calls)
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


def _anthropic(spoken: Spoken) -> Any:
    blocks: list[Any] = []
    if spoken.thought is not None:
        blocks.append({"type": "thinking", "thinking": spoken.thought, "signature": "s1"})
    if spoken.text is not None:
        blocks.append({"type": "text", "text": spoken.text})
    blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": dict(c.arguments)} for c in spoken.calls]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": "tool_use" if spoken.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _google(spoken: Spoken) -> Any:
    parts: list[Any] = []
    if spoken.thought is not None:
        parts.append({"text": spoken.thought, "thought": True})
    if spoken.text is not None:
        parts.append({"text": spoken.text})
    parts += [
        {
            "functionCall": {"name": c.name, "args": dict(c.arguments), **({"id": c.id} if c.id else {})},
            "thoughtSignature": "c2ln",
        }
        for c in spoken.calls
    ]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}


def _ollama(spoken: Spoken) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": spoken.text or ""}
    if spoken.thought is not None:
        message["thinking"] = spoken.thought
    if spoken.calls:
        message["tool_calls"] = ollama_calls(spoken.calls)
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}


def ollama_calls(calls: Sequence[Asked]) -> list[dict[str, Any]]:
    """The entries of ``tool_calls``; only newer servers give ids."""
    return [
        {**({"id": c.id} if c.id else {}), "function": {"name": c.name, "arguments": dict(c.arguments)}} for c in calls
    ]


def _bedrock(spoken: Spoken) -> Any:
    blocks: list[Any] = []
    if spoken.thought is not None:
        blocks.append({"reasoningContent": {"reasoningText": {"text": spoken.thought, "signature": "s1"}}})
    if spoken.text is not None:
        blocks.append({"text": spoken.text})
    blocks += [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": dict(c.arguments)}} for c in spoken.calls]
    message = {"role": "assistant", "content": blocks}
    return {"output": {"message": message}, "stopReason": "tool_use" if spoken.calls else "end_turn"}


def _mcp(spoken: Spoken) -> Any:
    return [
        {
            "jsonrpc": "2.0",
            "id": n if c.id is None else c.id,
            "method": "tools/call",
            "params": {"name": c.name, "arguments": dict(c.arguments)},
        }
        for n, c in enumerate(spoken.calls)
    ]


RESPONSES: dict[str, Callable[[Spoken], Any]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "mcp": _mcp,
}
