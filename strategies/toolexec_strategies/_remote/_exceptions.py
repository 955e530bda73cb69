"""Exceptions over a wire: same class, same fields, traceback, causes, notes and members."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any, TypedDict

from toolexec import ForeignError, Interrupt, ToolError
from toolexec.lowlevel import ForeignToolError, backtrace, describe

# Frames of one traceback that are rebuilt; each costs the host 20 us, and a recursion error has a
# thousand.  The formatted text that travels beside has them all.
_FIRST_FRAMES = 20
_LAST_FRAMES = 80

# Exceptions of one tree (causes, contexts, group members) that travel; the text has all.
_MOST_NODES = 200

Line = tuple[str, str, str, int]  # file, function, module, line


class Node(TypedDict):
    """One exception of a tree, as plain data; others are meant by their place in the list.

    Attributes:
        pickled: What gives the exception itself, or None where nothing does.
        bare: How to build it without its constructor, where its own pickle does not.
        type_name: Its class's name.
        is_tool_error: Whether it is a ``ToolError``.
        message: Its text.
        text: Its formatted traceback; "" for the first one of a tree, whose text travels elsewhere.
        lines: Its traceback.
        notes: What ``add_note`` added.
        cause: Place of ``__cause__``, or None.
        context: Place of ``__context__``, or None.
        suppress: ``__suppress_context__``.
        members: The members' places, of an exception group.
    """

    pickled: bytes | None
    bare: bytes | None
    type_name: str
    is_tool_error: bool
    message: str
    text: str
    lines: list[Line]
    notes: list[str]
    cause: int | None
    context: int | None
    suppress: bool
    members: list[int]


def flatten(exc: BaseException, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]) -> list[Node]:
    """An exception and all that hangs on it as plain data, the exception itself first; never raises.

    Args:
        exc: The exception.
        dumps: Pickles something for the host.
        loads: Loads that here, as far as it can tell what the host will get.
    """
    places: dict[int, int] = {}
    waiting: list[BaseException] = []
    nodes: list[Node] = []

    def place(other: BaseException | None) -> int | None:
        if other is None:
            return None
        known = places.get(id(other))
        if known is None and len(places) < _MOST_NODES:
            known = places[id(other)] = len(places)
            waiting.append(other)
        return known

    place(exc)
    for one in waiting:  # grows while it is walked
        members = [at for member in _members(one) if (at := place(member)) is not None]
        pickled = bare = None
        if not members:
            pickled = _attempt(lambda one=one: _own_pickle(one, dumps, loads))  # type: ignore[misc]
        if pickled is None:
            bare = _attempt(lambda one=one: _bare_pickle(one, dumps, loads))  # type: ignore[misc]
        nodes.append(
            Node(
                pickled=pickled,
                bare=bare,
                type_name=type(one).__name__,
                is_tool_error=issubclass(type(one), ToolError),
                message=describe(one),
                text="" if one is exc else "\n".join(backtrace(one)),
                lines=_lines(one),
                notes=[str(note) for note in getattr(one, "__notes__", ())],
                cause=place(one.__cause__),
                context=place(one.__context__),
                suppress=one.__suppress_context__,
                members=members,
            )
        )
    return nodes


def is_plain_interrupt(exc: BaseException) -> bool:
    """Whether this is an Interrupt as toolexec raises it, which comes out of its own pickle as it went in."""
    if type(exc) is not Interrupt or exc.__cause__ is not None or exc.__context__ is not None:
        return False
    return all(type(value) is str for value in (*exc.args, *exc.__dict__.values()))


def rebuild(nodes: list[Node], text: str) -> BaseException:
    """The exception that :func:`flatten` took apart; never raises, whatever its class does when it is loaded.

    Args:
        nodes: What flatten gave.
        text: The formatted traceback of the whole tree.
    """
    built: list[BaseException | None] = [None] * len(nodes)

    def build(at: int) -> BaseException:
        done = built[at]
        if done is not None:
            return done
        node = nodes[at]
        members = [build(member) for member in node["members"]]
        exc = _one(node, members, node["text"] if at else text)
        built[at] = exc
        return exc

    for at, node in enumerate(nodes):
        one = build(at)
        one.__traceback__ = _traceback(node["lines"])
        if node["notes"] and not hasattr(one, "__notes__"):  # a __reduce__ of its own may have dropped them
            one.__notes__ = node["notes"]
    for node, exc in zip(nodes, built, strict=True):
        assert exc is not None
        if node["cause"] is not None:
            exc.__cause__ = built[node["cause"]]
        if node["context"] is not None:
            exc.__context__ = built[node["context"]]
        exc.__suppress_context__ = node["suppress"]
    first = built[0]
    assert first is not None
    return first


def _members(exc: BaseException) -> tuple[BaseException, ...]:
    members: tuple[BaseException, ...] = getattr(exc, "exceptions", ()) if _is_group(exc) else ()
    return members


def _is_group(exc: BaseException) -> bool:
    return isinstance(exc, BaseExceptionGroup)


def _attempt(pack: Callable[[], bytes | None]) -> bytes | None:
    try:
        return pack()
    except BaseException:  # noqa: BLE001 - an exception's class is the tool's code, loading it again included
        return None


def _own_pickle(exc: BaseException, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]) -> bytes | None:
    # First, because it keeps what lives in C (SystemExit.code, SyntaxError.lineno) and is lost when
    # an exception is built without its constructor.  Not to be trusted: a constructor with other
    # parameters than it hands on fails on loading, or takes its own text for a parameter.
    pickled = dumps(exc)
    copy = loads(pickled)
    same = type(copy) is type(exc) and (copy.args == exc.args) is True and str(copy) == str(exc)
    return pickled if same else None


def _bare_pickle(exc: BaseException, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any]) -> bytes | None:
    # As tblib does it: class, args and attributes, past the constructor.
    args = exc.args[:1] if _is_group(exc) else exc.args
    pickled = dumps((type(exc), args, exc.__dict__))
    copy = _bare(loads(pickled), list(_members(exc)))
    return pickled if type(copy) is type(exc) and str(copy) == str(exc) else None


def _bare(parts: tuple[type[BaseException], tuple[Any, ...], dict[str, Any]], members: list[Any]) -> BaseException:
    cls: Any
    cls, args, attributes = parts
    exc: BaseException
    if members:
        exc = BaseExceptionGroup.__new__(cls, args[0], members)
    else:
        exc = cls.__new__(cls, *args)
        exc.args = args
    exc.__dict__.update(attributes)
    return exc


def _one(node: Node, members: list[BaseException], text: str) -> BaseException:
    try:
        exc: Any = None
        if node["pickled"] is not None:
            exc = pickle.loads(node["pickled"])
        elif node["bare"] is not None:
            exc = _bare(pickle.loads(node["bare"]), members)
        if isinstance(exc, BaseException):
            return exc
    except BaseException:  # noqa: BLE001 - what runs here is the tool's class; it must not end the reader
        pass
    # Of a group that cannot be rebuilt the members are in the text.
    kind = ForeignToolError if node["is_tool_error"] else ForeignError
    return kind(node["type_name"], node["message"], text)


def _lines(exc: BaseException) -> list[Line]:
    lines: list[Line] = []
    step = exc.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        module = step.tb_frame.f_globals.get("__name__")
        lines.append((code.co_filename, code.co_name, module if isinstance(module, str) else "?", step.tb_lineno or 0))
        step = step.tb_next
    if len(lines) > _FIRST_FRAMES + _LAST_FRAMES:
        del lines[_FIRST_FRAMES:-_LAST_FRAMES]
    return lines


def _traceback(lines: list[Line]) -> Any:
    following: dict[str, Any] | None = None
    for file, name, module, number in reversed(lines):
        following = {
            "tb_frame": {
                "f_globals": {"__name__": module, "__file__": file},
                "f_locals": {},
                "f_code": {"co_filename": file, "co_name": name},
                "f_lineno": number,
            },
            "tb_lineno": number,
            "tb_next": following,
        }
    if following is None:
        return None
    try:
        tblib: Any = importlib.import_module("tblib")  # which has no types
        return tblib.Traceback.from_dict(following).as_traceback()
    except Exception:  # noqa: BLE001 - a traceback is a help to people; the text has it too
        return None
