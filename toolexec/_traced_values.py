"""Arguments and results as text, for tracers that were told to keep them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolexec._return import Return, render

if TYPE_CHECKING:
    from toolexec._function import Function


def arguments_text(function: Function) -> str:
    """What a call was given: JSON as the model sent it, or made of what came decoded."""
    given = function.arguments
    if isinstance(given, str):
        return given
    try:
        return json.dumps({} if given is None else given, ensure_ascii=False, default=str)
    except Exception as exc:  # noqa: BLE001 - objects that only Python code can pass, and their own code
        return f"(a {type(given).__name__} that cannot be shown: {type(exc).__name__})"


def result_text(ret: Return) -> str:
    """What a model is sent of it; a call that is put off has nothing yet."""
    return "" if ret.status == "deferred" else render(ret)
