"""OpenAI's chat format: calls out of a response, results into messages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from toolexec._arguments import excerpt
from toolexec._errors import DeclarationError, FormatError
from toolexec._json import encode, is_array, is_object
from toolexec._schema import strict_form

# What the API takes; from its reference of the chat endpoint.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Described(Protocol):
    """What a declaration is made from; a Function is one."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def params(self) -> dict[str, Any]: ...


class OpenAI:
    """Declares tools in the format of OpenAI's chat endpoint; for ``Function.adapt`` and ``Context.declarations``.

    Attributes:
        strict: Whether the model is held to the schema, which then has the strict form: every
            parameter is required, and null means that one is left out.
    """

    __slots__ = ("strict",)

    def __init__(self, *, strict: bool = False) -> None:
        self.strict: bool = strict

    def adapt_function(self, function: Described) -> dict[str, Any]:
        """The declaration of one tool.

        Raises:
            DeclarationError: The API does not take its name; or, where strict, its parameters.
        """
        name = function.name
        if _NAME.fullmatch(name) is None:
            raise DeclarationError(
                f"tool {excerpt(name)!r}: OpenAI takes names of 1 to 64 letters, digits, _ and -; give it another name"
            )
        declared: dict[str, Any] = {
            "name": name,
            "description": function.description,
            "parameters": dict(function.params),
        }
        if self.strict:
            try:
                declared["parameters"] = strict_form(function.params)
            except ValueError as exc:
                raise DeclarationError(f"tool {name!r}: {exc}; leave strict out for it") from None
            declared["strict"] = True
        return {"type": "function", "function": declared}


def provider_of(provider: Any) -> Any:
    """The object that knows a provider's format, by name or itself.

    Raises:
        FormatError: There is none of that name, or it cannot declare a tool.
    """
    if provider == "openai":
        return OpenAI()
    if not callable(getattr(provider, "adapt_function", None)):
        raise FormatError(
            f"{provider!r} declares no tools: give 'openai', or an object with a method adapt_function(function)"
        )
    return provider


class CallRecord(NamedTuple):
    """One call as a response has it.

    Attributes:
        id: As the model sent it, or None.
        name: The tool's name, possibly empty or made up.
        arguments: A dict, JSON text or None.
    """

    id: str | None
    name: str
    arguments: Any


def is_response(response: object) -> bool:
    """Whether it looks like a chat completion, as an SDK object or as a dict."""
    return _get(response, "choices") is not None


def content(response: object) -> Any:
    """The text beside the calls, or None."""
    return _get(_message(response), "content")


def calls(response: object) -> list[CallRecord]:
    """The calls of a chat completion's first choice, in order.

    One of a kind that is not known here, or without a name, is a call of a tool that is not there:
    it has to be answered like the others.

    Raises:
        FormatError: It has no message, or its calls are no list of calls.
    """
    message = _message(response)
    if _get(message, "tool_calls") is None and _get(message, "function_call") is not None:
        raise FormatError("a message with function_call, which tool_calls have replaced: ask the model with tools=")
    entries: object = _get(message, "tool_calls") or []
    if not is_array(entries):
        raise FormatError(f"a message whose tool_calls are no list: {excerpt(repr(entries))}")
    return [_call(entry, position) for position, entry in enumerate(entries)]


def call_dict(entry: object, position: int) -> CallRecord:
    """One call of a plain list: ``{"id", "name", "arguments"}``, or as OpenAI nests it.

    Raises:
        FormatError: It names no tool.
    """
    if not is_object(entry):
        raise FormatError(f"call {position} is a {type(entry).__name__}: a call is a dict with name and arguments")
    if is_object(_get(entry, "function")):
        record = _call(entry, position)
        if record.name:
            return record
    name = _get(entry, "name")
    if not isinstance(name, str):
        raise FormatError(
            f"call {position} has no name: {excerpt(repr(entry))}; a call is {{'name': ..., 'arguments': ...}}"
        )
    return CallRecord(_id(_get(entry, "id")), name, _get(entry, "arguments"))


def unique_ids(ids: Sequence[str | None]) -> list[str]:
    """An id for every call: its own, unless it has none or another call before it has it already."""
    seen: set[str] = set()
    unique: list[str] = []
    for given in ids:
        own = None if given is None else legal(given)
        wanted = own if own and own not in seen else f"call_{secrets.token_hex(12)}"
        seen.add(wanted)
        unique.append(wanted)
    return unique


def result_message(id: str, text: str) -> dict[str, Any]:
    """The message that answers one call."""
    return {"role": "tool", "tool_call_id": id, "content": text}


def legal(text: str) -> str:
    """The text without lone surrogates: a str may hold them, a request body may not."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def assistant_message(ids: Sequence[str], records: Sequence[CallRecord], text: Any) -> dict[str, Any]:
    """The assistant message that made the calls, under the ids that its results are sent with."""
    return {
        "role": "assistant",
        "content": legal(text) if isinstance(text, str) else text,
        "tool_calls": [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": legal(record.name), "arguments": legal(_text(record.arguments))},
            }
            for call_id, record in zip(ids, records, strict=True)
        ],
    }


def _message(response: object) -> object:
    choices: object = _get(response, "choices")
    if not is_array(choices) or not choices:
        raise FormatError(f"a chat completion without choices: {excerpt(repr(response))}")
    message = _get(choices[0], "message")
    if not _has_parts(message):
        raise FormatError(f"a chat completion whose first choice has no message: {excerpt(repr(response))}")
    return message


def _call(entry: object, position: int) -> CallRecord:
    if not _has_parts(entry):
        raise FormatError(f"tool call {position} is no call: {excerpt(repr(entry))}")
    function = _get(entry, "function")
    name = _get(function, "name")
    return CallRecord(_id(_get(entry, "id")), name if isinstance(name, str) else "", _get(function, "arguments"))


def _has_parts(value: object) -> bool:
    """Whether a value may be an object of a response: a dict, or one of an SDK's."""
    return value is not None and not isinstance(value, str | int | float | list)


def _id(value: object) -> str | None:
    return None if value is None else str(value)


def _get(holder: object, name: str) -> Any:
    if is_object(holder):
        return holder.get(name)
    return getattr(holder, name, None)


def _text(arguments: Any) -> str:
    if arguments is None:
        return "{}"
    return arguments if isinstance(arguments, str) else encode(arguments)
