"""Amazon Bedrock's Converse API.

The rules are those of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
(ToolSpecification, ToolUseBlock, ToolResultBlock).
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
    cut_short,
    failed,
    get,
    is_array,
    is_object,
    items_of,
    plain,
    said_again,
)

_EVENTS = frozenset(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
)
_IMAGES = ("png", "jpeg", "gif", "webp")
# By media type, as the API calls them.
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}


class Bedrock(Provider):
    """The format of Bedrock's Converse, as boto3 gives and takes it.

    Every block of the response is said again as it came, reasoning with its signature included.
    """

    name: ClassVar[str] = "bedrock"
    legal_id: ClassVar[re.Pattern[str] | None] = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
    blocks: ClassVar[Blocks | None] = Blocks("content")

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"toolSpec": {...}}``, for ``toolConfig["tools"]``."""
        spec: dict[str, Any] = {"name": name, "inputSchema": {"json": schema}}
        if description:  # an empty one is refused
            spec["description"] = description
        return {"toolSpec": spec}

    def recognises(self, response: object) -> bool:
        """Its output is a message."""
        output = get(response, "output")
        return is_object(output) and get(output.get("message"), "content") is not None

    def read(self, response: object) -> Reply:
        """The blocks of its message."""
        message = get(get(response, "output"), "message")
        calls: list[CallRecord] = []
        native: list[Any] = []
        said: list[str] = []
        for block in items_of(get(message, "content"), "a message's content"):
            use = get(block, "toolUse")
            if _asks(use):
                calls.append(_call(use))
                native.append(Asked())
                continue
            text = get(block, "text")
            if isinstance(text, str):
                if not text.strip():
                    continue  # the API refuses blank texts
                said.append(text)
            native.append(plain(block))
        return Reply(calls, "".join(said) or None, native)

    def recognises_event(self, event: object) -> bool:
        """Its one key is an event's name."""
        return is_object(event) and bool(event.keys() & _EVENTS)

    def assembler(self) -> Assembler:
        """Reads the events of one stream."""
        return _Blocks(self)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message with all blocks, its calls under the ids that the results are sent with."""
        made = [
            {"toolUse": {"toolUseId": answer.id, "name": answer.name, "input": arguments_object(answer.arguments)}}
            for answer in answers
        ]
        if reply.native is None:
            content: list[Any] = [*([{"text": reply.text}] if reply.text and reply.text.strip() else []), *made]
        else:
            content = said_again(reply.native, made)
        return [{"role": "assistant", "content": content}] if content else []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One user message with all results."""
        return [{"role": "user", "content": [{"toolResult": _result(answer)} for answer in answers]}]

    def said(self, message: object) -> Said:
        """The toolUse blocks of an assistant message, the toolResult blocks of a user message."""
        role, content = get(message, "role"), get(message, "content")
        calls: list[CallRecord] = []
        answers: list[Answered] = []
        for place, block in enumerate(content if is_array(content) else ()):
            use, result = get(block, "toolUse"), get(block, "toolResult")
            if role == "assistant" and _asks(use):
                calls.append(_call(use))
            elif role == "user" and result is not None:
                answers.append(Answered.of(get(result, "toolUseId"), block=place))
        return Said(calls, answers, takes=role == "user")


def _asks(use: object) -> bool:
    return use is not None and get(use, "type") != "server_tool_use"  # that one is answered already


def _call(use: object) -> CallRecord:
    return CallRecord.of(get(use, "toolUseId"), get(use, "name"), get(use, "input"))


