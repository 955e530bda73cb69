"""OpenAI's chat completions, and the many servers that speak the same.

The rules are those of https://platform.openai.com/docs/api-reference/chat/create (messages, tools).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    CallRecord,
    FormatError,
    Provider,
    Reply,
    arguments_text,
    get,
    items_of,
    strict_form,
    text_of,
    unread,
)


class OpenAI(Provider):
    """The format of OpenAI's chat endpoint.

    A tool's result is text here: images and files are stated by kind and size.
    """

    name: ClassVar[str] = "openai"
    legal_id: ClassVar[re.Pattern[str] | None] = re.compile(r".{1,40}", re.DOTALL)

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"type": "function", "function": {...}}``."""
        declared: dict[str, Any] = {"name": name, "description": description, "parameters": schema}
        if self.strict:
            declared["parameters"] = strict_form(schema)
            declared["strict"] = True
        return {"type": "function", "function": declared}

    def recognises(self, response: object) -> bool:
        """It has choices."""
        return get(response, "choices") is not None

    def read(self, response: object) -> Reply:
        """The first choice.

        A call of a kind that is not known here, or without a name, is a call of a tool that is not there:
        it has to be answered like the others.
        """
        message = _message(response)
        if get(message, "tool_calls") is None and get(message, "function_call") is not None:
            raise FormatError("a message with function_call, which tool_calls have replaced: ask the model with tools=")
        entries = items_of(get(message, "tool_calls") or None, "a message's tool_calls")
        calls = [_call(entry, position) for position, entry in enumerate(entries)]
        refusal = text_of(get(message, "refusal"))
        return Reply(calls, text_of(get(message, "content")), {"refusal": refusal} if refusal else None)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message; its calls under the ids that the results are sent with."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text, **(reply.native or {})}
        if answers:
            message["tool_calls"] = [
                {
                    "id": answer.id,
                    "type": "function",
                    "function": {"name": answer.name, "arguments": arguments_text(answer.arguments)},
                }
                for answer in answers
            ]
        # The API takes no message that says nothing at all.
        return [message] if answers or reply.text is not None or reply.native else []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message for each call."""
        return [{"role": "tool", "tool_call_id": answer.id, "content": answer.text} for answer in answers]


def _message(response: object) -> object:
    choices = get(response, "choices")
    if isinstance(choices, str) or not hasattr(choices, "__getitem__") or not choices:
        raise unread("a chat completion without choices", response)
    message = get(choices[0], "message")
    if not _has_parts(message):
        raise unread("a chat completion whose first choice has no message", response)
    return message


def _call(entry: object, position: int) -> CallRecord:
    if not _has_parts(entry):
        raise unread(f"tool call {position} is no call", entry)
    function = get(entry, "function")
    return CallRecord.of(get(entry, "id"), get(function, "name"), get(function, "arguments"))


def _has_parts(value: object) -> bool:
    """Whether a value may be an object of a response: a dict, or one of an SDK's."""
    return value is not None and not isinstance(value, str | int | float | list)
