"""The binary frames that AWS streams its events in, as botocore's decoder defines them (botocore/eventstream.py)."""

from __future__ import annotations

import json
import struct
from binascii import crc32
from typing import Any

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STRING = 7  # among the types of a header's value


def frame(event: dict[str, Any]) -> bytes:
    """One event of Converse, ``{"messageStart": {...}}``; one named after an exception becomes an exception."""
    ((kind, payload),) = event.items()
    said = "exception" if kind.endswith("Exception") else "event"
    headers = {":message-type": said, f":{said}-type": kind, ":content-type": "application/json"}
    return _message(b"".join(_header(*header) for header in headers.items()), json.dumps(payload).encode())


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _STRING, len(text)) + text


def _message(headers: bytes, payload: bytes) -> bytes:
    # The prelude is both lengths and their checksum; at the end stands one of all that came before.
    lengths = struct.pack("!II", 12 + len(headers) + len(payload) + 4, len(headers))
    checked = lengths + struct.pack("!I", crc32(lengths)) + headers + payload
    return checked + struct.pack("!I", crc32(checked))
