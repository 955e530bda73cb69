"""What a function's docstring says: in short, and of each parameter."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Iterable
from typing import Any

# Where the summary ends at the latest: the head of a section, in the three styles.
_SECTION = re.compile(
    r"(args|arguments|parameters|params|keyword args|keyword arguments|other parameters|attributes|returns?|yields?|"
    r"raises?|examples?|notes?|warnings?|see also)\s*:?\s*",
    re.IGNORECASE,
)
_FIELD = re.compile(r"[:@](param|parameter|arg|argument|key|keyword|type|raises?|returns?|rtype|yields?)\b")


def docstring_of(documented: Any) -> str:
    """The docstring that was written for this one, cleaned; a class has none from its base."""
    if isinstance(documented, type):
        own: object = documented.__dict__.get("__doc__")
    else:
        bare = _bare(documented)
        own = getattr(bare, "__doc__", None)
        if not isinstance(bare, _ROUTINES):
            own = bare.__class__.__dict__.get("__doc__") or getattr(type(bare).__call__, "__doc__", None)
    return inspect.cleandoc(own) if isinstance(own, str) else ""


def summary_of(documented: Any) -> str:
    """The first paragraph, on one line, without a block of arguments; "" where there is none."""
    lines: list[str] = []
    for line in docstring_of(documented).splitlines():
        stripped = line.strip()
        if not stripped or _SECTION.fullmatch(stripped) or _FIELD.match(stripped):
            break
        lines.append(stripped)
    return " ".join(lines)


def texts_of(documented: Any, names: Iterable[str]) -> dict[str, str]:
    """What is said of the parameters that have these names; never raises, whatever the docstring is.

    Google's, NumPy's and reST's styles are read; of several readings the one counts that says most.
    """
    wanted = set(names)
    text = docstring_of(documented)
    if not wanted or not text or not any(name in text for name in wanted):
        return {}
    readings = (_read(text, style, wanted) for style in _styles())
    best: dict[str, str] = {}
    for reading in readings:
        best = max(best, reading, key=len)
    return best


def _read(text: str, style: Any, wanted: set[str]) -> dict[str, str]:
    from docstring_parser import parse

    try:
        found = parse(text, style).params
    except Exception:  # noqa: BLE001 - a docstring is prose; no oddity of it may cost a tool
        return {}
    said: dict[str, str] = {}
    for param in found:
        for name in param.arg_name.split(","):  # NumPy's style puts several before one text
            bare = name.strip().lstrip("*")
            if bare in wanted and param.description and bare not in said:
                said[bare] = inspect.cleandoc(param.description).strip()
    return said


def _styles() -> list[Any]:
    from docstring_parser import DocstringStyle

    return [DocstringStyle.GOOGLE, DocstringStyle.NUMPYDOC, DocstringStyle.REST, DocstringStyle.EPYDOC]


_ROUTINES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType)


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return inspect.unwrap(function)
