"""Ollama's chat API.

The rules are those of https://github.com/ollama/ollama/blob/main/docs/api.md (Generate a chat completion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    Answered,
    Assembler,
    CallRecord,
    Provider,
    Reply,
    Said,
    Whole,
    arguments_object,
    check_no_error,
    cut_short,
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
        calls = [_call(entry) for entry in items_of(get(message, "tool_calls"), "a message's tool_calls")]
        thinking, model = text_of(get(message, "thinking")), text_of(get(response, "model"))
        return Reply(calls, text_of(get(message, "content")), thinking, model)

    def assembler(self) -> Assembler:
        """Reads the responses that make up one stream."""
        return _Messages(self)

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

    def said(self, message: object) -> Said:
        """The calls of an assistant message; a tool message is an answer."""
        role = get(message, "role")
        if role == "tool":
            call_id, name = get(message, "tool_call_id"), get(message, "tool_name")
            return Said(answers=[Answered.of(call_id, name)], own=call_id is None or name is not None)
        calls = self.read({"message": message}).calls if role == "assistant" else ()
        return Said(calls, own=not any(isinstance(call.arguments, str) for call in calls))  # those would be OpenAI's

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


def _call(entry: object) -> CallRecord:
    function = get(entry, "function")
    return CallRecord.of(get(entry, "id"), get(function, "name"), get(function, "arguments"))


class _Messages(Assembler):
    """Puts messages together: a call comes in one, whole."""

    def __init__(self, provider: Ollama) -> None:
        self._provider = provider
        self._texts: dict[str, list[str]] = {"content": [], "thinking": []}
        self._entries: list[Any] = []
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        check_no_error(event)
        self.model = text_of(get(event, "model")) or self.model
        message = get(event, "message")
        for key, texts in self._texts.items():
            if isinstance(text := get(message, key), str):
                texts.append(text)
        come = items_of(get(message, "tool_calls"), "a message's tool_calls")
        self._entries += come
        self._ended |= get(event, "done") is True
        return [Whole(len(self._entries) - len(come) + n, _call(entry)) for n, entry in enumerate(come)]

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("done")
        message: dict[str, Any] = {key: "".join(texts) or None for key, texts in self._texts.items()}
        return self._provider.read({"model": self.model, "message": {**message, "tool_calls": self._entries}})
