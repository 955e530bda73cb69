"""What pydantic makes of a tool's parameters: the validator of a call, and its JSON Schema."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from toolexec._errors import DeclarationError
from toolexec._json import is_list, is_object
from toolexec._shape import is_secret, mentions, without_secret_defaults
from toolexec._signature import EMPTY, VAR_KEYWORD, Param

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

_UNSHOWN: set[Any] = {"non-serializable-default"}

# How many types stand in their brackets; pydantic takes the first and drops the rest.
_IN_BRACKETS: dict[Any, int] = {list: 1, set: 1, frozenset: 1, dict: 2}
# A key that no parameter can have, for the type of what a ``**kw`` takes.
_REST = "**"


def adapter_of(tool: str, params: Sequence[Param], *, ignore_unknown: bool = False) -> TypeAdapter[Any]:
    """The validator of an object that has the parameters as its keys.

    As the keys of a TypedDict: so a parameter may have any name (``self``, ``schema`` and
    ``model_config`` too), and what a call leaves out stays out.

    Raises:
        DeclarationError: A type has no JSON form; it names tool and parameter.
    """
    rest = any(param.kind is VAR_KEYWORD for param in params)
    extra = "allow" if rest else "ignore" if ignore_unknown else "forbid"
    fields = {p.name: p for p in params if p.kind is not VAR_KEYWORD}
    return _of_all(tool, fields, extra, _type_adapter)


def rest_adapter_of(tool: str, params: Sequence[Param]) -> TypeAdapter[Any] | None:
    """The validator of what a ``**kw: type`` takes, a mapping; None where it takes anything, or is not there."""
    for param in params:
        if param.kind is VAR_KEYWORD and param.annotation is not EMPTY and param.annotation is not Any:
            kind: Any = param.annotation
            return _named(tool, f"parameter '**{param.name}'", _type_adapter, dict[str, kind])
    return None


def schema_of(tool: str, params: Sequence[Param]) -> dict[str, Any]:
    """JSON Schema 2020-12 of the arguments, an object.

    Raises:
        DeclarationError: A type has none.
    """
    from pydantic.json_schema import GenerateJsonSchema

    class Generate(GenerateJsonSchema):
        # As for a parameter: a default without a JSON form is simply not shown.
        ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | _UNSHOWN

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False  # a name with capitals: tokens that say nothing

        def json_or_python_schema(self, schema: Any) -> Any:
            shown = super().json_or_python_schema(schema)
            return {**shown, "writeOnly": True} if _is_of_secret(schema) else shown

    for param in params:
        wrong = _unfit(param.annotation)
        if wrong:
            raise DeclarationError(f"tool {tool!r}, parameter {param.name!r}: {wrong}")
    fields = {_REST if p.kind is VAR_KEYWORD else p.name: p for p in params}
    schema = _of_all(tool, fields, "forbid", lambda kind: _type_adapter(kind).json_schema(schema_generator=Generate))
    schema.pop("title", None)
    properties: dict[str, Any] = schema.setdefault("properties", {})
    rest: Any = properties.pop(_REST, None)
    if rest is not None:
        rest.pop("description", None)
        schema["additionalProperties"] = rest or True
    for param in params:
        shown = properties.get(param.name)
        if shown is not None and param.default is not EMPTY:
            _show_default(shown, param.default)
    hidden: dict[str, Any] = without_secret_defaults(schema, schema) if mentions(schema, schema, is_secret) else schema
    return hidden


def _is_of_secret(schema: Mapping[str, Any]) -> bool:
    """Whether it is that of a ``pydantic.Secret[...]``, of which pydantic itself says so only where it writes one."""
    function: Any = schema.get("serialization", {}).get("function")
    return getattr(function, "__module__", "") == "pydantic.types" and "secret" in getattr(function, "__name__", "")


def strict_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The form that some providers want for outputs held to the schema.

    Every property is required and no other allowed; what may be left out takes null instead, which a
    call means as "left out".

    Raises:
        ValueError: A parameter takes what this form cannot say: anything, keys of any name, a tuple.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    parts: dict[str, Any] = {f"parameter {name!r}": part for name, part in properties.items()}
    parts["it"] = {**schema, "properties": {}} if properties else schema
    for where, part in parts.items():
        loose = _loose(part, schema.get("$defs", {}), set())
        if loose:
            raise ValueError(
                f"{where} takes {loose}, which the strict form cannot say; annotate more closely, or leave strict out"
            )
    strict: dict[str, Any] = _strict(schema)
    return strict


def accepts_null(annotation: Any) -> bool:
    """Whether a value of this type may be None."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(annotation).validate_python(None)
    except ValidationError:
        return False
    return True


