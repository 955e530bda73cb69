"""The same calls as each provider's API sends them, and what its answers look like taken apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolexec import testing

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
    """A whole response that thinks, says something where that matters here, and asks for the calls."""
    made = testing.response(provider, as_sent(provider, calls), _TEXTS.get(provider), thought="hm")
    if provider == "anthropic":
        made["content"].insert(1, {"type": "text", "text": ""})  # as it comes, and is refused when sent back
    return made


def as_sent(provider: str, calls: Sequence[Call]) -> list[Call]:
    """The calls without ids where the API is known for sending none, or numbers its requests itself."""
    return [call._replace(id=None) for call in calls] if provider in ("ollama", "mcp") else list(calls)


# Bedrock refuses a blank text when it is sent back.
_TEXTS = {"anthropic": "Let me see.", "google": "Let me see.", "bedrock": " "}


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
    "mcp": lambda m: (
        Result(m["id"], m["error"]["data"], failed=True)
        if "error" in m
        else Result(m["id"], _text(m["result"]["content"]), m["result"]["isError"])
    ),
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
