"""Amazon Bedrock's Converse API.

The rules are those of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
(ToolSpecification, ToolUseBlock, ToolResultBlock).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    Asked,
    CallRecord,
    Image,
    Part,
    Provider,
    Reply,
    Text,
    arguments_object,
    get,
    is_object,
    items_of,
    plain,
    said_again,
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
            if use is not None and get(use, "type") != "server_tool_use":  # that one is answered already
                calls.append(CallRecord.of(get(use, "toolUseId"), get(use, "name"), get(use, "input")))
                native.append(Asked())
                continue
            text = get(block, "text")
            if isinstance(text, str):
                if not text.strip():
                    continue  # the API refuses blank texts
                said.append(text)
            native.append(plain(block))
        return Reply(calls, "".join(said) or None, native)

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
    # Its names take few characters, one blank in a row, and no two are the same in one conversation.
    name = re.sub(r"[^a-zA-Z0-9()\[\]-]+", " ", part.name)[:180].strip() or "file"
    name = f"{name} {hashlib.sha256(place.encode()).hexdigest()[:8]}"
    return {"document": {"format": _DOCUMENTS[part.media_type], "name": name, "source": {"bytes": part.data}}}