def _field(param: Param) -> Any:
    """The annotation for pydantic, its texts as descriptions."""
    from pydantic import Field

    kind = Any if param.annotation is EMPTY else _with_texts(param.annotation)
    if param.description:
        kind = Annotated[kind, Field(description=param.description)]
    return kind


def _with_texts(annotation: Any) -> Any:
    """The annotation, with every bare text in an Annotated turned into a description, however deep it stands."""
    from pydantic import Field

    origin = get_origin(annotation)
    if origin is None:
        return annotation
    if origin is Annotated:
        base, *extras = get_args(annotation)
        fields = [Field(description=extra) if isinstance(extra, str) else extra for extra in extras]
        return Annotated[(_with_texts(base), *fields)]
    args = get_args(annotation)
    if origin in (Union, types.UnionType):
        members = tuple(_with_texts(member) for member in args)
        return annotation if members == args else Union[members]  # noqa: UP007
    if not isinstance(origin, type) or not any(get_origin(arg) is not None for arg in args):
        return annotation
    inner = tuple(_with_texts(arg) if get_origin(arg) is not None else arg for arg in args)
    return annotation if inner == args else types.GenericAlias(origin, inner)


def _unfit(annotation: Any) -> str:
    """What is wrong with an annotation that pydantic would not tell, or not so that it can be mended; or ""."""
    if annotation is any:
        return "any is a function, and no type; write typing.Any"
    if isinstance(annotation, list | tuple | set | dict | int | float):
        return (
            f"{annotation!r} is a value, and no type; write list[...] or dict[...] for a container, "
            "Literal[...] for the values there are"
        )
    origin: Any = get_origin(annotation)
    args: tuple[Any, ...] = get_args(annotation)
    if origin in (Literal, Callable):
        return ""
    if len(args) > _IN_BRACKETS.get(origin, len(args)):
        return (
            f"{annotation!r} has {len(args)} types in its brackets, and {origin.__name__} takes "
            f"{_IN_BRACKETS[origin]}; write A | B for one of several"
        )
    for arg in args[:1] if origin is Annotated else args:
        wrong = _unfit(arg)
        if wrong:
            return wrong
    return ""


def _of_all(tool: str, fields: dict[str, Param], extra: Any, make: Callable[[Any], T]) -> T:
    """What is made of the type of all arguments, an object that has the parameters under these keys."""
    import typing_extensions  # pydantic's own; the standard TypedDict lacks what it needs before 3.12
    from pydantic import ConfigDict

    # Through an Any, because a type made at run time is nothing a type checker can follow.
    typed_dict: Any = typing_extensions.TypedDict
    not_required: Any = typing_extensions.NotRequired
    kinds = {name: _named(tool, f"parameter {param.name!r}", _field, param) for name, param in fields.items()}
    optional = {name for name, param in fields.items() if not param.required or param.kind is VAR_KEYWORD}
    shape = typed_dict("Arguments", {n: not_required[kind] if n in optional else kind for n, kind in kinds.items()})
    shape.__pydantic_config__ = ConfigDict(extra=extra, allow_inf_nan=False)
    try:
        return _named(tool, "its parameters", make, shape)
    except DeclarationError as exc:
        refused = exc
    for name, kind in kinds.items():  # one of them is to blame, and has to be named
        _named(tool, f"parameter {name!r}", make, kind)
    raise refused


