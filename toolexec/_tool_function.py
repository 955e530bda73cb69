"""ToolFunction: a handle that is called by position, with the parameters that were added to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

from toolexec._arguments import excerpt
from toolexec._calls import CallRecord, call_dict
from toolexec._declared import declare
from toolexec._definition import Definition
from toolexec._errors import DeclarationError, FormatError
from toolexec._function import Function
from toolexec._return import Return, render
from toolexec._signature import EMPTY, Param


class ToolFunction(Function):
    """A tool of which nothing is read from the function: what is added to it is what it takes.

        tool = ToolFunction("temperature", "Reads a sensor", read)
        tool.add_parameters("room", "string", "Which room", enum=["hall", "attic"])
        tool.add_parameters("unit", "string", "C or F", default="C")

    The handle is called by position, in the order in which parameters were added, always with all of
    them: what a call leaves out is filled from its default, so that nothing after it moves up.  It is
    a tool like any other: for a Context, and under every strategy.
    """

    __slots__ = ()

    def __init__(self, name: str, description: str, handle: Callable[..., Any], **options: Any) -> None:
        """Declare a tool without parameters; ``add_parameters`` adds them.

        Args:
            name: The name the model uses.
            description: The text the model reads.
            handle: What is called; sync or async.
            **options: As for ``@tool``; see ``ToolOptions``.

        Raises:
            DeclarationError: A name, handle, option or value that cannot be.
        """
        if not callable(handle):
            raise DeclarationError(f"tool {name!r}: its handle is {handle!r}; it takes a function")
        super().__init__(name, description, source=handle, positional=True, **options)

    def add_parameters(
        self,
        name: str,
        type: Any,
        description: str,
        enum: Sequence[Any] | None = None,
        default: Any = EMPTY,
    ) -> Self:
        """Add the handle's next parameter.

            tool.add_parameters("room", "string", "Which room", enum=["hall", "attic"], default="hall")

        Args:
            name: What the model calls it.
            type: The name of a JSON type ("string", "integer", "number", "boolean", "array", "object"),
                or any type that a parameter could be annotated with.
            description: The text the model reads.
            enum: The values there are: all texts, all numbers or all booleans, fitting ``type``.
            default: What it is when a call leaves it out; without one it is required.

        Returns:
            The tool itself, so that calls can be chained.

        Raises:
            DeclarationError: Something of it cannot be, or there is one of that name.
        """
        made = declare(self.name, name, type, description, enum=enum, default=default)
        if any(isinstance(there, Param) and there.name == name for there in self._definition.declared):
            raise DeclarationError(f"tool {self.name!r}, parameter {name!r}: it is added twice")
        self._definition.declare([made])
        return self

    def eval(self, tool_call: str | Mapping[str, Any]) -> tuple[str, str] | Literal[""]:
        """Run one call that a model made, here and now, on this thread.

        Args:
            tool_call: The call, as JSON text or a dict: ``{"name": ..., "arguments": ...}``, or as
                OpenAI nests it.

        Returns:
            The result as text, and this tool's name; ``""`` for a call of another tool.  Where the
            arguments do not fit, the text says what is expected and what was supplied, and the handle
            is not called; where the handle raises, it is the error's.

        Raises:
            ValueError: ``tool_call`` names no tool.
        """
        record = _record(tool_call)
        if record.name != self.name:
            return ""
        ret = self.bind(record.arguments, record.id).call()
        return (render(ret, json=self._definition.json) if ret.ok else _failure(ret)), self.name

    def __reduce__(self) -> Any:
        return _rebuild, (self._definition.parts(), self._id, self.arguments)


def _rebuild(parts: dict[str, Any], id: str | None, arguments: Any) -> ToolFunction:
    tool = ToolFunction.__new__(ToolFunction)
    tool._init(Definition(**parts), id, arguments)
    return tool


def _record(tool_call: object) -> CallRecord:
    if not isinstance(tool_call, str | bytes):
        return call_dict(tool_call, 0)
    doubled: list[object] = []

    def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            doubled.append(made)
        return made

    try:
        entry: Any = json.loads(tool_call, object_pairs_hook=of_pairs)
    except (ValueError, RecursionError) as exc:
        why = str(exc)
    else:
        record = call_dict(entry, 0)
        if not doubled:
            return record
        if not any(held is entry or held is entry.get("function") for held in doubled):
            # In the arguments: refused like those of any call, for which the whole text will do.
            return record._replace(arguments=tool_call)
        why = "a key is there twice"
    # Not in the except clause: the error holds the text, in which there may be a secret.
    raise FormatError(f"a tool call that is no JSON ({why}): {excerpt(repr(tool_call))}")


def _failure(ret: Return) -> str:
    form: dict[str, Any] = ret.value
    if ret.status == "bad_arguments":
        return str(form["message"])
    if "type" in form:
        return f"{form['type']}: {form['message']}"
    return render(ret)
