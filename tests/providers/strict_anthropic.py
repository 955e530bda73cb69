"""What Anthropic's Messages endpoint refuses.

The rules are those of https://docs.anthropic.com/en/api/messages (messages, tools), of
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use and
https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking; each names its own.
"""

from __future__ import annotations

import re
from typing import Any

from providers.strict_rules import check_name, check_schema, no_other_keys, require

_CALL = {"type", "id", "name", "input", "caller", "toolset_name", "cache_control"}
_RESULT = {"type", "tool_use_id", "content", "is_error", "toolset_name", "cache_control"}


def check_request(body: dict[str, Any]) -> None:
    """Take a request, or say why the API would not.

    Raises:
        ValueError, AssertionError: It is refused; why.
    """
    _check_tools(body.get("tools"))
    # api/messages, max_tokens: required
    require(isinstance(body.get("max_tokens"), int), "no max_tokens")
    messages = body.get("messages")
    assert isinstance(messages, list), "messages is no list"
    require(messages, "no messages")
    open_ids: list[str] = []
    known_ids: set[str] = set()
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        no_other_keys(message, {"role", "content"}, where)
        role, content = message.get("role"), message.get("content")
        # api/messages, messages, role: user or assistant, and the first is the user's
        require(role in ("user", "assistant"), f"{where}: role {role!r}")
        require(position or role == "user", f"{where}: the first message is not the user's")
        # implement-tool-use: "Tool result blocks must immediately follow their corresponding tool use blocks"
        require(role == "user" or not open_ids, f"{where}: no tool_result answers {open_ids}")
        if isinstance(content, str):
            # The API: "text content blocks must be non-empty", and "must contain non-whitespace text"
            require(content.strip(), f"{where}: blank content")
            content = []
        else:
            assert isinstance(content, list), f"{where}: content is {content!r}"
            # The API: "all messages must have non-empty content"
            require(content, f"{where}: content is empty")
        if role == "user":
            _check_user(content, open_ids, where)
            # implement-tool-use: all results of a response in one user message
            require(not open_ids, f"{where}: no tool_result answers {open_ids}")
        else:
            open_ids = _check_assistant(content, known_ids, where)
    require(not open_ids, f"no tool_result answers {open_ids}")


def _check_user(content: list[Any], open_ids: list[str], where: str) -> None:
    other = False
    for block in content:
        if block.get("type") != "tool_result":
            _check_block(block, where, ("text", "image", "document"))
            other = True
            continue
        # implement-tool-use: "the tool_result blocks must come first in the content array"
        require(not other, f"{where}: a tool_result after other content")
        no_other_keys(block, _RESULT, where)
        call_id = block.get("tool_use_id")
        # The API: "unexpected tool_use_id found in tool_result blocks", "each tool_use must have a single result"
        require(call_id in open_ids, f"{where}: {call_id!r} answers no open call")
        # Stricter than the API, which takes any order: results stand in the order of the calls
        require(call_id == open_ids[0], f"{where}: {call_id!r} comes before {open_ids[0]!r}")
        open_ids.pop(0)
        require(isinstance(block.get("is_error", False), bool), f"{where}: is_error is no bool")
        result = block.get("content")
        if isinstance(result, str):
            # Stricter than the API, which takes an empty result; here none ever is
            require(result.strip(), f"{where}: blank result")
            continue
        assert isinstance(result, list), f"{where}: a result's content is {result!r}"
        require(result, f"{where}: an empty result")
        for part in result:
            # api/messages, tool_result, content: text, image and document blocks
            _check_block(part, where, ("text", "image", "document"))


def _check_assistant(content: list[Any], known_ids: set[str], where: str) -> list[str]:
    ids: list[str] = []
    for block in content:
        if block.get("type") != "tool_use":
            _check_block(block, where, ("text", "thinking", "redacted_thinking", "server_tool_use"))
            continue
        no_other_keys(block, _CALL, where)
        call_id = block.get("id")
        # The API: "String should match pattern '^[a-zA-Z0-9_-]+$'"
        legal = isinstance(call_id, str) and re.fullmatch(r"[a-zA-Z0-9_-]+", call_id)
        require(legal, f"{where}: illegal id {call_id!r}")
        # The API: "`tool_use` ids must be unique"
        require(call_id not in known_ids, f"{where}: the id {call_id!r} is there twice")
        known_ids.add(str(call_id))
        ids.append(str(call_id))
        check_name(block.get("name"), set(), where, most=128)
        # The API: "Input should be a valid dictionary"
        require(isinstance(block.get("input"), dict), f"{where}: input is {block.get('input')!r}")
        require(block.get("caller", {}) is not None, f"{where}: caller may not be null")
    return ids


def _check_block(block: dict[str, Any], where: str, kinds: tuple[str, ...]) -> None:
    kind = block.get("type")
    require(kind in kinds, f"{where}: a block of type {kind!r}")
    if kind == "text":
        # The API: "text content blocks must be non-empty", and "must contain non-whitespace text"
        no_other_keys(block, {"type", "text", "citations", "cache_control"}, where)
        require(str(block.get("text", "")).strip(), f"{where}: a blank text")
    elif kind == "thinking":
        # extended-thinking: thinking blocks go back complete and unmodified, with their signature
        no_other_keys(block, {"type", "thinking", "signature"}, where)
        require(isinstance(block.get("thinking"), str), f"{where}: thinking without its text")
        require(block.get("signature"), f"{where}: thinking without its signature")
    elif kind == "redacted_thinking":
        no_other_keys(block, {"type", "data"}, where)
        require(block.get("data"), f"{where}: redacted thinking without its data")
    elif kind in ("image", "document"):
        source = block.get("source", {})
        # api/messages, image and document sources: base64 of one of these kinds, never empty
        kinds = ("image/jpeg", "image/png", "image/gif", "image/webp") if kind == "image" else ("application/pdf",)
        require(source.get("type") == "base64", f"{where}: a source of type {source.get('type')!r}")
        require(source.get("media_type") in kinds, f"{where}: media_type {source.get('media_type')!r}")
        require(source.get("data"), f"{where}: an empty {kind}")


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    assert isinstance(tools, list), "tools is no list"
    names: set[str] = set()
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        no_other_keys(tool, {"name", "description", "input_schema", "strict", "type", "cache_control"}, where)
        # implement-tool-use, name: must match ^[a-zA-Z0-9_-]{1,128}$
        check_name(tool.get("name"), names, where, most=128)
        require(tool.get("description", "-"), f"{where}: an empty description")
        # api/messages, tools, input_schema: JSON Schema 2020-12, its type "object", nothing combined at the top
        check_schema(tool.get("input_schema"), where, strict=tool.get("strict") is True)
