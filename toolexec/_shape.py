"""What a tool's JSON Schema says of a place in the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from toolexec._json import is_dict, is_list, is_object

_Schema = Mapping[str, Any]

# Under these words stand schemas by names that anybody chose; under those, none.
_BY_NAME = ("properties", "$defs")
_NO_SCHEMAS = ("default", "examples")


def may_be_left_out(root: _Schema, values: Any, path: Sequence[int | str]) -> bool:
    """Whether the last step of a path is a property that a call may leave out, whichever way its object is read.

    Args:
        root: The schema of the arguments.
        values: The arguments.
        path: A place in them, that is in an object.
    """
    objects = _objects_at(root, values, path[:-1])
    key = path[-1]
    return bool(objects) and all(
        key in held.get("properties", ()) and key not in held.get("required", ()) for held in objects
    )


def keys_at(root: _Schema, values: Any, path: Sequence[int | str]) -> list[str]:
    """The keys that there are for the object at a path, whichever way it is read."""
    return [key for held in _objects_at(root, values, path) for key in held.get("properties", ())]


def _objects_at(root: _Schema, values: Any, path: Sequence[int | str]) -> list[_Schema]:
    schemas: list[_Schema] = [root]
    for step in path:
        schemas = [inner for schema in _read_as(root, schemas, values) for inner in _inside(schema, step)]
        values = values[step]
    return [schema for schema in _read_as(root, schemas, values) if schema.get("type") == "object"]


def mentions(root: _Schema, schema: Any, asked: Callable[[_Schema], bool]) -> bool:
    """Whether a schema, or what it refers to, has a part of some kind."""
    seen: set[str] = set()

    def look(part: Any) -> bool:
        if is_list(part):
            return any(look(item) for item in part)
        if not isinstance(part, Mapping):
            return False
        held = cast("_Schema", part)
        ref = held.get("$ref")
        if isinstance(ref, str) and ref not in seen:
            seen.add(ref)
            if look(_referred(root, ref)):
                return True
        named = [inner for word in _BY_NAME for inner in held.get(word, {}).values()]
        others = [inner for word, inner in held.items() if word not in _NO_SCHEMAS and word not in _BY_NAME]
        return asked(held) or any(look(inner) for inner in (*named, *others))

    return look(schema)


def is_secret(schema: _Schema) -> bool:
    """Whether what it is the schema of is never shown."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def has_secret_keys(root: _Schema, schema: Any) -> bool:
    """Whether an object in it has keys that are never shown."""
    return mentions(root, schema, lambda part: mentions(root, part.get("propertyNames"), is_secret))


def without_secret_defaults(root: _Schema, schema: Any) -> Any:
    """A schema without the defaults of what is never shown."""
    if is_list(schema):
        return [without_secret_defaults(root, part) for part in schema]
    if not is_object(schema):
        return schema
    left = {
        word: {name: without_secret_defaults(root, inner) for name, inner in part.items()}
        if word in _BY_NAME
        else without_secret_defaults(root, part)
        for word, part in schema.items()
    }
    if "default" in left and mentions(root, schema, is_secret):
        del left["default"]
    return left


def holds_no_object(schema: Any) -> bool:
    """Whether no value of this schema has keys, however deep one looks."""
    if not is_object(schema):
        return False
    if "anyOf" in schema:
        return all(holds_no_object(member) for member in schema["anyOf"])
    if schema.get("type") == "array":
        return holds_no_object(schema.get("items"))
    return schema.get("type") in ("string", "integer", "number", "boolean", "null")


def _referred(root: _Schema, ref: str) -> Any:
    return root.get("$defs", {}).get(ref.rpartition("/")[2])


def _read_as(root: _Schema, schemas: Sequence[Any], value: Any) -> Iterator[_Schema]:
    """The schemas without references and unions; of a union's members those whose tag is the value's."""
    seen: set[str] = set()

    def members(schema: Any) -> Iterator[_Schema]:
        if not is_object(schema):
            return
        ref = schema.get("$ref")
        if isinstance(ref, str):
            if ref not in seen:
                seen.add(ref)
                yield from members(_referred(root, ref))
            return
        several = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
        for part in several:
            yield from members(part)
        if not several and not _has_other_tag(schema, value):
            yield schema

    for schema in schemas:
        yield from members(schema)


def _has_other_tag(schema: _Schema, value: Any) -> bool:
    return is_dict(value) and any(
        key in value and value[key] != shown["const"]
        for key, shown in schema.get("properties", {}).items()
        if is_object(shown) and "const" in shown
    )


def _inside(schema: _Schema, step: int | str) -> list[Any]:
    if isinstance(step, int):
        first: Sequence[Any] = schema.get("prefixItems", ())
        return [first[step] if step < len(first) else schema.get("items")]
    properties: Mapping[str, Any] = schema.get("properties", {})
    return [properties[step] if step in properties else schema.get("additionalProperties")]
