"""Turning any value into JSON text that is always legal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard


def class_name(value: object) -> str:
    """The name of a value's class, whatever its class does about it."""
    try:
        name: object = type(value).__name__
    except BaseException:  # noqa: BLE001 - a metaclass may do anything
        return "object"
    return name if type(name) is str else "object"


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value from outside is what JSON calls an object."""
    return type(value) is dict or isinstance(value, Mapping)  # the first tenfold faster, and nearly always so


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value from outside is what JSON calls an array (and no string)."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """``isinstance(value, dict)``, for both type checkers."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """``isinstance(value, list)``, for both type checkers."""
    return isinstance(value, list)


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """``isinstance(value, list | tuple)``, for both type checkers."""
    return isinstance(value, list | tuple)


def legal_text(text: str) -> str:
    """The text without lone surrogates: a str may hold them, a request body may not."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def encode(value: Any) -> str:
    """JSON text for ``value``: never raises, never has a bare NaN, always encodes as UTF-8.

    Plain data takes the standard library's path; everything else pydantic's, which knows dates,
    sets, dataclasses, models and the rest.  What neither can express becomes an error object that
    names the type.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (Exception, SystemExit):  # noqa: BLE001 - as below
        try:
            text = _encode_rich(value)
        except (Exception, SystemExit) as exc:  # noqa: BLE001 - a value's own code runs here (properties, __str__, __iter__)
            return json.dumps(_unrenderable(value, exc))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate: legal in a str, in no request body
            return json.dumps(json.loads(text))
    return text


def to_plain(value: Any) -> Any:
    """``value`` as dicts, lists, strings, numbers, booleans and None, by the rules of :func:`encode`."""
    return json.loads(encode(value))


def _encode_rich(value: Any) -> str:
    # Here and not at the top: importing toolexec stays light, and works in a subinterpreter,
    # where pydantic's core refuses to load.
    from pydantic_core import to_json

    if isinstance(value, Iterator):
        # It would be empty the second time, and may have no end.
        raise TypeError("it can be read only once; return a list of its items")
    try:
        return to_json(value, inf_nan_mode="strings", bytes_mode="utf8").decode()
    except ValueError:
        # Bytes that are not UTF-8: no mode takes them one by one, so all go as base64.  Any other
        # fault fails again, and is the caller's to report.
        return to_json(value, inf_nan_mode="strings", bytes_mode="base64").decode()


def _unrenderable(value: Any, exc: BaseException) -> dict[str, Any]:
    name = class_name(value)
    why = class_name(exc) if isinstance(exc, RecursionError) else f"{class_name(exc)}: {exc}"[:300]
    return {"error": True, "type": "UnsendableError", "message": f"the result, a {name}, has no JSON form ({why})"}
