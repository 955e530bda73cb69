"""What the author of a provider needs; everybody else needs only ``toolexec``."""

from __future__ import annotations

import base64

from toolexec._assembling import Assembler, Whole, check_no_error, cut_short, failed
from toolexec._calls import CallRecord
from toolexec._errors import FormatError
from toolexec._formats import format_of
from toolexec._history import Answered, Blocks, Said
from toolexec._json import is_array, is_object
from toolexec._parts import File, Image, Part, Text
from toolexec._provider import (
    PROVIDER_API_VERSION,
    Answer,
    Asked,
    Described,
    Provider,
    Reply,
    arguments_object,
    arguments_text,
    arguments_value,
    get,
    inlined,
    items_of,
    plain,
    said_again,
    text_of,
    unread,
)
from toolexec._schema import strict_form

__all__ = [
    "PROVIDER_API_VERSION",
    "Answer",
    "Answered",
    "Asked",
    "Assembler",
    "Blocks",
    "CallRecord",
    "Described",
    "File",
    "FormatError",
    "Image",
    "Part",
    "Provider",
    "Reply",
    "Said",
    "Text",
    "Whole",
    "arguments_object",
    "arguments_text",
    "arguments_value",
    "base64_text",
    "check_no_error",
    "cut_short",
    "data_url",
    "failed",
    "format_of",
    "get",
    "inlined",
    "is_array",
    "is_object",
    "items_of",
    "plain",
    "said_again",
    "strict_form",
    "text_of",
    "unread",
]


def base64_text(data: bytes) -> str:
    """Bytes as formats write them."""
    return base64.b64encode(data).decode("ascii")


def data_url(part: Image | File) -> str:
    """An image or a file as a URL that holds it."""
    return f"data:{part.media_type};base64,{base64_text(part.data)}"