class _Blocks(Assembler):
    """Puts blocks together; a call is whole when its block stops."""

    def __init__(self, provider: Bedrock) -> None:
        self._provider = provider
        self._blocks: dict[Any, dict[str, Any]] = {}  # by index, in the order they began
        self._input: dict[Any, list[str]] = {}  # pieces of a call's arguments, by index
        self._texts: dict[Any, dict[tuple[str, ...], list[str]]] = {}  # pieces of other texts, by index and place
        self._places: dict[Any, int] = {}  # of the calls, by index
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        fault = next((key for key in event if key.endswith("Exception")), None)
        if fault is not None:
            raise failed(event)
        if (started := event.get("contentBlockStart")) is not None:
            index = get(started, "contentBlockIndex")
            block = self._blocks[index] = plain(get(started, "start") or {})
            if _asks(block.get("toolUse")):
                self._places[index] = len(self._places)
        elif (come := event.get("contentBlockDelta")) is not None:
            self._add(get(come, "contentBlockIndex"), plain(get(come, "delta")))
        elif (stopped := event.get("contentBlockStop")) is not None:
            index = get(stopped, "contentBlockIndex")
            self._close(index)
            if index in self._places:
                return [Whole(self._places[index], _call(self._blocks[index]["toolUse"]))]
        elif "messageStop" in event:
            self._ended = True
        return []

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("messageStop")
        for index in self._blocks:  # one that was not stopped before the message was
            self._close(index)
        return self._provider.read({"output": {"message": {"content": list(self._blocks.values())}}})

    def _add(self, index: Any, delta: Any) -> None:
        block = self._blocks.setdefault(index, {})  # only a call's block has a start
        for key, value in delta.items():
            if key == "toolUse":
                self._input.setdefault(index, []).append(str(get(value, "input") or ""))
            elif key == "text":
                self._texts.setdefault(index, {}).setdefault(("text",), []).append(value)
            elif key == "reasoningContent":
                self._add_reasoning(index, block, value)
            elif key == "citation":
                block.setdefault("citations", []).append(value)

    def _add_reasoning(self, index: Any, block: dict[str, Any], value: dict[str, Any]) -> None:
        if "redactedContent" in value:
            block["reasoningContent"] = {"redactedContent": value["redactedContent"]}
        for key in value.keys() & {"text", "signature"}:
            place = ("reasoningContent", "reasoningText", key)
            self._texts.setdefault(index, {}).setdefault(place, []).append(value[key])

    def _close(self, index: Any) -> None:
        block = self._blocks.setdefault(index, {})
        if (pieces := self._input.pop(index, None)) is not None:
            block["toolUse"]["input"] = arguments_value("".join(pieces))
        for (*outer, key), texts in self._texts.pop(index, {}).items():
            holder = block
            for name in outer:
                holder = holder.setdefault(name, {})
            holder[key] = "".join(texts)
        if "citations" in block:  # the text they are about is theirs
            text = block.pop("text", "")
            self._blocks[index] = {"citationsContent": {"content": [{"text": text}], "citations": block["citations"]}}


def _result(answer: Answer) -> dict[str, Any]:
    return {
        "toolUseId": answer.id,
        "content": [
            _content(part, f"{answer.id} {number}") for number, part in enumerate(answer.parts) if str(part).strip()
        ],
        "status": "success" if answer.ok else "error",
    }


def _content(part: Part, place: str) -> dict[str, Any]:
    if isinstance(part, Text) or not part.data:  # the API takes no empty data
        return {"text": str(part)}
    kind = part.media_type.partition("/")[2]
    if isinstance(part, Image):
        if kind not in _IMAGES:
            return {"text": str(part)}
        return {"image": {"format": kind, "source": {"bytes": part.data}}}
    if part.media_type not in _DOCUMENTS:
        return {"text": str(part)}
    import hashlib  # few results have a document, and it loads all of OpenSSL

    # Its names take few characters, one blank in a row, and no two are the same in one conversation.
    name = re.sub(r"[^a-zA-Z0-9()\[\]-]+", " ", part.name)[:180].strip() or "file"
    name = f"{name} {hashlib.sha256(place.encode()).hexdigest()[:8]}"
    return {"document": {"format": _DOCUMENTS[part.media_type], "name": name, "source": {"bytes": part.data}}}
