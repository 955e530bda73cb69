"""What Amazon Bedrock's Converse refuses.

The rules are those of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; each
names its type, which has a page of its own there (API_runtime_ToolResultBlock.html and so on).
"""

from __future__ import annotations

import re
from typing import Any

from providers.strict_rules import check_name, check_schema, no_other_keys, require

_DOCUMENTS = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")


def check_request(body: dict[str, Any]) -> None:
    """Take a request, or say why the API would not; bytes may be base64, as they are on the wire.

    Raises:
        ValueError, AssertionError: It is refused; why.
    """
    _check_tools(body.get("toolConfig"))
    messages = body.get("messages")
    assert isinstance(messages, list), "messages is no list"
    require(messages, "no messages")
    open_ids: list[str] = []
    documents: set[str] = set()
    before = "assistant"
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        no_other_keys(message, {"role", "content"}, where)
        role, content = message.get("role"), message.get("content")
        # Message, role: user or assistant; the API: "A conversation must start with a user message", "Roles must
        # alternate"
        require(role in ("user", "assistant"), f"{where}: role {role!r}")
        require(role != before, f"{where}: roles do not alternate")
        before = role
        # Message, content: a list; the API: "The content field in the Message object is empty"
        assert isinstance(content, list), f"{where}: content is {content!r}"
        require(content, f"{where}: content is empty")
        if role == "assistant":
            open_ids = _check_assistant(content, where)
        else:
            # The API: "Expected toolResult blocks at messages.n.content for the following Ids"
            _check_user(content, open_ids, documents, where)
            require(not open_ids, f"{where}: no toolResult answers {open_ids}")
    require(not open_ids, f"no toolResult answers {open_ids}")
    # The API: "The toolConfig field must be defined when using toolUse and toolResult content blocks"
    used = any("toolUse" in block for message in messages for block in message["content"])
    require(not used or body.get("toolConfig"), "toolUse without toolConfig")


def _kind(block: dict[str, Any], where: str) -> str:
    """ContentBlock, ToolResultContentBlock: a union, exactly one member."""
    require(len(block) == 1, f"{where}: a block with {sorted(block)}; it has exactly one member")
    return next(iter(block))


def _check_id(call_id: object, where: str) -> str:
    """ToolUseBlock and ToolResultBlock, toolUseId: 1 to 64 of [a-zA-Z0-9_.:-]."""
    legal = isinstance(call_id, str) and re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", call_id)
    require(legal, f"{where}: illegal toolUseId {call_id!r}")
    return str(call_id)


def _check_assistant(content: list[Any], where: str) -> list[str]:
    ids: list[str] = []
    for block in content:
        kind = _kind(block, where)
        if kind == "text":
            # The API: "The text field in the ContentBlock object is blank"
            require(block["text"].strip(), f"{where}: a blank text")
        elif kind == "reasoningContent":
            # ReasoningContentBlock: a union; ReasoningTextBlock, text: required
            inner = _kind(block["reasoningContent"], where)
            require(inner in ("reasoningText", "redactedContent"), f"{where}: reasoning of {inner!r}")
        elif kind == "toolUse":
            use = block["toolUse"]
            no_other_keys(use, {"toolUseId", "name", "input", "type"}, where)
            call_id = _check_id(use.get("toolUseId"), where)
            require(call_id not in ids, f"{where}: the id {call_id!r} is there twice")
            check_name(use.get("name"), set(), where)
            # ToolUseBlock, input: required; the API: "The format of the value at toolUse.input is invalid. Provide
            # a json object"
            require(isinstance(use.get("input"), dict), f"{where}: input is {use.get('input')!r}")
            if use.get("type") != "server_tool_use":  # ToolUseBlock, type: that one the server has run
                ids.append(call_id)
        else:
            require(kind == "toolResult", f"{where}: a block of {kind!r}")
    return ids


def _check_user(content: list[Any], open_ids: list[str], documents: set[str], where: str) -> None:
    for block in content:
        kind = _kind(block, where)
        if kind != "toolResult":
            _check_content(block, documents, where)
            continue
        result = block["toolResult"]
        no_other_keys(result, {"toolUseId", "content", "status", "type"}, where)
        call_id = _check_id(result.get("toolUseId"), where)
        # The API: "The number of toolResult blocks exceeds the number of toolUse blocks of previous turn"
        require(call_id in open_ids, f"{where}: {call_id!r} answers no open call")
        # Stricter than the API, which takes any order: results stand in the order of the calls
        require(call_id == open_ids[0], f"{where}: {call_id!r} comes before {open_ids[0]!r}")
        open_ids.pop(0)
        # ToolResultBlock, status: success or error
        require(result.get("status") in ("success", "error"), f"{where}: status {result.get('status')!r}")
        # ToolResultBlock, content: required, and never empty
        require(isinstance(result.get("content"), list) and result["content"], f"{where}: a result without content")
        for part in result["content"]:
            _check_content(part, documents, where)


def _check_content(part: dict[str, Any], documents: set[str], where: str) -> None:
    kind = _kind(part, where)
    if kind == "text":
        require(part["text"].strip(), f"{where}: a blank text")
        return
    if kind == "json":
        require(isinstance(part["json"], dict), f"{where}: json is no object")
        return
    require(kind in ("image", "document"), f"{where}: a block of {kind!r}")
    value = part[kind]
    no_other_keys(value, {"format", "source"} if kind == "image" else {"format", "source", "name"}, where)
    # ImageBlock and DocumentBlock, format
    formats = ("png", "jpeg", "gif", "webp") if kind == "image" else _DOCUMENTS
    require(value.get("format") in formats, f"{where}: format {value.get('format')!r}")
    # ImageSource and DocumentSource, bytes: at least one
    require(value.get("source", {}).get("bytes"), f"{where}: an empty {kind}")
    if kind == "document":
        name = value.get("name")
        # DocumentBlock, name: 1 to 200 alphanumerics, single blanks, hyphens, parentheses, square brackets
        require(isinstance(name, str) and 0 < len(name) <= 200, f"{where}: a document's name is {name!r}")
        require(re.fullmatch(r"(?:[a-zA-Z0-9()\[\]-]|\s(?!\s))+", name), f"{where}: a document's name is {name!r}")
        # The API: "Messages can't contain duplicate document names", anywhere in the request
        require(name not in documents, f"{where}: two documents are named {name!r}")
        documents.add(name)


def _check_tools(config: object) -> None:
    if config is None:
        return
    assert isinstance(config, dict), "toolConfig is no object"
    # ToolConfiguration, tools: at least one
    require(config.get("tools"), "toolConfig without tools")
    names: set[str] = set()
    for number, tool in enumerate(config["tools"]):
        where = f"toolConfig.tools[{number}]"
        require(_kind(tool, where) == "toolSpec", f"{where}: no toolSpec")
        spec = tool["toolSpec"]
        no_other_keys(spec, {"name", "description", "inputSchema", "strict"}, where)
        # ToolSpecification, name: 1 to 64 of [a-zA-Z0-9_-]
        check_name(spec.get("name"), names, where)
        # ToolSpecification, description: at least one character
        require(spec.get("description", "-"), f"{where}: an empty description")
        # ToolInputSchema: a union whose only member is json
        require(_kind(spec.get("inputSchema", {}), where) == "json", f"{where}: no json")
        check_schema(spec["inputSchema"]["json"], where)
