"""Parameters that are declared one by one, and how they go together with a signature."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from toolexec._errors import DeclarationError
from toolexec._json import is_array, is_object
from toolexec._json_types import TYPES, JsonType, annotation_of, check_whole, one_of
from toolexec._signature import EMPTY, VAR_KEYWORD, VAR_POSITIONAL, Param, check_default, described

Source: TypeAlias = Param | Callable[[], Any]
"""A declared parameter, or what is asked for some at every rendering."""


def parameter(
    name: str,
    type: Any = EMPTY,
    description: str = "",
    *,
    enum: Sequence[Any] | None = None,
    default: Any = EMPTY,
    required: bool | None = None,
) -> Param:
    """Declare one parameter, for ``parameters = [...]`` of a Tool class.

        class ReadFile(toolexec.Tool):
            name = "read-file"
            parameters = [toolexec.parameter("path", str, "The filename or path")]

            def call(self, path): ...

    What is not said here is what the signature of ``call`` says.

    Args:
        name: Its name, one of ``call``'s parameters, or any where ``call`` takes ``**kw``.
        type: Any type that a parameter could be annotated with; the name of a JSON type ("string"); a JSON
            Schema; or a plain function that gives one of these, which is called anew at every rendering.
        description: The text the model reads.
        enum: The values there are: all texts, all numbers or all booleans, fitting ``type``.
        default: What it is when a call leaves it out; fresh for each call where it can be changed.
        required: Whether a call has to supply it; by default, if it has no default.

    Raises:
        DeclarationError: Something of it cannot be; it names the parameter.
    """
    return declare("", name, type, description, enum=enum, default=default, required=required)


def declare(
    tool: str,
    name: str,
    type: Any,
    description: str,
    *,
    enum: Sequence[Any] | None = None,
    default: Any = EMPTY,
    required: bool | None = None,
) -> Param:
    """``parameter``, for a tool that is known.

    Raises:
        DeclarationError: Something of it cannot be; it names tool and parameter.
    """
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(f"{_tool(tool)}a parameter's name is {name!r}: it has to be a non-empty string")
    where = f"{_tool(tool)}parameter {name!r}"
    if not isinstance(description, str):
        raise DeclarationError(f"{where}: its description is {description!r}; it takes a text")
    if required is True and default is not EMPTY:
        raise DeclarationError(f"{where}: it is required and has a default; leave out one of the two")
    if required is False and default is EMPTY:
        raise DeclarationError(f"{where}: required=False needs a default; write default=..., or leave required out")
    kind = _kind(where, type)
    if enum is not None:
        kind = _member(where, kind, enum, default)
    elif default is not EMPTY:
        check_default(where, kind, default)
    return Param(name, kind, default=default, description=description, fill=default is not EMPTY)


def declare_all(tool: str, given: Any) -> list[Source]:
    """What ``params(...)`` was given: a JSON Schema, a mapping from names to types, or a function that gives one.

    Raises:
        DeclarationError: It is none of them.
    """
    if isinstance(given, types.FunctionType | types.MethodType):
        return [given]
    if not is_object(given):
        raise DeclarationError(
            f"{_tool(tool)}params takes a JSON Schema ({{'type': 'object', 'properties': ...}}), a dict of names and "
            f"types, or a function that gives one of these, not {given!r}"
        )
    if given.get("type") == "object" or is_object(given.get("properties")):
        return _from_schema(tool, given)
    return [item if isinstance(item, Param) else declare(tool, name, item, "") for name, item in given.items()]


def merge(declared: Iterable[Source]) -> list[Source]:
    """The declared parameters, of two with one name the later; each stands where its name came first."""
    merged: dict[object, Source] = {}
    for source in declared:
        key = source.name if isinstance(source, Param) else source
        merged[key] = source
    return list(merged.values())


def resolved(tool: str, declared: Sequence[Source]) -> list[Param]:
    """The declared parameters as they are at this moment: what is a function is called.

    Raises:
        DeclarationError: It raised, or gave what is no type.
    """
    flat: list[Source] = []
    for source in declared:
        flat.extend([source] if isinstance(source, Param) else declare_all(tool, _ask(tool, "params", source)))
    return [_at_this_moment(tool, param) for param in merge(flat) if isinstance(param, Param)]


def is_dynamic(declared: Iterable[Source]) -> bool:
    """Whether a rendering may differ from the one before it."""
    return any(
        not isinstance(source, Param) or isinstance(source.annotation, types.FunctionType) for source in declared
    )


def check_names(
    tool: str, declared: Sequence[Source], shape: Sequence[inspect.Parameter], closed: Collection[str] = ()
) -> None:
    """Hold declared parameters against a signature that is only read, not evaluated.

    Args:
        tool: The tool's name, for errors.
        declared: What was declared.
        shape: The parameters that are open to a caller.
        closed: The names that a ``**kw`` among them does not take.

    Raises:
        DeclarationError: One is declared twice, or would not get through to the body; or it may be left
            out and nothing says what it is then.
    """
    open_ended = any(p.kind is VAR_KEYWORD for p in shape)
    names = {p.name: p for p in shape if p.kind not in (VAR_KEYWORD, VAR_POSITIONAL)}
    seen: set[str] = set()
    for param in declared:
        if not isinstance(param, Param):
            continue
        where = f"{_tool(tool)}parameter {param.name!r}"
        if param.name in seen:
            raise DeclarationError(f"{where}: it is declared twice")
        seen.add(param.name)
        own = names.get(param.name)
        if own is None and param.name in closed:
            raise DeclarationError(
                f"{where}: what is called has that name already, for what is no model's to send; choose another"
            )
        if own is None and not open_ended:
            there = ", ".join(names) or "none"
            raise DeclarationError(
                f"{where}: it is declared, and what is called takes no such parameter; it takes: {there}"
            )
        if param.optional and own is not None and own.default is EMPTY:
            raise DeclarationError(_unsaid(where))


def check_complete(tool: str, declared: Sequence[Source]) -> None:
    """Hold declared parameters to be enough for a call by position, which leaves no place empty.

    Raises:
        DeclarationError: One may be left out, and nothing says what it is then.
    """
    for param in declared:
        if isinstance(param, Param) and param.optional:
            raise DeclarationError(_unsaid(f"{_tool(tool)}parameter {param.name!r}"))


def _unsaid(where: str) -> str:
    return (
        f"{where}: its schema lets a call leave it out, and what is called needs it; give it a default, "
        "there or in the schema, or name it under required"
    )


def combine(signature: Sequence[Param], declared: Sequence[Param]) -> list[Param]:
    """A signature's parameters with what is declared of them; what only ``**kw`` takes comes after them."""
    said = {param.name: param for param in declared}
    combined: list[Param] = []
    for own in signature:
        if own.kind is VAR_KEYWORD and any(name not in {p.name for p in signature} for name in said):
            continue  # it is there for what is declared
        over = said.pop(own.name, None) if own.kind is not VAR_KEYWORD else None
        combined.append(own if over is None else _over(own, over))
    return combined + list(said.values())


