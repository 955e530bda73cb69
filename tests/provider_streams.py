"""The same calls as each provider's API streams them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from provider_formats import Call, response

# Those that have streams whose end has to be seen.
STREAMS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock")
# What each one's API sends over HTTP: server-sent events, or a JSON object a line.  Bedrock's is binary, and boto3's.
SSE = ("openai", "openai-responses", "anthropic", "google")
LINES = ("ollama",)


def events(provider: str, *calls: Call, text: str = "Let me see.", size: int = 5) -> list[dict[str, Any]]:
    """The events of a whole stream that says the text and asks for the calls, in pieces of ``size`` characters."""
    return list(_STREAMS[provider](calls, text, size))


def body(provider: str, made: Sequence[dict[str, Any]], *, newline: str = "\n") -> bytes:
    """The events as an HTTP body."""
    if provider in LINES:
        return "".join(f"{json.dumps(event)}{newline}" for event in made).encode()
    lines: list[str] = []
    for event in made:
        if provider in ("anthropic", "openai-responses"):
            lines.append(f"event: {event['type']}")
        # Not escaped: a character of several bytes has to bear a cut too.
        lines += [f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    if provider == "openai":
        lines += ["data: [DONE]", ""]
    return "".join(f"{line}{newline}" for line in lines).encode()


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _openai(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(text, size):
        yield chunk({"content": piece})
    for index, call in enumerate(calls):
        head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in _pieces(json.dumps(call.arguments), size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**chunk({}), "choices": [], "usage": usage}


def _responses(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    numbers = iter(range(10**6))
    whole = response("openai-responses", *calls)
    said = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    whole["output"].insert(1, message)
    begun = {**whole, "output": [], "status": "in_progress"}

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
            at = {"output_index": index, "content_index": 0, "item_id": "msg_1"}
            yield event("content_part.added", **at, part={**said, "text": ""})
            for piece in _pieces(text, size):
                yield event("output_text.delta", **at, delta=piece, logprobs=[])
            yield event("output_text.done", **at, text=text, logprobs=[])
            yield event("content_part.done", **at, part=said)
            yield event("output_item.done", output_index=index, item=item)
        else:
            yield event("output_item.added", output_index=index, item=item)
            yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response={**whole, "status": "completed"})


def _anthropic(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**begun, "stop_reason": None, "stop_sequence": None}}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s1"}],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(text, size)]),
    ]
    for call in calls:
        pieces = [*_pieces(json.dumps(call.arguments), size)] if call.arguments else [""]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
        blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}}
    yield {"type": "message_stop"}


def _google(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}
        return {"candidates": [candidate], "modelVersion": "m", "responseId": "r1"}

    yield chunk({"text": "hm", "thought": True})
    for piece in _pieces(text, size):
        yield chunk({"text": piece})
    for part in response("google", *calls)["candidates"][0]["content"]["parts"][1:]:
        yield chunk(part)
    yield {**chunk({"text": ""}, finishReason="STOP"), "usageMetadata": {"totalTokenCount": 2}}


def _ollama(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    def chunk(done: bool = False, **message: Any) -> dict[str, Any]:
        said = {"role": "assistant", "content": "", **message}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": said, "done": done}

    yield chunk(thinking="h")
    yield chunk(thinking="m")
    for piece in _pieces(text, size):
        yield chunk(content=piece)
    for call in calls:
        yield chunk(tool_calls=[{"function": {"name": call.name, "arguments": call.arguments}}])
    yield {**chunk(done=True), "done_reason": "stop", "total_duration": 1}


def _bedrock(calls: Sequence[Call], text: str, size: int) -> Iterator[dict[str, Any]]:
    yield {"messageStart": {"role": "assistant"}}
    thought = ({"text": "h"}, {"text": "m"}, {"signature": "s1"})
    for reasoning in thought:
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": reasoning}}}
    yield {"contentBlockStop": {"contentBlockIndex": 0}}
    for piece in _pieces(text, size):
        yield {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": piece}}}
    yield {"contentBlockStop": {"contentBlockIndex": 1}}
    for index, call in enumerate(calls, 2):
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        yield {"contentBlockStart": {"contentBlockIndex": index, "start": start}}
        for piece in _pieces(json.dumps(call.arguments), size):
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}
    yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


_STREAMS: dict[str, Callable[[Sequence[Call], str, int], Iterator[dict[str, Any]]]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
    "bedrock": _bedrock,
}
