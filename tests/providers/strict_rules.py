"""What the strict checks of all providers share: a rule, and a tool's schema."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Without stubs.
jsonschema: Any = importlib.import_module("jsonschema")


def require(holds: object, reason: str) -> None:
    """A rule of the API; where it does not hold, the API answers 400 with this reason."""
    if not holds:
        raise ValueError(reason)


def no_other_keys(value: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    unknown = sorted(set(value) - set(known))
    require(not unknown, f"{where}: unknown keys {unknown}")


def check_name(name: object, seen: set[str], where: str, *, most: int = 64) -> None:
    """Letters, digits, underscores and dashes, up to ``most``; each name once."""
    require(isinstance(name, str), f"{where}: a name is a string, not {name!r}")
    text = str(name)
    require(re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{most}}}", text), f"{where}: illegal name {text!r}")
    require(text not in seen, f"{where}: two tools are named {text!r}")
    seen.add(text)


def check_schema(schema: object, where: str, *, strict: bool = False) -> None:
    """Valid JSON Schema 2020-12 of an object, every reference inside resolvable."""
    assert isinstance(schema, dict), f"{where}: a schema is an object"
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as exc:
        raise ValueError(f"{where}: {exc.message}") from exc
    require(schema.get("type") == "object", f"{where}: the schema's type is {schema.get('type')!r}, not 'object'")
    require(isinstance(schema.get("properties", {}), dict), f"{where}: properties is no object")
    for combined in ("anyOf", "oneOf", "allOf"):
        require(combined not in schema, f"{where}: {combined} at the top")
    for part in _parts(schema):
        reference = part.get("$ref")
        if isinstance(reference, str):
            require(reference.removeprefix("#/$defs/") in schema.get("$defs", {}), f"{where}: dangling {reference}")
        if strict:
            _check_strict(part, where)


def _check_strict(part: dict[str, Any], where: str) -> None:
    """https://platform.openai.com/docs/guides/structured-outputs: all fields required, no others allowed."""
    if part.get("type") == "object":
        require(part.get("additionalProperties") is False, f"{where}: strict, and additionalProperties is not false")
        require(
            sorted(part.get("properties", {})) == sorted(part.get("required", [])),
            f"{where}: strict, and not every property is required",
        )
    require("default" not in part, f"{where}: strict, and there is a default")


def _parts(value: Any) -> list[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(value, list):
        return [part for item in value for part in _parts(item)]
    if not isinstance(value, dict):
        return []
    found = [value]
    for key, item in value.items():
        if key in ("properties", "$defs"):
            found += [part for inner in item.values() for part in _parts(inner)]
        elif key not in ("enum", "const", "default", "examples", "required"):
            found += _parts(item)
    return found
