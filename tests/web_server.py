"""Serves examples/web_service.py, with a model that does what it is told, until it is told to stop (SIGTERM).

    python web_server.py [timed] [hurried]

What the user says is a script for its model: {"text": ..., "calls": [[name, arguments], ...], "gate": path}; before
the end of such a response it stops at the gate, if there is one.  The last line says that nothing is left.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any

import uvicorn
from openai.types.chat import ChatCompletionChunk
from starlette.middleware import Middleware

import web_service
from providers.strict_openai import check_request
from toolexec.testing import Gate, assert_no_leftovers, stream


async def model(messages: list[Any], tools: list[Any]) -> AsyncGenerator[ChatCompletionChunk]:
    """Refuses what OpenAI would refuse; then that request fails, and its test."""
    check_request({"messages": messages, "tools": tools})
    last = messages[-1]
    script = json.loads(last["content"]) if last["role"] == "user" else {"text": "That was all."}
    # As in a real conversation, no id comes twice.
    calls = [(name, arguments, f"c{len(messages)}-{n}") for n, (name, arguments) in enumerate(script.get("calls", ()))]
    *events, end, usage = stream("openai", calls, script.get("text"))
    for event in events:
        yield ChatCompletionChunk.model_validate(event)
    if "gate" in script:
        await Gate(script["gate"]).apass_through()
    for event in (end, usage):
        yield ChatCompletionChunk.model_validate(event)


def serve() -> None:
    app = web_service.create_app(model, [Middleware(web_service.Timed)] if "timed" in sys.argv else [])
    # Hurried: it does not wait for the requests that are under way.
    limit = 0 if "hurried" in sys.argv else None
    uvicorn.run(app, port=0, timeout_graceful_shutdown=limit)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    # uvicorn ends on it, and then raises it again, for whoever was there before.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with assert_no_leftovers():
        serve()
    logging.getLogger("web_server").info("nothing is left")
