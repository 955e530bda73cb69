"""What a function says of its parameters, read from its signature one by one."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ForwardRef, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from toolexec._docstrings import texts_of
from toolexec._errors import DeclarationError
from toolexec._inject import What, wanted

_Kind: TypeAlias = "inspect._ParameterKind"
EMPTY: Any = inspect.Parameter.empty
POSITIONAL_ONLY: Any = inspect.Parameter.POSITIONAL_ONLY
KEYWORD: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD_ONLY: Any = inspect.Parameter.KEYWORD_ONLY
VAR_POSITIONAL: Any = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD: Any = inspect.Parameter.VAR_KEYWORD

_PYTHON_TYPES: dict[Any, Any] = {int: int, float: int | float, str: str, bool: bool, list: list, dict: dict}
_AS_WRITTEN: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    import annotationlib

    # One name that cannot be found must not hide the other parameters.
    _AS_WRITTEN["annotation_format"] = annotationlib.Format.FORWARDREF


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a tool.

    Attributes:
        name: Its name, any text.
        annotation: Its type, or EMPTY.
        kind: How it is passed; as ``inspect.Parameter.kind``.
        default: What it is when a call leaves it out; EMPTY where it is required.
        make_default: Makes that anew for each call, or None.
        description: The text the model reads, or "".
        fill: Whether a default has to be passed, because the function has none of its own.
        optional: Whether a call may leave it out although nothing says what it is then.
        inject: What the engine fills it with, or None for what a model sends.
        closed: Of ``**kw``: the names that it does not take, because something else of what is called has them.
    """

    name: str
    annotation: Any = EMPTY
    kind: _Kind = KEYWORD
    default: Any = EMPTY
    make_default: Callable[[], Any] | None = None
    description: str = ""
    fill: bool = False
    optional: bool = False
    inject: What | None = None
    closed: frozenset[str] = frozenset()

    @property
    def required(self) -> bool:
        """Whether a call has to supply it."""
        return self.default is EMPTY and self.make_default is None and not self.optional


def params_of(
    tool: str, function: Callable[..., Any], *, skip_first: bool = False, texts: Mapping[str, str] | None = None
) -> tuple[Param, ...]:
    """The parameters of a function, in order.

    What a partial has bound is left out, and so is what a wrapper with parameters of its own supplies.

    Args:
        tool: The tool's name, for errors.
        function: What will be called.
        skip_first: Whether the first parameter is a receiver that is filled in by binding.
        texts: Descriptions by name, for parameters that have none in their annotation.

    Raises:
        DeclarationError: The signature cannot be read, or an annotation cannot be evaluated; it names the parameter.
    """
    try:
        shown, owner = _visible(function)
    except (ValueError, TypeError) as exc:
        raise DeclarationError(f"tool {tool!r}: its signature cannot be read ({exc}); wrap it in a function") from exc
    names = _Names(owner)
    if skip_first:
        shown = shown[1:]
    closed = closed_names(function, shown)
    params = [_param(tool, parameter, names, texts or {}) for parameter in shown]
    return tuple(replace(p, closed=closed) if p.kind is VAR_KEYWORD else p for p in params if p is not None)


def with_texts(params: Sequence[Param], texts: Mapping[str, str], *docstrings: object) -> tuple[Param, ...]:
    """The parameters, each with a text for the model: its own, else a docstring's, else its name.

    Args:
        params: Those of a function.
        texts: What takes the place of all that, by name.
        docstrings: Where they are told of; a later one is read only for what those before it leave out.
    """
    shown = [param for param in params if param.inject is None and param.kind is not VAR_KEYWORD]
    found = {param.name: texts.get(param.name) or param.description for param in shown}
    for docstring in docstrings:
        if not all(found.values()):
            told = texts_of(docstring, [param.name for param in params])
            found = {name: text or told.get(name, "") for name, text in found.items()}
    named = {name: text or name for name, text in found.items()}
    return tuple(replace(param, description=named.get(param.name, param.description)) for param in params)