def _type_adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    if not adapter.pydantic_complete:
        adapter.rebuild(raise_errors=True)
    return adapter


def _named(tool: str, where: str, make: Callable[[Any], T], kind: Any) -> T:
    """What is made of a type; where none can be, the refusal says whose type it is."""
    from pydantic import PydanticUndefinedAnnotation
    from pydantic_core import SchemaError

    try:
        return make(kind)
    except PydanticUndefinedAnnotation as exc:
        raise DeclarationError(
            f"tool {tool!r}, {where}: the type {exc.name!r} is not defined where it is used; define or import it "
            "at the top of its module"
        ) from exc
    except SchemaError as exc:
        raise DeclarationError(
            f"tool {tool!r}, {where}: a limit of its type cannot be held to ({' '.join(str(exc).split())}); mend that "
            "pattern or bound, or leave it out"
        ) from exc
    except Exception as exc:  # a type may have code of its own, and pydantic asserts where it expects no mistake
        why = str(exc).partition("\n")[0].partition(". ")[0]  # what follows is for those who write models
        raise DeclarationError(
            f"tool {tool!r}, {where}: the annotated type has no JSON form ({why}); annotate with one that has, such as "
            "str, list[int] or a dataclass; what the Context is to fill in is annotated Annotated[T, Inject]"
        ) from exc


def _show_default(shown: dict[str, Any], default: Any) -> None:
    from pydantic_core import to_jsonable_python

    try:
        shown["default"] = to_jsonable_python(default)
    except Exception:  # noqa: BLE001 - a default without a JSON form is simply not shown
        return


def _loose(schema: Any, definitions: Mapping[str, Any], seen: set[str]) -> str:
    """What a schema takes that the strict form has no words for, or ""."""
    given: Mapping[str, Any] = schema if is_object(schema) else {}
    ref: Any = given.get("$ref")
    parts: Any = ()
    if ref is not None:
        parts = () if ref in seen else [definitions.get(str(ref).rpartition("/")[2])]
        seen.add(ref)
    elif members := [given[key] for key in ("anyOf", "oneOf", "allOf") if key in given]:
        parts = members[0]
    elif "type" not in given and "enum" not in given and "const" not in given:
        return "anything"
    elif given.get("type") == "object":
        if given.get("additionalProperties", False) is not False or "properties" not in given:
            return "keys of any name"
        parts = given["properties"].values()
    elif given.get("type") == "array":
        if "prefixItems" in given:
            return "a tuple"
        parts = [given.get("items")]
    return next(filter(None, (_loose(part, definitions, seen) for part in parts)), "")


def _strict(schema: Any) -> Any:
    if is_list(schema):
        return [_strict(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    given = cast("Mapping[str, Any]", schema)
    form = {key: _strict_part(key, value) for key, value in given.items() if key not in ("default", "discriminator")}
    if "oneOf" in form:
        form["anyOf"] = form.pop("oneOf")
    if "$ref" in form and len(form) > 1:  # nothing may stand beside it
        form["anyOf"] = [{"$ref": form.pop("$ref")}]
    properties: dict[str, Any] | None = form.get("properties")
    if properties is None:
        return form
    required = given.get("required", ())
    form["properties"] = {name: shown if name in required else _or_null(shown) for name, shown in properties.items()}
    form["required"] = list(properties)
    form["additionalProperties"] = False
    return form


def _strict_part(key: str, value: Any) -> Any:
    if key in ("properties", "$defs"):
        return {name: _strict(part) for name, part in value.items()}
    if key in ("enum", "const", "examples", "required"):
        return value
    return _strict(value)


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    members: list[Any] = schema.get("anyOf", [])
    null = {"type": "null"}
    if null in members or schema.get("type") == "null":
        return schema
    outer = {key: schema[key] for key in ("description",) if key in schema}
    inner = {key: value for key, value in schema.items() if key not in outer}
    return {"anyOf": [*inner["anyOf"], null] if set(inner) == {"anyOf"} else [inner, null], **outer}
