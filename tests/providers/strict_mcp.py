"""Refuses what an MCP client refuses of ``tools/call`` and ``tools/list``."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own

# https://www.rfc-editor.org/rfc/rfc3986#section-2, with what a URI begins with
URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?:[a-zA-Z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+", re.IGNORECASE)


def check_response(message: dict[str, Any], request_id: int | str | None = None) -> None:
    """Raise AssertionError unless it answers the request of that id; without one it has to be a bare result."""
    json.dumps(message, allow_nan=False)
    if request_id is None:
        check_result(message)
        return
    # https://modelcontextprotocol.io/specification/2025-06-18/basic#responses: the id of the request it is for.
    assert message.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), (
        f"a response is {sorted(message)}"
    )
    assert message["jsonrpc"] == "2.0", f"jsonrpc is {message['jsonrpc']!r}"
    assert type(message["id"]) is type(request_id), f"an id of {type(request_id).__name__} came as {message['id']!r}"
    assert message["id"] == request_id, f"the id {request_id!r} came as {message['id']!r}"
    if "error" in message:
        check_error(message["error"])
    else:
        check_result(message["result"])


def check_error(error: dict[str, Any]) -> None:
    """Raise AssertionError unless it is JSON-RPC's error of an unknown tool."""
    # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#error-handling
    assert error.keys() <= {"code", "message", "data"}, f"an error is {sorted(error)}"
    assert error["code"] == -32602, f"the code of an unknown tool is {error['code']!r}"
    assert isinstance(error["message"], str), f"an error's message is {error['message']!r}"
    assert error["message"].startswith("Unknown tool: "), f"an error's message is {error['message']!r}"


def check_result(result: dict[str, Any]) -> None:
    """Raise AssertionError unless it is a CallToolResult."""
    # https://modelcontextprotocol.io/specification/2025-06-18/schema#calltoolresult
    assert result.keys() <= {"content", "isError", "structuredContent", "_meta"}, f"a result is {sorted(result)}"
    assert isinstance(result["content"], list), f"content is {result['content']!r}"
    assert result["content"], "the client has nothing to show"
    assert isinstance(result.get("isError", False), bool), f"isError is {result['isError']!r}"
    assert isinstance(result.get("structuredContent", {}), dict), "structuredContent is an object"
    for block in result["content"]:
        _block(block)


def _block(block: dict[str, Any]) -> None:
    kind = block["type"]
    if kind == "text":
        # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#text-content
        assert block.keys() == {"type", "text"}, f"a text is {sorted(block)}"
        assert isinstance(block["text"], str), f"a text is {block['text']!r}"
    elif kind == "image":
        # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#image-content
        assert block.keys() == {"type", "data", "mimeType"}, f"an image is {sorted(block)}"
        base64.b64decode(block["data"], validate=True)
        assert block["mimeType"].startswith("image/"), f"an image of {block['mimeType']!r}"
    else:
        # https://modelcontextprotocol.io/specification/2025-06-18/server/tools#embedded-resources
        assert kind == "resource", f"a block's type is {kind!r}"
        assert block.keys() == {"type", "resource"}, f"a resource is {sorted(block)}"
        resource = block["resource"]
        assert resource.keys() == {"uri", "mimeType", "blob"}, f"a resource has {sorted(resource)}"
        # https://modelcontextprotocol.io/specification/2025-06-18/schema#blobresourcecontents: format: uri, byte.
        assert URI.fullmatch(resource["uri"]), f"no URI: {resource['uri']!r}"
        base64.b64decode(resource["blob"], validate=True)
        assert MEDIA_TYPE.fullmatch(resource["mimeType"]), f"no media type: {resource['mimeType']!r}"


def check_tool(tool: dict[str, Any]) -> None:
    """Raise AssertionError unless it is a Tool of ``tools/list``."""
    # https://modelcontextprotocol.io/specification/2025-06-18/schema#tool
    assert tool.keys() <= {"name", "title", "description", "inputSchema", "outputSchema"}, f"a tool is {sorted(tool)}"
    assert isinstance(tool["name"], str), "a tool without a name"
    assert tool["name"], "a tool without a name"
    assert isinstance(tool.get("description", ""), str), "a description is text"
    # The same page: inputSchema has type "object"; its $ref go to its own $defs.
    assert tool["inputSchema"].get("type") == "object", f"inputSchema.type is {tool['inputSchema'].get('type')!r}"
    jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
