"""The same calls as each provider's API streams them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from provider_formats import Call, as_sent
from toolexec.testing import stream

# Those that have streams whose end has to be seen.
STREAMS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock")
# What each one's API sends over HTTP: server-sent events, or a JSON object a line.  Bedrock's is binary, and boto3's.
SSE = ("openai", "openai-responses", "anthropic", "google")
LINES = ("ollama",)


def events(provider: str, *calls: Call, text: str = "Let me see.", size: int = 5) -> list[dict[str, Any]]:
    """The events of a whole stream that says the text and asks for the calls, in pieces of ``size`` characters."""
    return stream(provider, as_sent(provider, calls), text, thought="hm", size=size)


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
