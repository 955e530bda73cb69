"""Arguments, results and errors as text, for tracers that were told to keep them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolexec._rendering import Rendering
from toolexec._tracer import current_rendering

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._return import Return

_ALL = Rendering()


def check_flags(whose: str, **given: object) -> None:
    """Refuse what is neither True nor False: "no", from the environment, would tell everything."""
    for name, flag in given.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{whose}: {name} is {flag!r}; it takes True or False")


def arguments_text(function: Function) -> str:
    """What a call was given: JSON as the model sent it, or made of what came decoded."""
    given = function.arguments
    if isinstance(given, str):
        return given
    try:
        return json.dumps({} if given is None else given, ensure_ascii=False, default=str)
    except Exception as exc:  # noqa: BLE001 - objects that only Python code can pass, and their own code
        return f"(a {type(given).__name__} that cannot be shown: {type(exc).__name__})"


def result_text(function: Function, ret: Return) -> str:
    """What a model is sent of it, by the call's Context; a call that is put off has nothing yet."""
    if ret.status == "deferred":
        return ""
    return "\n".join(map(str, (current_rendering() or _ALL).shown(ret, function._definition.json)))


def error_text(text: str) -> str:
    """Words of an exception or of a report, without what the call's Context redacts."""
    return (current_rendering() or _ALL).redacted(text)
