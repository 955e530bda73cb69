"""From a JSON Schema that a person wrote to a type that pydantic holds a call against."""

from __future__ import annotations

import functools
import json
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
    "minProperties": "min_length",
    "maxProperties": "max_length",
}
_FOR = {
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"minItems", "maxItems"},
    "object": {"minProperties", "maxProperties"},
}
_NUMERIC = set(_LIMITS).difference(*_FOR.values())

_SEVERAL = ("anyOf", "oneOf", "allOf")
_OF_OBJECTS = ("properties", "required", "additionalProperties")
# What a call is held to.  What stands in neither is only shown, as JSON Schema has it.
_HELD = {"$ref", "const", "enum", "type", "items", "uniqueItems", *_SEVERAL, *_OF_OBJECTS, *_LIMITS}
_NOT_HELD = {
    "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "patternProperties",
    "propertyNames", "contains", "minContains", "maxContains", "prefixItems", "additionalItems",
    "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
}  # fmt: skip


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


def check_whole(where: str, schema: Mapping[str, Any]) -> None:
    """Refuse what the schema of a tool's arguments as a whole cannot say.

    Raises:
        DeclarationError: It says more than which properties there are, or requires what is none.
    """
    more = [word for word in schema if word in (_HELD | _NOT_HELD) - {"type", *_OF_OBJECTS}]
    if more:
        raise DeclarationError(f"{where}: {more[0]!r} of all arguments cannot be held to; say it of a property")
    missing = [name for name in _required(where, schema) if name not in schema.get("properties", {})]
    if missing:
        raise DeclarationError(f"{where}: required names {missing[0]!r}, which is none of its properties")


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
        for word in schema:
            if word in _NOT_HELD:
                raise DeclarationError(
                    f"{self._where}: {word!r} cannot be held to; leave it out, or declare that type in Python"
                )
        return self._read({word: said for word, said in schema.items() if word in _HELD})

    def _read(self, schema: Mapping[str, Any]) -> Any:
        for several in _SEVERAL:
            if several in schema:
                return self._several(several, schema)
        if "$ref" in schema:
            self._alone("$ref", schema)
            return self._referred(schema["$ref"])
        for member in ("const", "enum"):
            if member in schema:
                self._alone(member, schema, "type")
                return self._member([schema["const"]] if member == "const" else schema["enum"], schema)
        kind: object = schema.get("type")
        if is_array(kind):
            return Union[tuple(self._typed(one, schema) for one in kind)]  # noqa: UP007 - made at run time
        return self._typed(kind if kind is not None else _inferred(schema), schema)

    def _alone(self, word: str, schema: Mapping[str, Any], *allowed: str) -> None:
        others = [other for other in schema if other not in (word, *allowed)]
        if others:
            raise DeclarationError(f"{self._where}: {word} beside {others[0]!r} cannot be held to; write one of them")

    def _several(self, how: str, schema: Mapping[str, Any]) -> Any:
        parts: Any = schema[how]
        if not is_array(parts) or not parts:
            raise DeclarationError(f"{self._where}: {how} is {parts!r}; it takes a list of schemas")
        beside = {word: said for word, said in schema.items() if word != how}
        if how == "allOf":
            return self.read(functools.reduce(functools.partial(self._joined, how), parts, beside))
        return Union[tuple(self.read(self._joined(how, beside, part)) for part in parts)]  # noqa: UP007 - made at run time

    def _joined(self, how: str, one: Mapping[str, Any], other: Any) -> Any:
        """What fits both, as one schema."""
        if not one or not is_object(other):
            return other
        both = [word for word in one if word in _HELD and word in other and one[word] != other[word]]
        # Which properties are additional is said of those that stand beside it.
        for here, there in ((one, other), (other, one)):
            both += ["additionalProperties"] if "additionalProperties" in here and "properties" in there else []
        if both:
            what = "allOf of several schemas" if how == "allOf" else f"{how} beside {both[0]!r}"
            raise DeclarationError(
                f"{self._where}: {what} cannot be held to, as {both[0]!r} is said twice; write one schema for each case"
            )
        return {**one, **other}

    def _member(self, values: Any, schema: Mapping[str, Any]) -> Any:
        if not is_array(values) or not values:
            raise DeclarationError(f"{self._where}: enum is {values!r}; it takes a list of the values there are")
        if any(is_array(value) or is_object(value) for value in values):
            raise DeclarationError(f"{self._where}: an enum of lists or objects cannot be held to")
        kind: Any = schema.get("type")
        kinds: Sequence[Any] = [kind] if kind is None or isinstance(kind, str) else kind
        for value in values:
            if kind is not None and not any(_is_of(value, one) for one in kinds):
                raise DeclarationError(f"{self._where}: {value!r} of its enum is no {kind}, which is its type")
        base = float if kind == "number" else Any
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
        from pydantic import AfterValidator, Field

        if kind is None:
            if schema:
                raise DeclarationError(f"{self._where}: {next(iter(schema))!r} needs a 'type' beside it")
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
        if limits.get("multiple_of") == 0:  # the one limit that not every pydantic refuses
            raise DeclarationError(f"{self._where}: a limit of its type cannot be held to (multipleOf is 0)")
        if kind == "array" and schema.get("uniqueItems") is True:
            found = Annotated[found, AfterValidator(_all_differ)]
        return Annotated[found, Field(**limits)] if limits else found

    def _object(self, schema: Mapping[str, Any]) -> Any:
        import typing_extensions
        from pydantic import ConfigDict

        properties: object = schema.get("properties", {})
        if not is_object(properties):
            raise DeclarationError(f"{self._where}: properties is {properties!r}; it takes a dict")
        more: Any = schema.get("additionalProperties", True)
        others = None if more is False else self.read(more)
        required = _required(self._where, schema)
        if not properties and not required and more is not False:
            return dict[str, others]  # type: ignore[valid-type]  # made at run time
        if more is False and not set(required) <= set(properties):
            raise DeclarationError(f"{self._where}: it requires a property, and allows none of that name")
        typed_dict: Any = typing_extensions.TypedDict
        not_required: Any = typing_extensions.NotRequired
        fields = {name: self.read(part) for name, part in properties.items()}
        fields.update((name, others) for name in required if name not in fields)
        keys = {name: kind if name in required else not_required[kind] for name, kind in fields.items()}
        shape = typed_dict("Object", keys, **({} if more in (True, False) else {"extra_items": others}))
        shape.__pydantic_config__ = ConfigDict(extra="forbid" if more is False else "allow")
        return shape


def _inferred(schema: Mapping[str, Any]) -> str | None:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _required(where: str, schema: Mapping[str, Any]) -> Sequence[str]:
    required: Any = schema.get("required", ())
    if not is_array(required) or not all(isinstance(name, str) for name in required):
        raise DeclarationError(f"{where}: required is {required!r}; it takes a list of names")
    return required


def _is_of(value: Any, kind: object) -> bool:
    """Whether a scalar is of a type of JSON."""
    if value is None:
        return kind == "null"
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, str):
        return kind == "string"
    return kind == "number" or (kind == "integer" and float(value).is_integer())


def _all_differ(values: list[Any]) -> list[Any]:
    from pydantic_core import PydanticCustomError

    if len({json.dumps(value, sort_keys=True) for value in values}) < len(values):
        raise PydanticCustomError("unique_items", "Input should have no two items that are equal")
    return values


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
