"""From a JSON Schema that a person wrote to a type that pydantic holds a call against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union

from toolexec._errors import DeclarationError
from toolexec._json import is_array, is_object

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": None,
    "array": list[Any],
    "object": dict[str, Any],
}
"""The types of JSON by name."""

# JSON Schema's words, and those of pydantic's Field for the same.
_LIMITS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "pattern": "pattern",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_FOR = {
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"minItems", "maxItems"},
}
_NUMERIC = set(_LIMITS) - _FOR["string"] - _FOR["array"]


class JsonType:
    """A JSON Schema as a type: a call is held to it, and the model is shown it as it was written."""

    __slots__ = ("definitions", "schema")

    def __init__(self, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        self.schema = dict(schema)
        self.definitions = dict(definitions)


def annotation_of(where: str, kind: JsonType) -> Any:
    """The annotation for one schema; loads pydantic.

    Raises:
        DeclarationError: A type there is none of JSON, or a reference that leads nowhere.
    """
    from pydantic import WithJsonSchema

    found = _Reader(where, kind.definitions).read(kind.schema)
    return Annotated[found, WithJsonSchema(_inlined(kind.schema, kind.definitions))]


def one_of(values: Sequence[Any], base: Any) -> Any:
    """The type of a value that is one of these; told as an enum."""
    if all(isinstance(value, str | bool | int) or value is None for value in values) and base is not float:
        return Literal[tuple(values)]
    from pydantic import AfterValidator, WithJsonSchema
    from pydantic_core import PydanticCustomError

    shown = " or ".join(map(repr, values))

    def check(value: Any) -> Any:
        for allowed in values:
            if value == allowed and isinstance(value, bool) == isinstance(allowed, bool):
                return value
        raise PydanticCustomError("literal_error", "Input should be {shown}", {"shown": shown})

    written: dict[str, Any] = {"enum": list(values)}
    if base is float:
        written = {"type": "number", **written}
    return Annotated[base, AfterValidator(check), WithJsonSchema(written)]


class _Reader:
    def __init__(self, where: str, definitions: Mapping[str, Any]) -> None:
        self._where = where
        self._definitions = definitions
        self._open: list[str] = []

    def read(self, schema: Any) -> Any:
        if schema is True:
            return Any
        if not is_object(schema):
            raise DeclarationError(
                f"{self._where}: {schema!r} is no JSON Schema; it takes a dict such as {{'type': 'string'}}"
            )
        if "$ref" in schema:
            return self._referred(schema["$ref"])
        if "const" in schema:
            return self._member([schema["const"]], schema)
        if "enum" in schema:
            return self._member(schema["enum"], schema)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._several(several, schema[several])
        kind: object = schema.get("type")
        if is_array(kind):
            return Union[tuple(self._typed(one, schema) for one in kind)]  # noqa: UP007 - made at run time
        return self._typed(kind if kind is not None else _inferred(schema), schema)

    def _several(self, how: str, parts: Any) -> Any:
        if not is_array(parts) or not parts:
            raise DeclarationError(f"{self._where}: {how} is {parts!r}; it takes a list of schemas")
        if how == "allOf" and len(parts) > 1:
            raise DeclarationError(f"{self._where}: allOf of several schemas cannot be held to; write one")
        return Union[tuple(self.read(part) for part in parts)]  # noqa: UP007 - made at run time

    def _member(self, values: Any, schema: Mapping[str, Any]) -> Any:
        if not is_array(values) or not values:
            raise DeclarationError(f"{self._where}: enum is {values!r}; it takes a list of the values there are")
        if any(is_array(value) or is_object(value) for value in values):
            raise DeclarationError(f"{self._where}: an enum of lists or objects cannot be held to")
        base = float if schema.get("type") == "number" else Any
        return one_of(values, base)

    def _referred(self, ref: object) -> Any:
        name = str(ref).rpartition("/")[2]
        if str(ref) not in (f"#/$defs/{name}", f"#/definitions/{name}") or name not in self._definitions:
            known = ", ".join(self._definitions) or "none"
            raise DeclarationError(f"{self._where}: $ref {ref!r} leads nowhere; $defs has: {known}")
        if name in self._open:
            raise DeclarationError(
                f"{self._where}: $ref {ref!r} contains itself; declare that type in Python, where it can"
            )
        self._open.append(name)
        try:
            return self.read(self._definitions[name])
        finally:
            self._open.pop()

    def _typed(self, kind: object, schema: Mapping[str, Any]) -> Any:
        from pydantic import Field

        if kind is None:
            return Any
        if not isinstance(kind, str) or kind not in TYPES:
            raise DeclarationError(f"{self._where}: {kind!r} is no type of JSON; these are: {', '.join(TYPES)}")
        found = TYPES[kind]
        if kind == "array":
            found = list[self.read(schema.get("items", True))]  # type: ignore[misc]  # a type made at run time
        elif kind == "object":
            found = self._object(schema)
        words = _FOR.get(kind, _NUMERIC if kind in ("integer", "number") else set[str]())
        limits: dict[str, Any] = {_LIMITS[word]: schema[word] for word in words if word in schema}
        return Annotated[found, Field(**limits)] if limits else found

    def _object(self, schema: Mapping[str, Any]) -> Any:
        import typing_extensions
        from pydantic import ConfigDict

        properties: object = schema.get("properties")
        more: Any = schema.get("additionalProperties", True)
        if not is_object(properties) or not properties:
            return dict[str, Any] if more in (True, False) else dict[str, self.read(more)]  # type: ignore[misc]  # made at run time
        typed_dict: Any = typing_extensions.TypedDict
        not_required: Any = typing_extensions.NotRequired
        required = schema.get("required", ())
        fields = {name: self.read(part) for name, part in properties.items()}
        shape = typed_dict("Object", {n: kind if n in required else not_required[kind] for n, kind in fields.items()})
        shape.__pydantic_config__ = ConfigDict(extra="forbid" if more is False else "allow")
        return shape


def _inferred(schema: Mapping[str, Any]) -> str | None:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with what it refers to in the place of the reference: no definitions to travel beside it."""
    if is_array(schema):
        return [_inlined(part, definitions) for part in schema]
    if not is_object(schema):
        return schema
    ref: object = schema.get("$ref")
    if isinstance(ref, str):
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_inlined(definitions[ref.rpartition("/")[2]], definitions), **beside}
    return {
        key: value if key in ("enum", "const", "default") else _inlined(value, definitions)
        for key, value in schema.items()
        if key not in ("$defs", "definitions")
    }
