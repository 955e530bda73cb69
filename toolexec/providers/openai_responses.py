"""OpenAI's Responses API.

The rules are those of https://platform.openai.com/docs/api-reference/responses/create (input items, tools).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    Answered,
    Asked,
    Assembler,
    CallRecord,
    Image,
    Part,
    Provider,
    Reply,
    Said,
    Text,
    Whole,
    arguments_text,
    cut_short,
    data_url,
    failed,
    get,
    is_array,
    is_object,
    items_of,
    plain,
    said_again,
    strict_form,
    text_of,
    unread,
)

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class OpenAIResponses(Provider):
    """The format of OpenAI's Responses endpoint: items in, items out.

    The items are said again as they came, because the API knows them by their ids and refuses a call whose
    reasoning is missing, and reasoning without the call that followed it.
    """

    name: ClassVar[str] = "openai-responses"
    legal_id: ClassVar[re.Pattern[str] | None] = re.compile(r".{1,64}", re.DOTALL)

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
            own = _without_nulls(plain(item))
            kind = get(item, "type")
            if not isinstance(kind, str):
                raise unread(f"output item {position} has no type", item)
            if kind == "function_call":
                calls.append(_call(item))
                native.append(Asked(own))
            else:
                native.append(own)
                parts = items_of(get(item, "content"), "an item's content") if kind == "message" else ()
                said.extend(text for part in parts if isinstance(text := get(part, "text"), str))
        return Reply(calls, "".join(said) or None, native, text_of(get(response, "model")))

    def recognises_event(self, event: object) -> bool:
        """Its type is one of a response's."""
        kind = get(event, "type")
        return isinstance(kind, str) and kind.startswith("response.")

    def assembler(self) -> Assembler:
        """Reads the events of one stream."""
        return _Items(self)

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
        return said_again(reply.native, made, _joined)

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One item for each call; parts are content of its output."""
        return [{"type": "function_call_output", "call_id": answer.id, "output": _output(answer)} for answer in answers]

    def said(self, message: object) -> Said:
        """A function_call is a call, a function_call_output an answer; items of the model make one response."""
        kind = get(message, "type")
        if kind == "function_call_output":
            return Said(answers=[Answered.of(get(message, "call_id"))])
        if kind == "function_call":
            return Said([_call(message)], part=True)
        return Said(part=get(message, "role") in (None, "assistant"))


def _call(item: object) -> CallRecord:
    return CallRecord.of(get(item, "call_id"), get(item, "name"), get(item, "arguments"))


class _Items(Assembler):
    """Takes the items as they are done; the deltas before say nothing else."""

    def __init__(self, provider: OpenAIResponses) -> None:
        self._provider = provider
        self._items: dict[Any, Any] = {}  # by their place in the output, in the order they were added
        self._places: dict[Any, int] = {}  # of the calls among them
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        kind = get(event, "type")
        if kind == "error":
            raise failed(event)
        response, index, item = get(event, "response"), get(event, "output_index"), get(event, "item")
        if kind == "response.failed":
            raise failed(get(response, "error"))
        if kind == "response.created":
            self.model = text_of(get(response, "model"))
        elif kind in ("response.completed", "response.incomplete"):
            self._ended = True
        elif kind == "response.output_item.added":
            self._take(index, item)
        elif kind == "response.output_item.done":
            self._take(index, item)
            if index in self._places:
                return [Whole(self._places[index], _call(item))]
        return []

    def _take(self, index: Any, item: object) -> None:
        self._items[index] = item
        if get(item, "type") == "function_call":
            self._places.setdefault(index, len(self._places))

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("response.completed")
        output = list(self._items.values())
        return self._provider.read({"object": "response", "model": self.model, "output": output})


def _joined(own: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """A call's item with what the result is sent under; under another id it is not the API's item any more."""
    if own.get("call_id") != made["call_id"]:
        own = {key: value for key, value in own.items() if key != "id"}
    return {**own, **made}


def _without_nulls(value: Any) -> Any:
    """As the SDK's objects are dumped: the API gives nulls that it does not take."""
    if is_array(value):
        return [_without_nulls(item) for item in value]
    if not is_object(value):
        return value
    return {key: _without_nulls(item) for key, item in value.items() if item is not None}


def _output(answer: Answer) -> Any:
    if all(isinstance(part, Text) for part in answer.parts):
        return answer.text
    return [_content(part) for part in answer.parts]


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if not part.data or (isinstance(part, Image) and part.media_type not in _IMAGES):
        return {"type": "input_text", "text": str(part)}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    return {"type": "input_file", "filename": part.name, "file_data": data_url(part)}
