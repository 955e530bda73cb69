"""What a docstring says: its summary, and a text for each parameter."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

_ARGUMENTS = r"(?:(?:Keyword|Other) )?(?:Args|Arguments|Params|Parameters)"
_OTHERS = (
    r"Attributes|Examples?|Except|Exceptions|Notes?|Raises?|References?|Returns?|See Also|Todo|Usage|Warn|Warns"
    r"|Warnings?|Yields?"
)
_ARGUMENTS_ONLY = re.compile(_ARGUMENTS, re.IGNORECASE)
_ARGUMENTS_TITLE = re.compile(rf"{_ARGUMENTS}\s*:\s*", re.IGNORECASE)
_TITLE = re.compile(rf"(?:{_ARGUMENTS}|{_OTHERS})\s*::?\s*", re.IGNORECASE)
_NUMPY_TITLE = re.compile(rf"(?:{_ARGUMENTS}|{_OTHERS}|Receives?)\s*", re.IGNORECASE)
_UNDERLINE = re.compile(r"[-=~]{3,}\s*")
_NAME = re.compile(r"(?P<indent> *)[*`\\]*(?P<name>[^\W\d]\w*)`*\s*(?P<rest>[(:].*)")
# ``:class:`X``` is no field, though it begins like one.
_FIELD = re.compile(r":(?P<head>[^\s:`][^:`]*):(?:\s+(?P<text>.*))?")
_FIELD_KEYS = ("param", "parameter", "arg", "argument", "key", "keyword")
_FENCE = re.compile(r"(`{3,}|~{3,})")


def doc_of(function: Any) -> object:
    """The docstring that is about a callable: not a partial's own, and of an object that of its ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function.__doc__
    own: object = getattr(function, "__dict__", {}).get("__doc__")
    return own or type(function).__call__.__doc__


def summary_of(docstring: object) -> str:
    """The first paragraph on one line, or "": without arguments and other sections that follow it closely."""
    if not isinstance(docstring, str):
        return ""
    lines = inspect.cleandoc(docstring).splitlines()
    told: list[str] = []
    for line, after in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if not line.strip() or _TITLE.fullmatch(line) or _FIELD.fullmatch(line) or _is_title(line, after):
            break
        if not _UNDERLINE.fullmatch(line):
            told.append(line)
    return " ".join(" ".join(told).split())


def texts_of(docstring: object, names: Collection[str]) -> dict[str, str]:
    """The texts of the parameters that a docstring tells of, by name.

    Google, NumPy and reST; of several the one that tells of most.  What cannot be read is not there.

    Args:
        docstring: It, or anything else where there is none.
        names: Of the parameters; what is told of others is left out.
    """
    if not isinstance(docstring, str) or not names:
        return {}
    lines = list(_without_examples(inspect.cleandoc(docstring).splitlines()))
    best: dict[str, str] = {}
    # docstring_parser gives up a whole docstring for one odd line; hence each style is put in order first.
    for style, tidied in (("GOOGLE", _google(lines, names)), ("NUMPYDOC", _numpy(lines)), ("REST", _rest(lines))):
        found = _parsed(style, tidied, names) if tidied else {}
        if len(found) > len(best):
            best = found
    return best


def _parsed(style: str, lines: Sequence[str], names: Collection[str]) -> dict[str, str]:
    from docstring_parser import DocstringStyle, parse  # on first use: most of what imports us never needs it

    try:
        # With a line before all: what stands at the margin there has no say in what is the margin.
        params = parse("\n".join(["Summary.", "", *lines]), DocstringStyle[style]).params
    except Exception:  # noqa: BLE001 - a docstring is free text, and no reason for a tool not to work
        return {}
    found: dict[str, str] = {}
    for param in params:
        text = (param.description or "").strip()
        for name in param.arg_name.split(","):  # NumPy's ``x, y : int``
            bare = name.strip(" *`\\")
            if text and bare in names and param.args[0] != "attribute":
                found.setdefault(bare, text)
    return found


def _is_title(line: str, after: str) -> bool:
    """Whether a line is a title as NumPy writes it."""
    return bool(_NUMPY_TITLE.fullmatch(line) and _UNDERLINE.fullmatch(after))


def _without_examples(lines: Sequence[str]) -> Iterator[str]:
    """The lines without code at the margin, whose own ``Args:`` would be read as the function's."""
    fence = ""
    doctest = section = False
    for place, line in enumerate(lines):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if line.rstrip() == fence else fence
            continue
        if opened is not None and any(later.rstrip() == opened[1] for later in lines[place + 1 :]):
            fence = opened[1]
            continue
        if _is_title(line, lines[place + 1] if place + 1 < len(lines) else ""):
            section = line.strip().lower() in ("example", "examples")
        doctest = line.startswith(">>>") or (doctest and bool(line.strip()))
        if not doctest and not section:
            yield line


def _google(lines: Sequence[str], names: Collection[str]) -> list[str]:
    """The argument blocks as one, where each entry is ``name: text``, and all else stands deeper."""
    tidied: list[str] = []
    inside = entered = False  # a block; an entry of it
    level = 0  # of the entries of the block
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if _ARGUMENTS_TITLE.fullmatch(line):
            inside, entered = True, False
        elif not inside or not line.strip():
            tidied.append("")
        elif (entry := _entry(line, names)) and (not entered or indent <= level) and (indent or entry[0] in names):
            entered, level = True, indent
            tidied.append(f"    {entry[0]}: {entry[1]}")
        elif not indent:
            inside = False
        elif entered:
            # Deeper than the entries, and by as much as it was, so that lists in it stay lists.
            tidied.append(f"        {' ' * max(0, indent - level)}{line.lstrip()}")
    return ["Args:", *tidied] if any(tidied) else []


def _entry(line: str, names: Collection[str]) -> tuple[str, str] | None:
    """Name and text of a line such as ``name (type): text``, or None."""
    found = _NAME.fullmatch(line)
    if found is None:
        return None
    rest = found["rest"]
    if rest.startswith("("):  # a type may have colons and parentheses of its own
        depth = 0
        for place, char in enumerate(rest):
            depth += (char in "([{") - (char in ")]}")
            if not depth:
                rest = rest[place + 1 :].lstrip()
                break
    if not rest.startswith(":") or (rest[1:2].strip() and found["name"] not in names):
        return None
    return found["name"], rest[1:].strip()


def _numpy(lines: Sequence[str]) -> list[str]:
    """The docstring with the underlines as long as the titles, which docstring_parser asks for."""
    if not any(_is_title(line, after) for line, after in itertools.pairwise(lines)):
        return []
    tidied: list[str] = []
    for line in lines:
        if tidied and _is_title(tidied[-1], line):
            title = tidied[-1].strip().title()
            tidied[-1] = "Parameters" if _ARGUMENTS_ONLY.fullmatch(title) else title
            tidied.append("-" * len(tidied[-1]))
        else:
            tidied.append(line)
    return tidied


def _rest(lines: Sequence[str]) -> list[str]:
    """The fields about parameters, each as ``:param name: text``, and what belongs to them."""
    tidied: list[str] = []
    inside = blank = False
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is not None:
            key, *rest = field["head"].split()
            inside = key.lower() in _FIELD_KEYS and bool(rest)
            if inside:  # a type between the two is of no use here, and may have blanks
                tidied.append(f":param {rest[-1]}: {field['text'] or ''}")
        elif inside and not line.strip():
            tidied.append("")
        elif inside and (line[0] == " " or not blank):
            tidied.append(line if line[0] == " " else f"    {line}")
        else:
            inside = False
        blank = not line.strip()
    return tidied
