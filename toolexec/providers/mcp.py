"""The Model Context Protocol, the server's side: ``tools/call`` in, its result out.

The rules are those of https://modelcontextprotocol.io/specification/2025-11-25/server/tools: of a tool that there is
not, the client is told by an error of the protocol; of all else that fails, arguments too, the model by a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import quote

from toolexec.providing import (
    Answer,
    Assembler,
    CallRecord,
    FormatError,
    Image,
    Part,
    Provider,
    Reply,
    Said,
    Text,
    Whole,
    base64_text,
    get,
    is_array,
    unread,
)

# JSON-RPC's "invalid params", https://www.jsonrpc.org/specification#error_object
_INVALID_PARAMS = -32602


class MCP(Provider):
    """The payloads of MCP's ``tools/list`` and ``tools/call``.

    A request, or a list of them, goes in; for each comes a JSON-RPC response if the request had an id,
    else the bare result.  Of an unknown tool the response is an error; there is none in a bare result,
    which has ``isError`` set.
    """

    name: ClassVar[str] = "mcp"
    needs_ids: ClassVar[bool] = False

    __slots__ = ()

    def declare(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """``{"name": ..., "inputSchema": ...}``."""
        declared: dict[str, Any] = {"name": name, "inputSchema": schema}
        if description:
            declared["description"] = description
        return declared

    def recognises(self, response: object) -> bool:
        """It is a ``tools/call`` request, or a list of them."""
        first: object = response[0] if is_array(response) and response else response
        return bool(get(first, "method") == "tools/call")

    def read(self, response: object) -> Reply:
        """The call of each request."""
        requests = response if is_array(response) else [response]
        calls: list[CallRecord] = []
        for request in requests:
            params = get(request, "params")
            if get(request, "method") != "tools/call" or params is None:
                raise unread("no tools/call request with params", request)
            calls.append(CallRecord.of(get(request, "id"), get(params, "name"), get(params, "arguments")))
        return Reply(calls, None, [get(request, "id") for request in requests])

    def assembler(self) -> Assembler:
        """Reads messages one after another; those that call no tool are somebody else's."""
        return _Requests(self)

    def assistant(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """Nothing: a server keeps no conversation."""
        return []

    def results(self, reply: Reply, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """One JSON-RPC response, or bare result, for each call."""
        # JSON-RPC wants the id back as it came: a number stays one, and one sent twice is answered twice.
        ids: list[Any] = [answer.id for answer in answers] if reply.native is None else reply.native
        return [_response(own, answer) for own, answer in zip(ids, answers, strict=True)]

    def said(self, message: object) -> Said:
        """Nothing: a server keeps no conversation."""
        raise FormatError("MCP has no histories to repair: a server answers each request, and keeps none")


class _Requests(Assembler):
    """Collects requests: each is whole."""

    def __init__(self, provider: MCP) -> None:
        self._provider = provider
        self._requests: list[Any] = []

    def feed(self, event: Any) -> list[Whole]:
        if not self._provider.recognises(event):
            return []
        come = [event] if not is_array(event) else event
        self._requests += come
        calls = self._provider.read(come).calls
        return [Whole(len(self._requests) - len(come) + n, record) for n, record in enumerate(calls)]

    def finish(self) -> Reply:
        return self._provider.read(self._requests)


def _response(id: Any, answer: Answer) -> dict[str, Any]:
    if id is not None and not answer.known:
        error = {"code": _INVALID_PARAMS, "message": f"Unknown tool: {answer.name}", "data": answer.text}
        return {"jsonrpc": "2.0", "id": id, "error": error}
    result = {"content": [_content(part) for part in answer.parts], "isError": not answer.ok}
    return result if id is None else {"jsonrpc": "2.0", "id": id, "result": result}


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image", "data": base64_text(part.data), "mimeType": part.media_type}
    uri = f"file:///{quote(part.name, errors='replace')}"
    blob = {"uri": uri, "mimeType": part.media_type, "blob": base64_text(part.data)}
    return {"type": "resource", "resource": blob}
