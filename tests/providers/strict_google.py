"""Refuses what Google's generateContent endpoint refuses."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

# https://ai.google.dev/api/caching#Schema
SCHEMA_FIELDS = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties"),
        *("required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf"),
        *("propertyOrdering", "default", "items", "minimum", "maximum"),
    )
)
# https://ai.google.dev/api/caching#Type
TYPES = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
# https://ai.google.dev/api/caching#Schema (format)
FORMATS = {
    "STRING": frozenset(("enum", "date-time")),
    "NUMBER": frozenset(("float", "double")),
    "INTEGER": frozenset(("int32", "int64")),
}
# https://ai.google.dev/api/caching#Part
DATA = frozenset(
    (
        *("text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode"),
        "codeExecutionResult",
    )
)
PART_FIELDS = DATA | {"thought", "thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"}
# https://ai.google.dev/gemini-api/docs/function-calling#multimodal
SHOWN = frozenset(("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"))
# https://ai.google.dev/api/caching#FunctionDeclaration (name)
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")


def check_request(body: dict[str, Any]) -> None:
    """Raise AssertionError unless the body of generateContent would be taken."""
    # https://ai.google.dev/api/generate-content#request-body: contents are required.
    contents = body.get("contents")
    assert isinstance(contents, list), "contents is required"
    assert contents, "contents is required"
    for tool in body.get("tools", []):
        declared = tool["functionDeclarations"]
        assert declared, "a tool without declarations"
        names = [_declaration(declaration) for declaration in declared]
        # https://ai.google.dev/api/caching#FunctionDeclaration: a name is declared once.
        assert len(names) == len(set(names)), f"a name is declared twice: {names}"
    turns = [_content(content) for content in contents]
    # https://ai.google.dev/gemini-api/docs/function-calling: a call comes after a user's turn or a response.
    assert turns[0][0] == "user", "the conversation begins with the model"
    for place, (role, calls, responses) in enumerate(turns):
        before = turns[place - 1][1] if place else []
        # https://ai.google.dev/gemini-api/docs/function-calling#parallel_function_calling: as many response parts
        # as call parts, in the turn right after them, each under its call's id where that has one.
        if before or responses:
            assert [name for _, name in before] == [name for _, name in responses], (
                f"calls of {before} are answered with {responses}: please ensure that the number of function "
                "response parts is equal to the number of function call parts of the function call turn"
            )
            assert before == responses, f"the ids differ: {before}, {responses}"
            assert role == "user", f"responses in a turn of {role}"
        if place + 1 == len(turns):
            assert not calls, f"the last turn's calls have no response: {calls}"


def _content(content: Any) -> tuple[str, list[Any], list[Any]]:
    assert isinstance(content, dict), f"a content is no object: {content!r}"
    assert content.keys() <= {"role", "parts"}, f"unknown fields: {sorted(content)}"
    # https://ai.google.dev/api/caching#Content: must be either 'user' or 'model'.
    role = content.get("role")
    assert role in ("user", "model"), f"role {role!r}"
    parts = content.get("parts")
    assert isinstance(parts, list), "a content without parts"
    assert parts, "a content without parts"
    calls: list[Any] = []
    responses: list[Any] = []
    for given in parts:
        # https://protobuf.dev/programming-guides/json/: the proto's own names are taken as well as camelCase.
        part = {_camel(key): value for key, value in given.items()}
        assert part.keys() <= PART_FIELDS, f"unknown fields in a part: {sorted(part)}"
        # https://ai.google.dev/api/caching#Part: data is a union; a signature may stand alone.
        data = part.keys() & DATA
        assert len(data) == 1 or (not data and "thoughtSignature" in part), f"a part has one kind of data: {data}"
        if "text" in part:
            assert isinstance(part["text"], str), f"a text is {part['text']!r}"
        if "thoughtSignature" in part:
            _base64(part["thoughtSignature"])
        if "functionCall" in part:
            assert role == "model", "a call that is not the model's"
            calls.append(_call(part["functionCall"]))
        if "functionResponse" in part:
            responses.append(_response(part["functionResponse"]))
    # https://ai.google.dev/gemini-api/docs/function-calling: nothing but responses answers calls.
    assert not responses or len(responses) == len(parts), "responses are mixed with other parts"
    return role, calls, responses


def _call(call: Any) -> tuple[Any, str]:
    # https://ai.google.dev/api/caching#FunctionCall
    assert call.keys() <= {"id", "name", "args"}, f"unknown fields in a call: {sorted(call)}"
    assert isinstance(call.get("args", {}), dict), f"args are no object: {call['args']!r}"
    return _id(call), _name(call)


def _response(response: Any) -> tuple[Any, str]:
    # https://ai.google.dev/api/caching#FunctionResponse
    known = {"id", "name", "response", "parts", "willContinue", "scheduling"}
    assert response.keys() <= known, f"unknown fields in a response: {sorted(response)}"
    said = response.get("response")
    assert isinstance(said, dict), f"a response is a struct: {said!r}"
    assert said, f"a response is a struct: {said!r}"
    for text in said.values():
        assert not isinstance(text, str) or text.strip(), "the model is told nothing"
    for part in response.get("parts", []):
        # https://ai.google.dev/api/caching#FunctionResponsePart
        assert [_camel(key) for key in part] == ["inlineData"], f"a response's part is {sorted(part)}"
        blob = {_camel(key): value for inner in part.values() for key, value in inner.items()}
        assert blob.keys() == {"mimeType", "data"}, f"a blob is {sorted(blob)}"
        # https://ai.google.dev/gemini-api/docs/function-calling#multimodal
        assert blob["mimeType"] in SHOWN, f"unsupported MIME type: {blob['mimeType']}"
        _base64(blob["data"])
    return _id(response), _name(response)


def _id(holder: dict[str, Any]) -> Any:
    assert "id" not in holder or (isinstance(holder["id"], str) and holder["id"]), f"an id is {holder['id']!r}"
    return holder.get("id")


def _name(holder: dict[str, Any]) -> str:
    name = holder.get("name")
    assert isinstance(name, str), f"invalid function name: {name!r}"
    assert NAME.fullmatch(name), f"invalid function name: {name!r}"
    return name


def _base64(data: Any) -> None:
    # https://protobuf.dev/programming-guides/json/: bytes are base64, of either alphabet, padded or not.
    assert isinstance(data, str), f"bytes are base64 text: {data!r}"
    assert data, f"bytes are base64 text: {data!r}"
    text = data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as exc:
        raise AssertionError(f"no base64 ({exc}): {data[:60]!r}") from None


def _declaration(declaration: dict[str, Any]) -> str:
    # https://ai.google.dev/api/caching#FunctionDeclaration
    assert declaration.keys() <= {"name", "description", "parameters"}, f"unknown fields: {sorted(declaration)}"
    assert isinstance(declaration.get("description"), str), "description is required"
    if "parameters" in declaration:
        assert _kind(declaration["parameters"]) == "OBJECT", "parameters schema should be of type OBJECT"
        check_schema(declaration["parameters"], "parameters")
    return _name(declaration)


def check_schema(schema: Any, where: str = "schema") -> None:
    """Raise AssertionError unless it is a Schema of the API."""
    assert isinstance(schema, dict), f"{where} is no object: {schema!r}"
    # https://protobuf.dev/programming-guides/json/: the proto's own names, which the SDK sends here, are taken too.
    schema = {_camel(key): value for key, value in schema.items()}
    # https://ai.google.dev/api/caching#Schema: a subset; no $ref, $defs, const, oneOf, additionalProperties, ...
    assert schema.keys() <= SCHEMA_FIELDS, f"unknown name at {where}: {sorted(schema.keys() - SCHEMA_FIELDS)}"
    kind = _kind(schema)
    # https://ai.google.dev/api/caching#Schema (type): required; a union has its members' instead.
    assert kind in TYPES or (kind is None and "anyOf" in schema), f"{where}.type is {schema.get('type')!r}"
    for member in schema.get("anyOf", []):
        check_schema(member, f"{where}.anyOf")
    assert schema.get("anyOf", True), f"{where}.anyOf is empty"
    if "enum" in schema:
        # https://ai.google.dev/api/caching#Schema (enum): of Type.STRING.
        assert kind == "STRING", f"{where}.enum: only allowed for STRING type"
        assert schema["enum"], f"{where}.enum is empty"
        assert all(isinstance(value, str) and value for value in schema["enum"]), f"{where}.enum: {schema['enum']}"
    if "format" in schema:
        assert schema["format"] in FORMATS.get(kind or "", ()), f"{where}.format: {schema['format']!r} for {kind}"
    if "nullable" in schema:
        assert isinstance(schema["nullable"], bool), f"{where}.nullable"
    if kind == "OBJECT":
        # The API's own words; https://ai.google.dev/api/caching#Schema (properties).
        assert schema.get("properties"), f"{where}.properties: should be non-empty for OBJECT type"
        for name, inner in schema["properties"].items():
            check_schema(inner, f"{where}.properties[{name}]")
        for name in schema.get("required", []):
            assert name in schema["properties"], f"{where}.required: property is not defined: {name}"
    else:
        assert not schema.keys() & {"properties", "required"}, f"{where}: only allowed for OBJECT type"
    if kind == "ARRAY":
        # The API's own words; https://ai.google.dev/api/caching#Schema (items).
        assert "items" in schema, f"{where}.items: missing field"
        check_schema(schema["items"], f"{where}.items")
    else:
        assert "items" not in schema, f"{where}.items: only allowed for ARRAY type"


def _kind(schema: dict[str, Any]) -> str | None:
    kind = schema.get("type")
    # "Proto field is not repeating, cannot start list": https://ai.google.dev/api/caching#Type is an enum.
    assert kind is None or isinstance(kind, str), f"type is a list: {kind!r}"
    return None if kind is None else kind.upper()


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)
