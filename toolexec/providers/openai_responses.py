"""OpenAI's Responses API.

The rules are those of https://platform.openai.com/docs/api-reference/responses/create (input items, tools).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolexec.providing import (
    Answer,
    CallRecord,
    Image,
    Part,
    Provider,
    Reply,
    Text,
    arguments_text,
    data_url,
    get,
    id_text,
    items_of,
    plain,
    strict_form,
    unread,
)


class OpenAIResponses(Provider):
    """The format of OpenAI's Responses endpoint: items in, items out.

    The items beside the calls (reasoning above all) are said again as they came, because the API refuses
    a call whose reasoning is missing.
    """

    name = "openai-responses"

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"type": "function", "name": ...}``, flat."""
        return {
            "type": "function",
            "name": name,
            "description": description,
            "parameters": strict_form(schema) if self.strict else schema,
            "strict": self.strict,  # left out, this API takes it as true
        }

    def recognises(self, response: object) -> bool:
        """It says that it is a response and has output."""
        return get(response, "object") == "response" and get(response, "output") is not None

    def read(self, response: object) -> Reply:
        """The items of its output."""
        items = items_of(get(response, "output"), "a response's output")
        calls: list[CallRecord] = []
        native: list[Any] = []
        said: list[str] = []
        for position, item in enumerate(items):
            kind = get(item, "type")
            if not isinstance(kind, str):
                raise unread(f"output item {position} has no type", item)
            if kind == "function_call":
                name = get(item, "name")
                calls.append(
                    CallRecord(
                        id_text(get(item, "call_id")), name if isinstance(name, str) else "", get(item, "arguments")
                    )
                )
                native.append(None)  # its place; what stands there is made from the call
            else:
                native.append(plain(item))
                parts = items_of(get(item, "content"), "an item's content") if kind == "message" else ()
                said.extend(text for part in parts if isinstance(text := get(part, "text"), str))
        return Reply(calls, "".join(said) or None, native)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """The output's items, its calls under the ids that the results are sent with."""
        made = [
            {
                "type": "function_call",
                "call_id": answer.id,
                "name": answer.name,
                "arguments": arguments_text(answer.arguments),
            }
            for answer in answers
        ]
        if reply.native is None:
            return [*([{"role": "assistant", "content": reply.text}] if reply.text else []), *made]
        calls = iter(made)
        return [next(calls) if item is None else item for item in reply.native]

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One item for each call; parts are content of its output."""
        return [{"type": "function_call_output", "call_id": answer.id, "output": _output(answer)} for answer in answers]


def _output(answer: Answer) -> Any:
    if all(isinstance(part, Text) for part in answer.parts):
        return answer.text
    return [_content(part) for part in answer.parts]


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    return {"type": "input_file", "filename": part.name, "file_data": data_url(part)}
