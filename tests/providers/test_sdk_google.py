"""Google's own types and client on the other side."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from google import genai
from google.genai import types

import toolexec as tx
from providers.json_server import JsonServer
from providers.outcome_tools import OUTCOMES, PDF, PNG, STATUSES, TOOLS, calls_of, context, settled
from providers.strict_google import check_request

# Its URL-safe form differs from the plain one.
SIGNATURE = b"\xff\xfe\xfbsigned"
ASKED = {"role": "user", "parts": [{"text": "go on"}]}


def answer(*parts: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m"}


def call(name: str, args: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **({} if args is None else {"args": args}), **more}}


RESPONSE = answer(
    {"text": "hm", "thought": True},
    {"text": "Two numbers."},
    {**call("give", {"x": 1}), "thoughtSignature": base64.b64encode(SIGNATURE).decode()},
    call("give", {"x": 3}, id="call-2"),
    call("fail", None),
)
EVERYTHING = answer(*(call(name, args) for name, args, _ in OUTCOMES))

# The ways in which the same response may come in.
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "object": types.GenerateContentResponse.model_validate,
    "wire": lambda sent: sent,
    "camel": lambda sent: _object(sent).model_dump(mode="json", by_alias=True, exclude_none=True),
    "camel with nulls": lambda sent: _object(sent).model_dump(mode="json", by_alias=True),
    "snake": lambda sent: _object(sent).model_dump(mode="json", exclude_none=True),
    "snake with nulls": lambda sent: _object(sent).model_dump(mode="json"),
    "snake with bytes": lambda sent: _object(sent).model_dump(),
    "text": json.dumps,
    "text with nulls": lambda sent: _object(sent).model_dump_json(),
    "bytes": lambda sent: json.dumps(sent).encode(),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def _object(sent: dict[str, Any]) -> types.GenerateContentResponse:
    return types.GenerateContentResponse.model_validate(sent)


def request(ctx: tx.Context) -> dict[str, Any]:
    """A whole request, as it would go over the wire."""
    body = {"contents": [ASKED, *ctx.turn("google")], "tools": ctx.declarations("google")}
    loaded: dict[str, Any] = json.loads(json.dumps(body, allow_nan=False))
    return loaded


@every_form
def test_every_form_of_a_response_gives_the_same_calls(form: Callable[[dict[str, Any]], Any]) -> None:
    expected = [(None, "give", {"x": 1}), ("call-2", "give", {"x": 3}), (None, "fail")]
    calls = calls_of(form(RESPONSE))

    assert expected[:2] == calls[:2]
    assert expected[2] == calls[2][:2]
    assert calls == calls_of(form(RESPONSE), "google")


@every_form
def test_every_form_of_a_response_is_said_again_alike(form: Callable[[dict[str, Any]], Any]) -> None:
    ctx = settled(form(RESPONSE))
    check_request(request(ctx))
    said, results = (types.Content.model_validate(content) for content in ctx.turn())

    assert said == types.Content.model_validate(settled(RESPONSE).turn()[0])
    parts = said.parts or []
    assert [SIGNATURE] == [part.thought_signature for part in parts if part.thought_signature]
    assert SIGNATURE == parts[2].thought_signature
    assert ("hm", True) == (parts[0].text, parts[0].thought)
    assert [None, "call-2", None] == [part.function_call.id for part in parts if part.function_call]
    answered = [part.function_response for part in results.parts or []]
    assert [(None, "give"), ("call-2", "give"), (None, "fail")] == [(it.id, it.name) for it in answered if it]


@every_form
def test_every_outcome_is_answered_in_its_place(form: Callable[[dict[str, Any]], Any]) -> None:
    ctx = settled(form(EVERYTHING))
    body = request(ctx)
    check_request(body)
    for content in ctx.turn():
        types.Content.model_validate(content)

    assert STATUSES == [ret.status for ret in ctx.returns]
    responses = [part["functionResponse"] for part in body["contents"][-1]["parts"]]
    assert [name for name, _, _ in OUTCOMES] == [response["name"] for response in responses]
    assert not any("id" in response for response in responses)
    assert [["output"] if status == "ok" else ["error"] for status in STATUSES] == [
        list(response["response"]) for response in responses
    ]


def test_empty_results_are_told_in_words() -> None:
    ctx = settled(EVERYTHING)
    responses = [part["functionResponse"]["response"] for part in ctx.messages()[0]["parts"]]

    assert [{"output": text} for text in ("null", '""', '"  \\n"', "[]", "{}")] == responses[6:11]
    assert [None, "", "  \n", [], {}] == [ret.value for ret in ctx.returns[6:11]]


def test_images_and_documents_are_shown_and_other_files_are_stated() -> None:
    parts = types.Content.model_validate(settled(EVERYTHING).messages()[0]).parts or []
    png, icon, pdf, archive, mixed = [part.function_response for part in parts][11:]

    def shown(response: types.FunctionResponse | None) -> list[tuple[str | None, bytes | None]]:
        assert response is not None
        blobs = [part.inline_data for part in response.parts or []]
        return [(blob.mime_type, blob.data) for blob in blobs if blob is not None]

    assert [("image/png", PNG)] == shown(png) == shown(mixed)
    assert [("application/pdf", PDF)] == shown(pdf)
    assert [] == shown(icon) == shown(archive)
    assert icon is not None
    assert "image/x-icon" in (icon.response or {})["output"]
    assert archive is not None
    assert "ein Brief ü.zip" in (archive.response or {})["output"]
    assert mixed is not None
    assert "all the rest.zip" in (mixed.response or {})["output"]


def test_declarations_are_legal_and_keep_every_value() -> None:
    declared = context().declarations("google")
    check_request({"contents": [ASKED], "tools": declared})
    tool = types.Tool.model_validate(declared[0])

    functions = {function.name: function for function in tool.function_declarations or []}
    assert list(functions) == [each.name for each in TOOLS]
    assert None is functions["fail"].parameters
    parameters = functions["many_kinds"].parameters
    assert parameters is not None
    kinds = parameters.properties or {}
    assert (types.Type.INTEGER, True) == (kinds["optional"].type, kinds["optional"].nullable)
    assert [types.Type.INTEGER, types.Type.STRING] == [member.type for member in kinds["union"].any_of or []]
    assert ["a", "b"] == kinds["words"].enum
    assert ["red", "green"] == kinds["colour"].enum
    assert kinds["listed"].items is not None
    assert ["x", "y"] == kinds["listed"].items.enum
    assert types.Type.INTEGER == kinds["size"].type == kinds["maybe_size"].type
    assert ["one of 1, 2" in (kinds[name].description or "") for name in ("size", "maybe_size")] == [True, True]
    assert "one of 'a', 1" in (kinds["mixed"].description or "")
    assert (types.Type.STRING, None) == (kinds["start"].type, kinds["start"].default)


def test_a_dict_that_was_declared_as_text_is_taken_as_text() -> None:
    @tx.tool
    def count(counts: dict[str, int], more: list[dict[str, int]]) -> int:
        return sum(counts.values()) + sum(sum(each.values()) for each in more)

    ctx = tx.Context([count], strategy="sequential")
    check_request({"contents": [ASKED], "tools": ctx.declarations("google")})
    ctx.receive(answer(call("count", {"counts": '{"a": 1}', "more": ['{"b": 2}', {"c": 3}]})))

    assert [6] == [ret.value for ret in ctx.wait()]


def test_names_are_legal_and_lead_back() -> None:
    @tx.tool(name="größe der/Welt")
    def size() -> int:
        return 1

    @tx.tool(name="1" * 80)
    def ones() -> int:
        return 2

    ctx = tx.Context([size, ones], strategy="sequential")
    declared = ctx.declarations("google")
    check_request({"contents": [ASKED], "tools": declared})
    names = [function["name"] for function in declared[0]["functionDeclarations"]]
    ctx.receive(answer(*(call(name, {}) for name in names)))

    assert [1, 2] == [ret.value for ret in ctx.wait()]
    check_request(request(ctx))


@pytest.mark.parametrize("bare", [{}, {"name": ""}, {"name": None}, {"args": {}}])
def test_a_call_without_a_name_is_answered_too(bare: dict[str, Any]) -> None:
    ctx = settled(answer({"text": "so"}, {"functionCall": bare}, call("give", {"x": 1})))

    assert ["unknown_tool", "ok"] == [ret.status for ret in ctx.returns]
    check_request(request(ctx))


def test_a_response_without_calls_asks_for_nothing() -> None:
    ctx = settled(_object(answer({"text": "done"})).model_dump(mode="json", by_alias=True))

    assert () == ctx.returns
    assert [] == ctx.turn()
    assert [{"role": "model", "parts": [{"text": "done"}]}] == ctx.history()


def test_another_providers_response_can_be_rendered() -> None:
    ctx = context()
    ctx.receive([{"id": "c", "name": "give", "arguments": '{"x": 1}'}, {"name": "give", "arguments": '{"x": '}])
    ctx.wait()

    check_request(request(ctx))


def test_a_whole_conversation_through_the_real_client() -> None:
    answers = [RESPONSE, EVERYTHING, answer({"text": "done"})]
    ctx = context()
    contents: list[Any] = [ASKED]
    with JsonServer(check_request, answers) as server:
        options = types.HttpOptions(base_url=server.url)
        with genai.Client(api_key="none", http_options=options) as client:
            config = types.GenerateContentConfig(
                tools=[types.Tool.model_validate(tool) for tool in ctx.declarations("google")],
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            )
            response = client.models.generate_content(model="m", contents=contents, config=config)
            while functions := ctx.receive(response):
                for function in functions:
                    if function.arguments == {"x": 2}:
                        function.cancel()
                ctx.wait()
                contents.extend(ctx.turn())
                response = client.models.generate_content(model="m", contents=contents, config=config)

    assert [] == server.faults
    assert [1, 3, 5] == [len(body["contents"]) for body in server.bodies]
    assert "done" == response.text
    assert STATUSES == [ret.status for ret in ctx.returns[3:]]
    again = types.Content.model_validate(server.bodies[-1]["contents"][1]).parts or []
    assert SIGNATURE == again[2].thought_signature
    shown = types.Content.model_validate(server.bodies[-1]["contents"][4]).parts or []
    blobs = [
        part.inline_data for each in shown if each.function_response for part in each.function_response.parts or []
    ]
    assert [PNG, PDF, PNG] == [blob.data for blob in blobs if blob is not None]


# The check itself

CALLED = {"role": "model", "parts": [call("a", {}), call("b", {})]}


def results(*names: str, **more: Any) -> dict[str, Any]:
    response = {"response": {"output": "1"}, **more}
    return {"role": "user", "parts": [{"functionResponse": {"name": name, **response}} for name in names]}


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ([CALLED], "begins with the model"),
        ([ASKED, CALLED], "have no response"),
        ([ASKED, CALLED, results("a")], "number of function response parts"),
        ([ASKED, CALLED, results("b", "a")], "number of function response parts"),
        ([ASKED, CALLED, results("a"), results("b")], "number of function response parts"),
        ([ASKED, results("a")], "number of function response parts"),
        ([ASKED, CALLED, results("a", "b", id="c")], "ids differ"),
        ([ASKED, CALLED, {**results("a", "b"), "role": "tool"}], "role 'tool'"),
        ([ASKED, CALLED, results("a", "b", response={"output": ""})], "told nothing"),
        ([ASKED, CALLED, results("a", "b", response="1")], "struct"),
        ([ASKED, {"role": "model", "parts": []}], "without parts"),
    ],
)
def test_the_check_refuses_what_the_api_refuses(contents: Any, why: str) -> None:
    check_request({"contents": [ASKED, CALLED, results("a", "b")]})
    with pytest.raises(AssertionError, match=why):
        check_request({"contents": contents})


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#/$defs/A"},
        {"type": ["string", "null"]},
        {"type": "string", "const": "a"},
        {"type": "integer", "enum": [1]},
        {"type": "object"},
        {"type": "array"},
        {"type": "string", "format": "uuid"},
        {"oneOf": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
    ],
)
def test_the_check_refuses_schemas_beyond_the_subset(schema: dict[str, Any]) -> None:
    declared = {"name": "a", "description": "", "parameters": {"type": "object", "properties": {"x": schema}}}
    with pytest.raises(AssertionError):
        check_request({"contents": [ASKED], "tools": [{"functionDeclarations": [declared]}]})
