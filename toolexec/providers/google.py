"""Google's Gemini API.

The rules are those of https://ai.google.dev/gemini-api/docs/function-calling and, for what a declaration's
schema may hold, of https://ai.google.dev/api/caching#Schema.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

from toolexec.providing import (
    Answer,
    Answered,
    Asked,
    Assembler,
    Blocks,
    CallRecord,
    Provider,
    Reply,
    Said,
    Text,
    Whole,
    arguments_object,
    base64_text,
    check_no_error,
    cut_short,
    get,
    inlined,
    is_array,
    is_object,
    items_of,
    plain,
    said_again,
    text_of,
    unread,
)

# What a Schema of the API has, of what JSON Schema has too.
_KEPT = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "default", "enum", "anyOf"),
        *("items", "minItems", "maxItems", "properties", "required", "minProperties", "maxProperties"),
        *("minimum", "maximum", "minLength", "maxLength", "pattern"),
    )
)
# A type is asked for, and there is none for all; an object would need properties, and a list items.
_ANYTHING = ("string", "number", "boolean")
# These need more than to be copied.
_CHOICES = frozenset(("enum", "anyOf", "type"))
# What a response may show; the rest is stated by its kind and size.
_SHOWN = frozenset(("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"))
_FORMATS = frozenset(("int32", "int64", "float", "double", "enum", "date-time"))


class Google(Provider):
    """The format of Google's generateContent endpoint.

    A call has an id here only where the model sent one; results go by order and name.
    """

    name: ClassVar[str] = "google"
    legal_name: ClassVar[re.Pattern[str]] = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*")
    needs_ids: ClassVar[bool] = False
    blocks: ClassVar[Blocks | None] = Blocks("parts", alone=True)

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """A function declaration; its schema in the subset that the API takes."""
        declared: dict[str, Any] = {"name": name, "description": description}
        if schema.get("properties"):  # an object without properties is refused
            declared["parameters"] = _subset(inlined(schema))
        return declared

    def together(self, declared: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One tool that has all the functions."""
        return [{"functionDeclarations": declared}] if declared else []

    def recognises(self, response: object) -> bool:
        """It has candidates."""
        return get(response, "candidates") is not None

    def read(self, response: object) -> Reply:
        """The parts of the first candidate."""
        candidates = items_of(get(response, "candidates"), "a response's candidates")
        if not candidates:
            raise unread("a response without candidates", response)
        content = get(candidates[0], "content")
        calls: list[CallRecord] = []
        native: list[Any] = []
        said: list[str] = []
        for part in items_of(get(content, "parts"), "a content's parts"):
            call = _call(part)
            if call is not None:
                calls.append(_record(call))
            text = get(part, "text")
            if isinstance(text, str) and not get(part, "thought"):
                said.append(text)
            own = _own(part)
            native.append(own if call is None else Asked(own))
        return Reply(calls, "".join(said) or None, native, _model(response))

    def recognises_event(self, event: object) -> bool:
        """It has candidates, or says what an answer without them came to."""
        return any(
            get(event, name) is not None
            for name in ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata")
        )

    def assembler(self) -> Assembler:
        """Reads the responses that make up one stream."""
        return _Parts(self)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One content of the model; its parts keep their thought signatures, which the API checks."""
        made = [
            {"functionCall": {**_id(answer), "name": answer.name, "args": arguments_object(answer.arguments)}}
            for answer in answers
        ]
        if reply.native is None:
            parts: list[Any] = [*([{"text": reply.text}] if reply.text else []), *made]
        else:
            parts = said_again(reply.native, made)
        return [{"role": "model", "parts": parts}] if parts else []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One content of the user, with as many responses as there were calls, in their order."""
        return [{"role": "user", "parts": [{"functionResponse": _response(answer)} for answer in answers]}]

    def said(self, message: object) -> Said:
        """The calls of a model's content, the responses of any other."""
        by_model, parts = get(message, "role") == "model", get(message, "parts")
        calls: list[CallRecord] = []
        answers: list[Answered] = []
        for place, part in enumerate(parts if is_array(parts) else ()):
            call, answer = _call(part), _first(part, "functionResponse", "function_response")
            if by_model and call is not None:
                calls.append(_record(call))
            elif not by_model and answer is not None:
                answers.append(Answered.of(get(answer, "id"), get(answer, "name"), place))
        return Said(calls, answers, takes=not by_model and parts is not None)


def _call(part: object) -> Any:
    return _first(part, "functionCall", "function_call")


def _record(call: object) -> CallRecord:
    return CallRecord.of(get(call, "id"), get(call, "name"), get(call, "args"))


def _first(part: object, *names: str) -> Any:
    """A field under the first of its names that has one: the wire's, or the SDK's."""
    return next((value for name in names if (value := get(part, name)) is not None), None)


def _model(response: object) -> str | None:
    return text_of(_first(response, "modelVersion", "model_version"))