class Schema(dict[str, Any]):
    """A tool's JSON Schema, a dict of its own; called, it adds parameters to the tool."""

    __slots__ = ("_add",)

    def __init__(self, schema: dict[str, Any], add: Callable[[Any], None]) -> None:
        super().__init__(copy.deepcopy(schema))
        self._add = add

    def __call__(self, given: Any) -> None:
        """Add parameters; see ``Function.params``."""
        self._add(given)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def _over(own: Param, said: Param) -> Param:
    return replace(
        own,
        annotation=own.annotation if said.annotation is EMPTY else said.annotation,
        optional=said.optional,
        default=own.default if said.default is EMPTY else said.default,
        make_default=own.make_default if said.default is EMPTY else None,
        description=said.description or own.description,
        fill=own.fill or said.default is not EMPTY,
    )


def _from_schema(tool: str, schema: Mapping[str, Any]) -> list[Source]:
    properties: object = schema.get("properties", {})
    if not is_object(properties):
        raise DeclarationError(f"{_tool(tool)}params: properties is {properties!r}; it takes a dict")
    check_whole(f"{_tool(tool)}params", schema)
    definitions: Any = schema.get("$defs") or schema.get("definitions") or {}
    required: Any = schema.get("required", ())
    found: list[Source] = []
    for name, part in properties.items():
        if not is_object(part):
            raise DeclarationError(f"{_tool(tool)}parameter {name!r}: {part!r} is no JSON Schema")
        default: Any = part.get("default", EMPTY)
        text: Any = part.get("description", "")
        kind = JsonType({key: value for key, value in part.items() if key != "description"}, definitions)
        param = declare(tool, name, kind, text, default=default if name not in required else EMPTY)
        found.append(param if name in required or default is not EMPTY else replace(param, optional=True))
    return found


