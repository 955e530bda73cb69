"""MCP's own types on the other side."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import types
from mcp.client import Client
from mcp.server.lowlevel import Server

import toolexec as tx
from providers.outcome_tools import OUTCOMES, PDF, PNG, STATUSES, TOOLS, calls_of, context, settled
from providers.strict_mcp import check_response, check_tool


def params(name: str, arguments: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def asked(id: Any, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params(name, arguments)}


# The ways in which the same request may come in.
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "object": types.JSONRPCRequest.model_validate,
    "wire": lambda sent: sent,
    "dumped": lambda sent: types.JSONRPCRequest.model_validate(sent).model_dump(by_alias=True),
    "text": json.dumps,
    "text with nulls": lambda sent: types.JSONRPCRequest.model_validate(sent).model_dump_json(by_alias=True),
    "bytes": lambda sent: json.dumps(sent).encode(),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def _request(name: str, arguments: dict[str, Any] | None) -> types.CallToolRequest:
    return types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))


# Without an id, as a server's handler gets them.
BARE_FORMS: dict[str, Callable[[str, dict[str, Any] | None], Any]] = {
    "object": _request,
    "dumped": lambda name, arguments: _request(name, arguments).model_dump(by_alias=True),
    "dumped snake": lambda name, arguments: _request(name, arguments).model_dump(),
    "text": lambda name, arguments: _request(name, arguments).model_dump_json(by_alias=True, exclude_none=True),
    "wire": lambda name, arguments: {"method": "tools/call", "params": params(name, arguments)},
}


def result_of(response: dict[str, Any]) -> types.CallToolResult:
    """What an SDK's client makes of a JSON-RPC response."""
    wire = types.JSONRPCResponse.model_validate_json(json.dumps(response, allow_nan=False))
    return types.CallToolResult.model_validate(wire.result)


@every_form
@pytest.mark.parametrize("id", [7, 0, "7", "a b", 2**40])
def test_every_form_of_a_request_gives_the_same_call_and_its_id_back(
    form: Callable[[dict[str, Any]], Any], id: int | str
) -> None:
    request = form(asked(id, "give", {"x": 1}))
    ctx = settled(request)
    (response,) = ctx.messages()
    check_response(response, id)

    assert [(str(id), "give", {"x": 1})] == calls_of(request) == calls_of(request, "mcp")
    assert id == types.JSONRPCResponse.model_validate(response).id
    assert [types.TextContent(type="text", text="x1")] == result_of(response).content
    assert [response] == ctx.turn()


@pytest.mark.parametrize("form", BARE_FORMS.values(), ids=BARE_FORMS.keys())
def test_a_request_without_an_id_gets_the_bare_result(form: Callable[[str, dict[str, Any] | None], Any]) -> None:
    ctx = settled(form("give", {"x": 1}))
    (result,) = ctx.messages()
    check_response(result)

    assert [(None, "give", {"x": 1})] == calls_of(form("give", {"x": 1}))
    assert types.CallToolResult(content=[types.TextContent(type="text", text="x1")]) == (
        types.CallToolResult.model_validate(result)
    )


@every_form
def test_arguments_may_be_left_out(form: Callable[[dict[str, Any]], Any]) -> None:
    ctx = settled(form(asked(1, "fail")))

    assert ["raised"] == [ret.status for ret in ctx.returns]
    check_response(ctx.messages()[0], 1)


@pytest.mark.parametrize("form", [FORMS["wire"], FORMS["object"]], ids=["dicts", "objects"])
def test_every_outcome_is_answered_in_its_place(form: Callable[[dict[str, Any]], Any]) -> None:
    ids: list[Any] = [place if place % 2 else f"s{place}" for place in range(len(OUTCOMES))]
    requests = [form(asked(own, name, args)) for own, (name, args, _) in zip(ids, OUTCOMES, strict=True)]
    ctx = settled(requests)
    responses = ctx.messages()
    for own, response in zip(ids, responses, strict=True):
        check_response(response, own)

    assert STATUSES == [ret.status for ret in ctx.returns]
    unknown = STATUSES.index("unknown_tool")
    assert [unknown] == [place for place, response in enumerate(responses) if "error" in response]
    known = [place for place in range(len(OUTCOMES)) if place != unknown]
    assert [STATUSES[place] != "ok" for place in known] == [result_of(responses[place]).is_error for place in known]
    blocks = [block for response in responses[6:11] for block in result_of(response).content]
    texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
    assert ["null", '""', '"  \\n"', "[]", "{}"] == texts
    assert [None, "", "  \n", [], {}] == [ret.value for ret in ctx.returns[6:11]]


@every_form
def test_an_unknown_tool_is_an_error_of_the_protocol(form: Callable[[dict[str, Any]], Any]) -> None:
    (response,) = settled(form(asked(7, "nobody", {"x": 1}))).messages()
    check_response(response, 7)
    error = types.JSONRPCError.model_validate_json(json.dumps(response)).error

    assert (types.INVALID_PARAMS, "Unknown tool: nobody") == (error.code, error.message)
    assert "tool not found" in error.data  # what a model is told, should a client show it one
    assert "give" in error.data