class _Parts(Assembler):
    """Collects parts: a call comes in one, whole."""

    def __init__(self, provider: Google) -> None:
        self._provider = provider
        self._parts: list[dict[str, Any]] = []
        self._texts: list[str] | None = None  # of the last part, while it is plain text that goes on
        self._calls = 0
        self._ended = False

    def feed(self, event: Any) -> list[Whole]:
        check_no_error(event)
        self.model = _model(event) or self.model
        wholes: list[Whole] = []
        for candidate in items_of(get(event, "candidates"), "a response's candidates")[:1]:
            for part in items_of(get(get(candidate, "content"), "parts"), "a content's parts"):
                wholes += self._take(part)
            self._ended |= _first(candidate, "finishReason", "finish_reason") is not None
        return wholes

    def finish(self) -> Reply:
        if not self._ended:
            raise cut_short("finishReason")
        self._close()
        content = {"role": "model", "parts": self._parts}
        return self._provider.read({"modelVersion": self.model, "candidates": [{"content": content}]})

    def _take(self, part: object) -> list[Whole]:
        call = _call(part)
        own = _own(part)
        if call is not None:
            self._close()
            if any(get(call, name) for name in ("willContinue", "will_continue", "partialArgs", "partial_args")):
                raise unread("arguments in pieces, which are not read: leave streamFunctionCallArguments off", part)
            self._parts.append({**own, "functionCall": plain(call)})
            self._calls += 1
            return [Whole(self._calls - 1, _record(call))]
        going_on = self._parts[-1] if self._texts is not None else None
        text = own.get("text")
        if going_on is not None and isinstance(text, str) and going_on.get("thought") == own.get("thought"):
            assert self._texts is not None
            self._texts.append(text)
            going_on.update({key: value for key, value in own.items() if key != "text"})
        else:
            self._close()
            self._parts.append(own)
            self._texts = [text] if isinstance(text, str) else None
        if own.keys() - {"text", "thought"}:  # a signature closes what it signs
            self._close()
        return []

    def _close(self) -> None:
        if self._texts is not None:
            self._parts[-1]["text"] = "".join(self._texts)
            self._texts = None
            if self._parts[-1] == {"text": ""}:
                self._parts.pop()


def _own(part: object) -> dict[str, Any]:
    """The part as a request takes it: without its call, and the fields it does not have, which a dump has as null."""
    given = plain(part)
    if not is_object(given):
        raise unread("a content's part is no object", part)
    calls = ("functionCall", "function_call")
    return {key: _as_text(value) for key, value in given.items() if value is not None and key not in calls}


def _as_text(value: Any) -> Any:
    """Bytes of an SDK's own dict, such as a thought signature, as JSON has them."""
    if isinstance(value, bytes):
        return base64_text(value)
    return {key: _as_text(item) for key, item in value.items()} if is_object(value) else value


def _id(answer: Answer) -> dict[str, str]:
    return {} if answer.id is None else {"id": answer.id}


def _response(answer: Answer) -> dict[str, Any]:
    response: dict[str, Any] = {
        **_id(answer),
        "name": answer.name,
        "response": {"output" if answer.ok else "error": answer.text},
    }
    shown = [part for part in answer.parts if not isinstance(part, Text) and part.media_type in _SHOWN]
    if shown:
        said = "\n".join(str(part) for part in answer.parts if part not in shown)
        response["response"] = {"output": said or "see the parts"}
        response["parts"] = [
            {"inlineData": {"mimeType": part.media_type, "data": base64_text(part.data)}} for part in shown
        ]
    return response


def _subset(schema: Any) -> Any:
    """The schema in the words that the API knows; what it has no word for is left out, never the values."""
    given = cast("dict[str, Any]", schema)
    if len(given.get("allOf", ())) == 1:
        given = {**given["allOf"][0], **given}
    made = {key: _word(key, value) for key, value in given.items() if key in _KEPT and key not in _CHOICES}
    if made.get("format") not in _FORMATS:
        made.pop("format", None)
    if not made.get("properties"):
        made.pop("properties", None)
    if "prefixItems" in given:
        made["items"] = _either([_subset(item) for item in given["prefixItems"]])
    _add_kinds(made, given)
    values = [given["const"]] if "const" in given else given.get("enum")
    if values is not None:
        _add_values(made, list(values))
    if made.get("type") == "array" and not is_object(made.get("items")):
        made["items"] = _anything()  # the API asks for items, and a list of anything has none
    elif made.get("type") == "object" and not made.get("properties"):
        # The API asks for properties, and a dict has none.  JSON text is taken for any object that is declared.
        for word in ("default", "minProperties", "maxProperties"):
            made.pop(word, None)
        made["type"] = "string"
        _add_words(made, "a JSON object")
    elif "type" not in made and "anyOf" not in made:
        made.update(_anything())
    return made


def _word(key: str, value: Any) -> Any:
    if key == "properties":
        return {name: _subset(inner) for name, inner in value.items()}
    return _subset(value) if key == "items" and is_object(value) else value


def _add_kinds(made: dict[str, Any], given: dict[str, Any]) -> None:
    kinds = given.get("type")
    if is_array(kinds):
        _add_members(made, [{"type": kind} for kind in kinds])
    elif kinds is not None:
        made["type"] = kinds
    members = given.get("anyOf") or given.get("oneOf")
    if members:
        _add_members(made, [_subset(member) for member in members])


def _either(members: list[Any]) -> Any:
    different = [member for place, member in enumerate(members) if member not in members[:place]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def _add_members(made: dict[str, Any], members: list[dict[str, Any]]) -> None:
    others = [member for member in members if member.get("type") != "null"]
    if len(others) < len(members):
        made["nullable"] = True
    if len(others) == 1:
        texts = [text for text in (made.get("description"), others[0].get("description")) if text]
        made.update({**others[0], **made})
        if len(texts) == 2 and texts[0] != texts[1]:
            _add_words(made, texts[1])
    elif others:
        made["anyOf"] = others


def _add_values(made: dict[str, Any], values: list[Any]) -> None:
    if None in values:
        made["nullable"] = True
        values = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in values):
        if values:
            made["type"], made["enum"] = "string", values
        return
    # Its enum holds strings only: other values are told in words, and held to when the call comes.
    _add_words(made, "one of " + ", ".join(map(repr, values)))
    if "type" not in made:
        whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        made["type"] = "integer" if whole else "string"


def _add_words(made: dict[str, Any], words: str) -> None:
    made["description"] = f"{made['description']} ({words})" if made.get("description") else words


def _anything() -> dict[str, Any]:
    return {"anyOf": [{"type": kind} for kind in _ANYTHING]}
