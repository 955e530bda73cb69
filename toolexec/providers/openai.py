"""OpenAI's chat completions, and the many servers that speak the same.

The rules are those of https://platform.openai.com/docs/api-reference/chat/create (messages, tools).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from toolexec.providing import (
    Answer,
    Answered,
    Assembler,
    CallRecord,
    FormatError,
    Provider,
    Reply,
    Said,
    Whole,
    arguments_text,
    check_no_error,
    cut_short,
    get,
    is_array,
    is_object,
    items_of,
    plain,
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
            raise _outdated()
        entries = items_of(get(message, "tool_calls") or None, "a message's tool_calls")
        calls = [_call(entry, position) for position, entry in enumerate(entries)]
        refusal = text_of(get(message, "refusal"))
        native = {"refusal": refusal} if refusal else None
        return Reply(calls, text_of(get(message, "content")), native, text_of(get(response, "model")))

    def recognises_event(self, event: object) -> bool:
        """It has choices, or wraps what has."""
        return self.recognises(event) or get(event, "chunk") is not None

    def assembler(self) -> Assembler:
        """Reads the chunks of one stream."""
        return _Chunks(self)

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

    def said(self, message: object) -> Said:
        """The calls of an assistant message; a tool message is an answer."""
        role, entries = get(message, "role"), get(message, "tool_calls")
        if role == "tool":
            return Said(answers=[Answered.of(get(message, "tool_call_id"))], own=get(message, "tool_name") is None)
        if role != "assistant" or not is_array(entries):
            return Said()
        calls = [_call(entry, position) for position, entry in enumerate(entries)]
        return Said(calls, own=not any(is_object(call.arguments) for call in calls))  # those would be Ollama's


class _Entry:
    """A call whose pieces are still coming."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.id: Any = None
        self.name = ""
        self.pieces: list[str] = []
        self.told = False

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def add(self, function: object) -> None:
        name, piece = get(function, "name"), get(function, "arguments")
        if isinstance(name, str) and name != self.name:  # some servers say it in every chunk
            self.name += name
        if piece is None or (isinstance(piece, str) and not piece.strip() and (self.told or not piece)):
            return
        if self.told:
            raise unread(f"arguments of {self.name!r} that go on after they were whole", piece)
        self.pieces.append(piece if isinstance(piece, str) else json.dumps(plain(piece)))

    def is_whole(self) -> bool:
        """Whether nothing but blanks can follow: an object has been closed."""
        if not self.pieces or not self.pieces[-1].endswith("}"):  # reading all of it at each piece would take for ever
            return False
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class _Chunks(Assembler):
    """Puts deltas together.

    A call is whole when another begins, if its arguments are an object, or else when the choice has come to
    its end.  Which call a delta belongs to its index says, unless a server leaves that out or gives all of them
    the same: then a new id, or a name after whole arguments, begins another.
    """

    def __init__(self, provider: OpenAI) -> None:
        self._provider = provider
        self._entries: list[_Entry] = []
        self._at: dict[Any, _Entry] = {}  # by index, the last one
        self._last: _Entry | None = None
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        # The SDK's own helper wraps chunks in events, and has more events that say the same again.
        chunk = get(event, "chunk") if get(event, "type") == "chunk" else event
        check_no_error(chunk)
        self.model = text_of(get(chunk, "model")) or self.model
        wholes: list[Whole] = []
        for choice in items_of(get(chunk, "choices"), "a chunk's choices"):
            if get(choice, "index") in (0, None):
                wholes += self._take(choice)
        return wholes

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("finish_reason")
        message: dict[str, Any] = {key: "".join(texts) or None for key, texts in self._texts.items()}
        if self._entries:
            message["tool_calls"] = [
                {"id": entry.id, "function": {"name": entry.name, "arguments": entry.arguments}}
                for entry in self._entries
            ]
        return self._provider.read({"model": self.model, "choices": [{"message": message}]})

    def _take(self, choice: object) -> list[Whole]:
        delta = get(choice, "delta")
        if get(delta, "function_call") is not None:
            raise _outdated()
        for key, texts in self._texts.items():
            if isinstance(text := get(delta, key), str):
                texts.append(text)
        wholes: list[Whole] = []
        for piece in items_of(get(delta, "tool_calls"), "a delta's tool_calls"):
            entry, before = self._entry_of(piece), self._last
            if before is not None and before is not entry and not before.told and before.is_whole():
                wholes.append(self._tell(before))
            entry.add(get(piece, "function"))
            self._last = entry
        if get(choice, "finish_reason") is not None:
            self._ended = True
            wholes += [self._tell(entry) for entry in self._entries if not entry.told]
        return wholes

    def _entry_of(self, piece: object) -> _Entry:
        index, own_id = get(piece, "index"), get(piece, "id")
        entry = self._at.get(index)
        if (
            entry is None
            or (own_id and entry.id and own_id != entry.id)
            or (index is None and not own_id and get(get(piece, "function"), "name") and entry.is_whole())
        ):
            entry = self._at[index] = _Entry(len(self._entries))
            self._entries.append(entry)
        entry.id = entry.id or own_id
        return entry

    @staticmethod
    def _tell(entry: _Entry) -> Whole:
        entry.told = True
        return Whole(entry.place, CallRecord.of(entry.id, entry.name, entry.arguments))


def _outdated() -> FormatError:
    return FormatError("a message with function_call, which tool_calls have replaced: ask the model with tools=")


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
