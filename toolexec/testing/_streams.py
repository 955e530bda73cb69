"""The events of a stream, as each provider's API sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from toolexec.testing._responses import RESPONSES, ollama_calls
from toolexec.testing._scripted_calls import ScriptedCall, Spoken, asked, unknown_format


def stream(
    provider: str,
    calls: Iterable[ScriptedCall] = (),
    text: str | None = None,
    *,
    thought: str | None = None,
    size: int = 5,
) -> list[dict[str, Any]]:
    """The events of :func:`response` as it streams in, for ``Context.stream``.

        for event in ctx.stream(stream("openai", [("add", {"a": 2, "b": 3})])):
            ...

    Args:
        provider: As there.
        calls: As there.
        text: As there.
        thought: As there.
        size: How many characters of text, or of arguments, an event has at most.

    Returns:
        All events of it, as dicts; for "mcp", which has no streams, the requests.

    Raises:
        FormatError: There is no such provider.
        TypeError: Something in ``calls`` is no call.
    """
    if provider not in STREAMS:
        raise unknown_format(provider, STREAMS)
    return list(STREAMS[provider](Spoken(asked(provider, calls), text, thought), size))


def _pieces(text: str | None, size: int) -> Iterator[str]:
    text = text or ""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _openai(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(spoken.text, size):
        yield chunk({"content": piece})
    for index, call in enumerate(spoken.calls):
        head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in _pieces(json.dumps(dict(call.arguments)), size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if spoken.calls else "stop")
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**chunk({}), "choices": [], "usage": usage}


def _openai_responses(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    numbers = iter(range(10**6))
    whole = RESPONSES["openai-responses"](spoken)
    begun: dict[str, Any] = {**whole, "output": [], "status": "in_progress"}

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **more}

    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        if item["type"] == "function_call":
            yield event(
                "output_item.added", output_index=index, item={**item, "arguments": "", "status": "in_progress"}
            )
            for piece in _pieces(item["arguments"], size):
                yield event("function_call_arguments.delta", output_index=index, item_id=item["id"], delta=piece)
            yield event(
                "function_call_arguments.done",
                output_index=index,
                item_id=item["id"],
                name=item["name"],
                arguments=item["arguments"],
            )
            yield event("output_item.done", output_index=index, item={**item, "status": "completed"})
        elif item["type"] == "message":
            yield event("output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
            (said,) = item["content"]
            at = {"output_index": index, "content_index": 0, "item_id": "msg_1"}
            yield event("content_part.added", **at, part={**said, "text": ""})
            for piece in _pieces(spoken.text, size):
                yield event("output_text.delta", **at, delta=piece, logprobs=[])
            yield event("output_text.done", **at, text=spoken.text, logprobs=[])
            yield event("content_part.done", **at, part=said)
            yield event("output_item.done", output_index=index, item=item)
        else:
            yield event("output_item.added", output_index=index, item={**item, "summary": []})
            yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response={**whole, "status": "completed"})


def _anthropic(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    begun: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    yield {"type": "message_start", "message": {**begun, "stop_reason": None, "stop_sequence": None}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if spoken.thought is not None:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(spoken.thought, size)]
        block = {"type": "thinking", "thinking": "", "signature": ""}
        blocks.append((block, [*deltas, {"type": "signature_delta", "signature": "s1"}]))
    if spoken.text is not None:
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(spoken.text, size)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for call in spoken.calls:
        pieces = [*_pieces(json.dumps(dict(call.arguments)), size)] if call.arguments else [""]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
        blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if spoken.calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


def _google(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}
        return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}

    for piece in _pieces(spoken.thought, size):
        yield chunk({"text": piece, "thought": True})
    for piece in _pieces(spoken.text, size):
        yield chunk({"text": piece})
    for part in RESPONSES["google"](Spoken(spoken.calls))["candidates"][0]["content"]["parts"]:
        yield chunk(part)
    yield {**chunk({"text": ""}, finishReason="STOP"), "usageMetadata": {"totalTokenCount": 2}}


def _ollama(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    def chunk(done: bool = False, **message: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": said, "done": done}

    for piece in _pieces(spoken.thought, size):
        yield chunk(thinking=piece)
    for piece in _pieces(spoken.text, size):
        yield chunk(content=piece)
    for entry in ollama_calls(spoken.calls):
        yield chunk(tool_calls=[entry])
    yield {**chunk(done=True), "done_reason": "stop", "total_duration": 1}


def _bedrock(spoken: Spoken, size: int) -> Iterator[dict[str, Any]]:
    yield {"messageStart": {"role": "assistant"}}
    blocks: list[list[dict[str, Any]]] = []
    if spoken.thought is not None:
        thoughts = [*({"text": piece} for piece in _pieces(spoken.thought, size)), {"signature": "s1"}]
        blocks.append([{"reasoningContent": piece} for piece in thoughts])
    if spoken.text is not None:
        blocks.append([{"text": piece} for piece in _pieces(spoken.text, size)])
    for index, deltas in enumerate(blocks):
        for delta in deltas:
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}
    for index, call in enumerate(spoken.calls, len(blocks)):
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        yield {"contentBlockStart": {"contentBlockIndex": index, "start": start}}
        for piece in _pieces(json.dumps(dict(call.arguments)), size):
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}
    yield {"messageStop": {"stopReason": "tool_use" if spoken.calls else "end_turn"}}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def _mcp(spoken: Spoken, _size: int) -> Iterator[dict[str, Any]]:
    yield from RESPONSES["mcp"](spoken)


STREAMS: dict[str, Callable[[Spoken, int], Iterator[dict[str, Any]]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "mcp": _mcp,
}
