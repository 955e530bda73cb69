"""Packing: values as plain JSON that gives the very same values back, those that JSON has no form for too."""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from toolexec._json import class_name, encode, is_list, is_object, is_sequence, legal_text
from toolexec._parts import File, Image, Text
from toolexec._provider import Asked

_TAG = "$toolexec"  # the key of an object that stands for something else
# Deeper than that goes as JSON text, which C code reads and writes; this is Python's, at two frames a level.
_LEVELS = 100
# Every Python reads and writes these as digits, whatever its limit for that is set to.
_DIGITS_BITS = 2000
_HALVES = "surrogatepass"


def pack(value: Any) -> Any:
    """The value as JSON holds it: exactly, but for the classes of mappings and sequences.

    Raises:
        TypeError: There is something in it that is no plain data.
    """
    try:
        return _packed(value, 0)
    except _TooDeep:
        pass
    try:
        return {_TAG: "json", "text": json.dumps(value)}
    except (TypeError, ValueError, RecursionError) as exc:
        raise TypeError(f"{exc}, nested deeply") from None


def pack_rendered(value: Any) -> Any:
    """:func:`pack`; what it cannot hold as it is rendered for a model."""
    try:
        return pack(value)
    except Exception:  # noqa: BLE001 - a mapping of the tool's own may do anything
        return {_TAG: "json", "text": encode(value)}


def unpack(packed: Any) -> Any:
    """What was packed.

    Raises:
        KeyError, TypeError, ValueError: It is nothing that :func:`pack` has made.
    """
    if is_list(packed):
        return [unpack(item) for item in packed]
    if not is_object(packed):
        return packed
    if _TAG not in packed:
        return {key: unpack(item) for key, item in packed.items()}
    return _UNPACK[packed[_TAG]](packed)


class _TooDeep(Exception):
    pass


def _packed(value: Any, level: int) -> Any:
    kind = _class(value)
    if value is None or kind is bool:
        return value
    own = _PACK.get(kind)
    if own is not None:
        return own(value)
    if level == _LEVELS:
        raise _TooDeep
    if kind is Asked:
        return {_TAG: "asked", "own": _packed(value.own, level + 1)}
    if is_object(value) and all(type(key) is str for key in value):
        if _TAG not in value and all(map(_is_legal, value)):
            return {key: _packed(item, level + 1) for key, item in value.items()}
        return {_TAG: "dict", "items": [[_packed(key, 0), _packed(item, level + 1)] for key, item in value.items()]}
    if is_sequence(value):
        items = [_packed(item, level + 1) for item in value]
        return {_TAG: "tuple", "items": items} if kind is tuple else items
    raise TypeError(f"a {class_name(value)} is no plain data")


def _class(value: object) -> type[object]:
    return type(value)


def _text(text: str) -> str:
    return "".join([text])  # noqa: FLY002 - a str and no subclass of it, and a TypeError for anything else


def _bytes(data: bytes) -> str:
    return b64encode(data).decode()


def _is_legal(text: str) -> bool:
    return legal_text(text) == text


_PACK: Mapping[type, Callable[[Any], Any]] = {
    # Two halves of a pair would come back as one character.
    str: lambda value: value if _is_legal(value) else {_TAG: "str", "base64": _bytes(value.encode("utf-8", _HALVES))},
    int: lambda value: value if value.bit_length() <= _DIGITS_BITS else {_TAG: "int", "hex": hex(value)},
    float: lambda value: value if math.isfinite(value) else {_TAG: "float", "text": repr(value)},
    bytes: lambda value: {_TAG: "bytes", "base64": _bytes(value)},
    Text: lambda value: {_TAG: "text", "text": _text(value.text)},
    Image: lambda value: {_TAG: "image", "base64": _bytes(value.data), "media_type": _text(value.media_type)},
    File: lambda value: {
        _TAG: "file",
        "base64": _bytes(value.data),
        "media_type": _text(value.media_type),
        "name": _text(value.name),
    },
}


def _data(packed: Mapping[str, Any]) -> bytes:
    return b64decode(packed["base64"], validate=True)


_UNPACK: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "str": lambda packed: _data(packed).decode("utf-8", _HALVES),
    "int": lambda packed: int(packed["hex"], 16),
    "float": lambda packed: float(packed["text"]),
    "bytes": _data,
    "text": lambda packed: Text(packed["text"]),
    "image": lambda packed: Image(_data(packed), packed["media_type"]),
    "file": lambda packed: File(_data(packed), packed["media_type"], packed["name"]),
    "asked": lambda packed: Asked(unpack(packed["own"])),
    "dict": lambda packed: {unpack(key): unpack(item) for key, item in packed["items"]},
    "tuple": lambda packed: tuple(unpack(item) for item in packed["items"]),
    "json": lambda packed: json.loads(packed["text"]),
}