def _kind(where: str, kind: Any) -> Any:
    if isinstance(kind, str):
        if kind not in TYPES:
            raise DeclarationError(f"{where}: {kind!r} is no type of JSON; these are: {', '.join(TYPES)}")
        return TYPES[kind]
    if is_object(kind):
        return JsonType(kind, kind.get("$defs", {}))
    if isinstance(kind, list | tuple | set | int | float):
        raise DeclarationError(f"{where}: {kind!r} is no type; of values there are, write enum={kind!r}")
    return kind


def _member(where: str, kind: Any, enum: Any, default: Any) -> Any:
    if not is_array(enum) or not enum:
        raise DeclarationError(f"{where}: enum is {enum!r}; it takes a list of the values there are")
    if isinstance(kind, types.FunctionType | JsonType):
        raise DeclarationError(f"{where}: enum goes with a type such as str, not with {kind!r}; say it there")
    values = list(enum)
    if not any(all(fits(value) for value in values) for fits in (_is_text, _is_number, _is_boolean)):
        raise DeclarationError(
            f"{where}: enum is {enum!r}; its values have to be all texts, all numbers or all booleans"
        )
    if kind is not EMPTY and kind is not Any:
        wanted = {str: _is_text, int: _is_whole, float: _is_number, bool: _is_boolean}.get(kind)
        if wanted is None:
            raise DeclarationError(f"{where}: enum goes with str, int, float or bool, not with {kind!r}")
        wrong = next((value for value in values if not wanted(value)), None)
        if wrong is not None:
            raise DeclarationError(f"{where}: {wrong!r} of its enum is no {kind.__name__}, which is its type")
    if default is not EMPTY and not any(default == v and type(default) is type(v) for v in values):
        raise DeclarationError(f"{where}: its default {default!r} is none of its enum: {enum!r}")
    return _Enum(values, kind)


class _Enum:
    """The values there are; a type only once pydantic is loaded."""

    __slots__ = ("base", "values")

    def __init__(self, values: list[Any], base: Any) -> None:
        self.values = values
        self.base = base


def _at_this_moment(tool: str, param: Param) -> Param:
    kind = param.annotation
    where = f"{_tool(tool)}parameter {param.name!r}"
    if isinstance(kind, types.FunctionType):
        kind = _kind(where, _ask(tool, where, kind))
    if isinstance(kind, _Enum):
        kind = one_of(kind.values, Any if kind.base is EMPTY else kind.base)
    if isinstance(kind, JsonType):
        kind = annotation_of(where, kind)
    return described(tool, replace(param, annotation=kind))


def _ask(tool: str, where: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as exc:
        raise DeclarationError(
            f"{_tool(tool)}{where.removeprefix(_tool(tool))}: the function that tells its type raised "
            f"{type(exc).__name__}: {exc}"
        ) from exc


def _tool(tool: str) -> str:
    return f"tool {tool!r}, " if tool else ""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool)
