"""Ollama's chat API.

The rules are those of https://github.com/ollama/ollama/blob/main/docs/api.md (Generate a chat completion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    CallRecord,
    Provider,
    Reply,
    arguments_object,
    get,
    inlined,
    items_of,
    text_of,
)


class Ollama(Provider):
    """The format of Ollama's chat endpoint.

    Calls have no ids; results go by order and name.  A result is text: images and files are stated by
    kind and size.
    """

    name: ClassVar[str] = "ollama"
    needs_ids: ClassVar[bool] = False

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"type": "function", "function": {...}}``; references in the schema are replaced by what they name."""
        return {
            "type": "function",
            "function": {"name": name, "description": description, "parameters": inlined(schema)},
        }

    def recognises(self, response: object) -> bool:
        """It has one message, and says whether it is done."""
        message = get(response, "message")
        return get(message, "role") is not None and get(response, "done") is not None

    def read(self, response: object) -> Reply:
        """Its message."""
        message = get(response, "message")
        calls: list[CallRecord] = []
        for entry in items_of(get(message, "tool_calls"), "a message's tool_calls"):
            function = get(entry, "function")
            calls.append(CallRecord.of(get(entry, "id"), get(function, "name"), get(function, "arguments")))
        return Reply(calls, text_of(get(message, "content")), text_of(get(message, "thinking")))

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or ""}
        if isinstance(reply.native, str):
            message["thinking"] = reply.native
        if answers:
            message["tool_calls"] = [
                {
                    **({} if answer.id is None else {"id": answer.id}),
                    "function": {"name": answer.name, "arguments": arguments_object(answer.arguments)},
                }
                for answer in answers
            ]
        return [message]

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message for each call."""
        return [
            {
                "role": "tool",
                "tool_name": answer.name,
                **({} if answer.id is None else {"tool_call_id": answer.id}),
                "content": answer.text,
            }
            for answer in answers
        ]
