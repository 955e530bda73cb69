"""A provider of a third party: a model that writes its calls as XML into its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

import toolexec as tx
from toolexec.providing import Answer, CallRecord, Reply, arguments_text, get, text_of, unread

_CALL = re.compile(r"<call\b([^<>]*)>(.*?)</call>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class XML(tx.Provider):
    """``<call name="add" id="1">{"a": 1}</call>`` in a text of the model, ``<result id="1">...</result>`` back.

    A response is ``{"completion": text}``.  Declarations are for the text of a system prompt.  A result is text:
    images and files are stated by kind and size.
    """

    name = "xml"

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"name": ..., "description": ..., "arguments": ...}``."""
        return {"name": name, "description": description, "arguments": schema}

    def recognises(self, response: object) -> bool:
        """It has a completion."""
        return isinstance(get(response, "completion"), str)

    def read(self, response: object) -> Reply:
        """The calls in its text, and what is around them."""
        text = text_of(get(response, "completion"))
        if text is None:
            raise unread("a response without a completion", response)
        calls: list[CallRecord] = []
        for attributes, body in _CALL.findall(text):
            given = {key: unescape(value) for key, value in _ATTRIBUTE.findall(attributes)}
            calls.append(CallRecord(given.get("id"), given.get("name", ""), unescape(body).strip() or None))
        return Reply(calls, _CALL.sub("", text).strip() or None, text)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One message: its text as it came, the calls in it under the ids that the results are sent with."""
        made = [_call(answer) for answer in answers]
        if reply.native is None:
            said = "\n".join([*([reply.text] if reply.text else []), *made])
        else:
            calls = iter(made)
            said = _CALL.sub(lambda _: next(calls), reply.native)
        return [{"role": "assistant", "content": said}] if said else []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One user message with all results."""
        return [{"role": "user", "content": "\n".join(map(_result, answers))}]


def _call(answer: Answer) -> str:
    arguments = escape(arguments_text(answer.arguments), quote=False)
    return f'<call name="{escape(answer.name)}" id="{escape(answer.id or "")}">{arguments}</call>'


def _result(answer: Answer) -> str:
    error = "" if answer.ok else ' error="true"'
    return f'<result id="{escape(answer.id or "")}"{error}>{escape(answer.text, quote=False)}</result>'
