"""Anthropic's Messages API.

The rules are those of https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use: all
results of one response in the very next user message, before any other content, one for each id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    Answered,
    Asked,
    Assembler,
    Blocks,
    CallRecord,
    Image,
    Part,
    Provider,
    Reply,
    Said,
    Text,
    Whole,
    arguments_object,
    arguments_value,
    base64_text,
    cut_short,
    failed,
    get,
    is_array,
    items_of,
    plain,
    said_again,
    strict_form,
    text_of,
    unread,
)

_EVENTS = frozenset(
    (
        *("message_start", "message_delta", "message_stop", "ping", "error"),
        *("content_block_start", "content_block_delta", "content_block_stop"),
    )
)
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class Anthropic(Provider):
    """The format of Anthropic's Messages endpoint.

    Thinking and every other block of the response are said again as they came: the API checks their
    signatures, and who made a call.
    """

    name: ClassVar[str] = "anthropic"
    legal_id: ClassVar[re.Pattern[str] | None] = re.compile(r"[a-zA-Z0-9_-]+")
    blocks: ClassVar[Blocks | None] = Blocks("content")

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"name": ..., "input_schema": ...}``."""
        declared: dict[str, Any] = {"name": name, "input_schema": strict_form(schema) if self.strict else schema}
        if description:
            declared["description"] = description
        if self.strict:
            declared["strict"] = True
        return declared

    def recognises(self, response: object) -> bool:
        """It is a message with content."""
        return get(response, "type") == "message" and get(response, "content") is not None

    def read(self, response: object) -> Reply:
        """The blocks of its content."""
        calls: list[CallRecord] = []
        native: list[Any] = []
        said: list[str] = []
        for position, block in enumerate(items_of(get(response, "content"), "a message's content")):
            kind = get(block, "type")
            if not isinstance(kind, str):
                raise unread(f"content block {position} has no type", block)
            if kind == "tool_use":
                calls.append(_call(block))
                native.append(Asked({key: value for key, value in plain(block).items() if value is not None}))
                continue
            text = get(block, "text") if kind == "text" else None
            if text is not None and not str(text).strip():
                continue  # the API sends blank texts and refuses to get them
            if isinstance(text, str):
                said.append(text)
            native.append(plain(block))
        return Reply(calls, "".join(said) or None, native, text_of(get(response, "model")))

    def recognises_event(self, event: object) -> bool:
        """It is one of the kinds that there are."""
        return get(event, "type") in _EVENTS

    def assembler(self) -> Assembler:
        """Reads the events of one stream."""
        return _Blocks(self)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message with all blocks, its calls under the ids that the results are sent with."""
        made = [
            {
                "type": "tool_use",
                "id": answer.id,
                "name": answer.name,
                "input": arguments_object(answer.arguments),
            }
            for answer in answers
        ]
        if reply.native is None:
            said = [{"type": "text", "text": reply.text}] if reply.text and reply.text.strip() else []
            content = [*said, *made]
        else:
            content = said_again(reply.native, made)
        return [{"role": "assistant", "content": content}] if content else []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One user message with all results."""
        return [{"role": "user", "content": [_result(answer) for answer in answers]}]

    def said(self, message: object) -> Said:
        """The tool_use blocks of an assistant message, the tool_result blocks of a user message."""
        role, content = get(message, "role"), get(message, "content")
        calls: list[CallRecord] = []
        answers: list[Answered] = []
        for place, block in enumerate(content if is_array(content) else ()):
            kind = get(block, "type")
            if role == "assistant" and kind == "tool_use":
                calls.append(_call(block))
            elif role == "user" and kind == "tool_result":
                answers.append(Answered.of(get(block, "tool_use_id"), block=place))
        return Said(calls, answers, takes=role == "user")


def _call(block: object) -> CallRecord:
    return CallRecord.of(get(block, "id"), get(block, "name"), get(block, "input"))


class _Blocks(Assembler):
    """Puts blocks together; a call is whole when its block stops."""

    def __init__(self, provider: Anthropic) -> None:
        self._provider = provider
        self._blocks: dict[Any, dict[str, Any]] = {}  # by index, in the order they began
        self._pieces: dict[Any, dict[str, list[str]]] = {}  # what is still to be put together, by index and field
        self._places: dict[Any, int] = {}  # of the calls, by index
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        kind, index = get(event, "type"), get(event, "index")
        if kind == "error":
            raise failed(get(event, "error") or event)
        if kind == "message_start":
            self.model = text_of(get(get(event, "message"), "model"))
        elif kind == "content_block_start":
            block = self._blocks[index] = plain(get(event, "content_block"))
            if get(block, "type") == "tool_use":
                self._places[index] = len(self._places)
        elif kind == "content_block_delta":
            self._add(index, event)
        elif kind == "content_block_stop" and index in self._blocks:
            self._close(index)
            if index in self._places:
                return [Whole(self._places[index], _call(self._blocks[index]))]
        elif kind == "message_stop":
            self._ended = True
        return []

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("message_stop")
        for index in list(self._pieces):  # a block that was not stopped before the message was
            self._close(index)
        return self._provider.read({"type": "message", "model": self.model, "content": list(self._blocks.values())})

    def _add(self, index: Any, event: object) -> None:
        if index not in self._blocks:
            raise unread("a delta of a content block that has not begun", event)
        delta = get(event, "delta")
        if (citation := get(delta, "citation")) is not None:
            block = self._blocks[index]
            citations: list[Any] = block.get("citations") or []
            citations.append(plain(citation))
            block["citations"] = citations
        for field in ("text", "partial_json", "thinking", "signature"):
            if isinstance(piece := get(delta, field), str):
                self._pieces.setdefault(index, {}).setdefault(field, []).append(piece)

    def _close(self, index: Any) -> None:
        block = self._blocks[index]
        for field, pieces in self._pieces.pop(index, {}).items():
            text = "".join(pieces)
            if field == "partial_json":
                block["input"] = arguments_value(text) if text.strip() else block.get("input")
            else:
                block[field] = (block.get(field) or "") + text


def _result(answer: Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.id}
    if all(isinstance(part, Text) for part in answer.parts):
        result["content"] = answer.text
    else:
        result["content"] = [_content(part) for part in answer.parts if str(part).strip()]
    if not answer.ok:
        result["is_error"] = True
    return result


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, Text) or not part.data:  # the API takes no empty data
        return {"type": "text", "text": str(part)}
    if isinstance(part, Image) and part.media_type in _IMAGES:
        return {"type": "image", "source": _source(part.media_type, part.data)}
    if not isinstance(part, Image) and part.media_type == "application/pdf":
        return {"type": "document", "title": part.name, "source": _source(part.media_type, part.data)}
    return {"type": "text", "text": str(part)}


def _source(media_type: str, data: bytes) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": base64_text(data)}