def shape_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters as they are written, nothing evaluated; what a declaration can be checked against.

    Raises:
        ValueError, TypeError: There is no signature to be read.
    """
    return _visible(function)[0]


def closed_names(function: Any, shown: Sequence[inspect.Parameter]) -> frozenset[str]:
    """The names that a caller cannot pass through ``**kw``: of a receiver, and of what a partial or a wrapper supplies.

    Args:
        function: What will be called.
        shown: Those of its parameters that are open to a caller.
    """
    if not any(parameter.kind is VAR_KEYWORD for parameter in shown):
        return frozenset()
    names: set[str] = set()
    inner = function
    while inner is not None:
        if isinstance(inner, functools.partial):
            names.update(inner.keywords)
            inner = inner.func
        elif isinstance(inner, types.MethodType):
            inner = inner.__func__
        elif isinstance(inner, types.FunctionType | types.BuiltinFunctionType | type):
            own = inspect.signature(inner, follow_wrapped=False, **_AS_WRITTEN).parameters.values()
            names.update(p.name for p in own if p.kind not in (POSITIONAL_ONLY, VAR_POSITIONAL, VAR_KEYWORD))
            inner = getattr(inner, "__wrapped__", None)
        else:
            inner = getattr(inner, "__wrapped__", type(inner).__call__)
    return frozenset(names - {p.name for p in shown})


def _visible(function: Any) -> tuple[list[inspect.Parameter], Any]:
    """The parameters that are open to a caller, and the function that their annotations belong to."""
    bound: set[str] = set()
    own = inspect.signature(function, follow_wrapped=False, **_AS_WRITTEN)
    inner = function
    while isinstance(inner, functools.partial):
        bound.update(inner.keywords)
        inner = inner.func
    parameters = list(own.parameters.values())
    supplied: Any = getattr(inner, "__wrapped__", None)
    if supplied is not None and any(p.kind in (VAR_POSITIONAL, VAR_KEYWORD) for p in parameters):
        # A wrapper that passes on what it gets: what it wraps tells what that is.
        followed = inspect.signature(function, **_AS_WRITTEN)
        parameters = list(followed.parameters.values())
        inner = inspect.unwrap(inner)
    return [p for p in parameters if p.name not in bound or p.default is EMPTY], inner


def _param(tool: str, parameter: inspect.Parameter, names: _Names, texts: Mapping[str, str]) -> Param | None:
    if parameter.kind is VAR_POSITIONAL:
        return None  # nothing that an object could name
    annotation = _evaluated(tool, parameter, names)
    param = Param(parameter.name, annotation, parameter.kind, parameter.default, inject=wanted(annotation))
    return described(tool, param, texts.get(parameter.name, ""))


def found_from(tool: str, params: Sequence[Param], function: Any) -> list[Param]:
    """Declared parameters, with the names in their types looked up where the function's own are.

    Raises:
        DeclarationError: One cannot be found; it names the parameter.
    """
    names = _Names(function)
    return [replace(param, annotation=_evaluated(tool, param, names)) for param in params]


def _evaluated(tool: str, parameter: Param | inspect.Parameter, names: _Names) -> Any:
    try:
        return names.evaluate(parameter.annotation)
    except NameError as exc:
        raise DeclarationError(
            f"tool {tool!r}, parameter {parameter.name!r}: its annotation names {exc.name!r}, which cannot be found "
            "from the function's module; define or import it at the top of that module"
        ) from exc
    except Exception as exc:  # evaluating is the user's code
        raise DeclarationError(
            f"tool {tool!r}, parameter {parameter.name!r}: its annotation {parameter.annotation!r} cannot be "
            f"evaluated ({type(exc).__name__}: {exc})"
        ) from exc


def described(tool: str, param: Param, text: str = "") -> Param:
    """The parameter with what its annotation and its default say: a text, a default, a way to make one."""
    default, make = param.default, param.make_default
    texts: list[str] = []
    fields = [extra for extra in _extras(param.annotation) if not isinstance(extra, str)]
    texts = [extra for extra in _extras(param.annotation) if isinstance(extra, str)]
    annotation = param.annotation
    if _is_field(default):  # ``x: int = Field(3, ge=1)``, as pydantic's users write it
        fields.append(default)
        annotation = Annotated[Any if annotation is EMPTY else annotation, default]
        default = EMPTY
    for extra in fields:
        if _is_field(extra):
            texts.append(extra.description or "")
            own, own_make = _default_in(extra)
            if default is not EMPTY and own is not EMPTY and own != default:
                raise DeclarationError(
                    f"tool {tool!r}, parameter {param.name!r}: it has two defaults, {default!r} and {own!r} in its "
                    "Field; leave one of them out"
                )
            if default is EMPTY and make is None:
                default, make = own, own_make
    if type(default) in (str, int, float, bool):  # others may be marks of the author's own for what is left out
        check_default(f"tool {tool!r}, parameter {param.name!r}", annotation, default)
    found = param.description or next((said for said in reversed(texts) if said.strip()), "") or text
    fill = param.fill or param.default is not default or make is not None
    return replace(param, annotation=annotation, default=default, make_default=make, description=found, fill=fill)


def check_default(where: str, kind: Any, default: Any) -> None:
    """Refuse a default that is not of a parameter's type, where that is a plain one; None is for what is left out.

    Raises:
        DeclarationError: It begins with ``where``.
    """
    origin, args = get_origin(kind), get_args(kind)
    if default is None:
        return
    if origin is Annotated:
        check_default(where, args[0], default)
    elif origin in (Union, types.UnionType):
        members = [member for member in args if member is not type(None)]
        if len(members) == 1:
            check_default(where, members[0], default)
    elif origin is Literal:
        if not any(default == value and type(default) is type(value) for value in args):
            raise DeclarationError(f"{where}: its default {default!r} is none of {', '.join(map(repr, args))}")
    elif isinstance(kind, type) and kind in _PYTHON_TYPES:
        fits = isinstance(default, _PYTHON_TYPES[kind]) and (kind is bool or not isinstance(default, bool))
        if not fits:
            raise DeclarationError(f"{where}: its default {default!r} is no {kind.__name__}, which is its type")


def _default_in(info: Any) -> tuple[Any, Callable[[], Any] | None]:
    if info.default_factory is not None:
        return EMPTY, info.default_factory
    missing = "PydanticUndefinedType"  # by name, for pydantic is not loaded for a look at what is not its own
    return (EMPTY if type(info.default).__name__ == missing or info.default is ... else info.default), None


def _extras(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _is_field(value: Any) -> bool:
    return type(value).__name__ == "FieldInfo" and type(value).__module__.startswith("pydantic")


class _Names:
    """Where the names in a function's annotations are looked up."""

    def __init__(self, function: Any) -> None:
        bare = function
        while isinstance(bare, functools.partial):
            bare = bare.func
        if not isinstance(bare, types.FunctionType | types.MethodType | types.BuiltinFunctionType):
            bare = getattr(bare, "__init__") if isinstance(bare, type) else type(bare).__call__  # noqa: B009 - mypy
        bare = inspect.unwrap(getattr(bare, "__func__", bare))
        self._globals: dict[str, Any] = getattr(bare, "__globals__", {})
        self._locals: dict[str, Any] = {kind.__name__: kind for kind in getattr(bare, "__type_params__", ())}
        code = getattr(bare, "__code__", None)
        for name, cell in zip(getattr(code, "co_freevars", ()), getattr(bare, "__closure__", None) or (), strict=False):
            try:
                self._locals[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue

    def evaluate(self, annotation: Any) -> Any:
        if isinstance(annotation, ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            # As typing.get_type_hints does it, and for one annotation at a time.
            found: Any = eval(annotation, self._globals, self._locals)  # noqa: S307 - the tool's own source
            return self.evaluate(found)
        if not get_args(annotation):
            return annotation
        # A name in it, as in ``list["Node"]``, must not be left to pydantic, which would look for it here.
        one = types.SimpleNamespace(__annotations__={"it": annotation})
        return get_type_hints(one, self._globals, self._locals, include_extras=True)["it"]
