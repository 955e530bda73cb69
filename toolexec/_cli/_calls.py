"""Reading the calls to run from a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from toolexec._cli._refusal import Refusal


def read_calls(source: str) -> Any:
    """What the file holds, as JSON; whether it is a response or a list of calls is the Context's to say.

    Args:
        source: A path, or ``-`` for standard input.

    Raises:
        Refusal: It cannot be read, or is no JSON.
    """
    name = "standard input" if source == "-" else source
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as exc:
        raise Refusal(f"cannot read {name}: {exc.strerror}") from exc
    except AttributeError as exc:  # sys.stdin is None in a process that was started without one
        raise Refusal("there is no standard input to read the calls from") from exc
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise Refusal(f"{name} is no JSON: byte {exc.start} is not UTF-8") from exc
    except json.JSONDecodeError as exc:
        raise Refusal(f"{name} is no JSON: {exc.msg}, line {exc.lineno} column {exc.colno}") from exc
    except RecursionError as exc:
        raise Refusal(f"{name} is nested too deeply to be read") from exc