def test_an_unknown_tool_in_a_bare_request_is_a_result_that_says_so() -> None:
    (result,) = settled(_request("nobody", {"x": 1})).messages()
    check_response(result)

    assert result["isError"]
    assert "tool not found" in result["content"][0]["text"]


def test_images_and_files_are_content() -> None:
    ctx = settled([asked(place, name, args) for place, (name, args, _) in enumerate(OUTCOMES)])
    png, icon, pdf, archive, mixed = (result_of(response).content for response in ctx.messages()[11:])

    assert [types.ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png")] == png
    assert ["image/x-icon"] == [block.mime_type for block in icon if isinstance(block, types.ImageContent)]
    resources = [block.resource for block in [*pdf, *archive] if isinstance(block, types.EmbeddedResource)]
    blobs = [each for each in resources if isinstance(each, types.BlobResourceContents)]
    assert [PDF, PDF] == [base64.b64decode(blob.blob) for blob in blobs]
    assert ["application/pdf", "application/zip"] == [blob.mime_type for blob in blobs]
    assert ["file:///a.pdf", "file:///ein%20Brief%20%C3%BC.zip"] == [str(blob.uri) for blob in blobs]
    assert ["text", "image", "text", "resource"] == [block.type for block in mixed]


def test_two_requests_with_one_id_are_answered_under_it_twice() -> None:
    ctx = settled([asked(5, "give", {"x": 1}), asked(5, "give", {"x": 3}), asked("5", "give", {"x": 4})])

    assert [(5, "x1"), (5, "x3"), ("5", "x4")] == [
        (response["id"], response["result"]["content"][0]["text"]) for response in ctx.messages()
    ]


def test_declarations_are_tools() -> None:
    declared = context().declarations("mcp")
    for tool in declared:
        check_tool(tool)
    tools = types.ListToolsResult.model_validate_json(json.dumps({"tools": declared})).tools

    assert [each.name for each in TOOLS] == [tool.name for tool in tools]
    assert tools[0].description is not None
    assert tools[0].description.startswith("Give a number.")
    assert {"x"} == tools[0].input_schema["properties"].keys()


def test_a_request_that_is_no_call_is_refused() -> None:
    for method in ("tools/list", "ping"):
        with pytest.raises(tx.FormatError):
            context().receive({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}, provider="mcp")
    with pytest.raises(tx.FormatError):
        context().receive([asked(1, "give"), {"jsonrpc": "2.0", "id": 2, "method": "ping"}])


def test_a_whole_session_as_a_server_would_hold_it() -> None:
    """The lines of a client's stdin, one request each, and those it gets back."""
    ctx = context(history=False)
    lines = [
        types.JSONRPCRequest(jsonrpc="2.0", id=place, method="tools/call", params=params(name, args)).model_dump_json()
        for place, (name, args, status) in enumerate(OUTCOMES)
        if status != "cancelled"
    ]
    statuses: list[str] = []
    for line in lines:
        ctx.receive(line)
        statuses += [ret.status for ret in ctx.wait()]
        (response,) = ctx.messages()
        check_response(response, json.loads(line)["id"])

    assert [status for status in STATUSES if status != "cancelled"] == statuses


def test_a_whole_session_through_the_real_client_and_server() -> None:
    ctx = context()

    async def list_tools(_: Any, params: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": ctx.declarations("mcp")})

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        for function in ctx.receive(types.CallToolRequest(params=params)):
            if function.arguments == {"x": 2}:
                function.cancel()
        await ctx.run("asyncio")
        (result,) = ctx.messages()
        check_response(result)
        return types.CallToolResult.model_validate(result)

    async def session() -> tuple[list[str], list[types.CallToolResult]]:
        server: Server[Any] = Server("toolexec", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Client(server) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            return listed, [await client.call_tool(name, args) for name, args, _ in OUTCOMES]

    listed, results = asyncio.run(session())
    assert [each.name for each in TOOLS] == listed
    assert STATUSES == [ret.status for ret in ctx.returns]
    assert [status != "ok" for status in STATUSES] == [result.is_error for result in results]
    assert [types.TextContent(type="text", text="x1")] == results[0].content


# The check itself

TEXT = {"type": "text", "text": "1"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"content": [TEXT]}, "a response is"),
        ({"jsonrpc": "2.0", "id": "1", "result": {"content": [TEXT]}}, "an id of int"),
        ({"jsonrpc": "2.0", "id": 2, "result": {"content": [TEXT]}}, "the id 1 came"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, "nothing to show"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Unknown tool: a"}}, "the code of"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "a"}}, "an error's message"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": [TEXT], "is_error": True}}, "a result is"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": None}]}}, "a text is None"),
        (
            {
                "jsonrpc": "2.0",
                "id": 1,
                "result": {
                    "content": [
                        {"type": "resource", "resource": {"uri": "file:///a b", "mimeType": "a/b", "blob": ""}},
                    ]
                },
            },
            "no URI",
        ),
    ],
)
def test_the_check_refuses_what_a_client_refuses(message: dict[str, Any], why: str) -> None:
    check_response({"jsonrpc": "2.0", "id": 1, "result": {"content": [TEXT], "isError": False}}, 1)
    with pytest.raises(AssertionError, match=why):
        check_response(message, 1)
