"""The parameters of one tool: its JSON Schema, and the validation of a call against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from toolexec._errors import ArgumentsError, DeclarationError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_KINDS = inspect.Parameter


class Parameters:
    """What a tool takes, from its signature.

    Built on first use and never while a module is imported, because it loads pydantic.  pydantic
    sees the parameters as the keys of a TypedDict: so a parameter may have any name (``self``,
    ``schema`` and ``model_config`` too), and what a call leaves out stays out for the function's
    own default to fill.

    Attributes:
        schema: JSON Schema of the arguments, an object.
    """

    __slots__ = ("_adapter", "_by_default", "_names", "_nullable", "_positional", "schema")

    def __init__(self, tool: str, function: Callable[..., Any], *, skip_first: bool = False) -> None:
        """Read the signature.

        Args:
            tool: The tool's name, for errors.
            function: What will be called.
            skip_first: Whether the first parameter is a receiver that is filled in by binding.

        Raises:
            DeclarationError: An annotation cannot be resolved, or has no JSON form.
        """
        parameters = _signature(tool, function, skip_first)
        self._names = [p.name for p in parameters if p.kind not in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)]
        self._positional = [p for p in parameters if p.kind is _KINDS.POSITIONAL_ONLY]
        self._by_default = {p.name for p in parameters if p.default is not _KINDS.empty}
        open_ended = any(p.kind is _KINDS.VAR_KEYWORD for p in parameters)
        fields = {p.name: _field(p) for p in parameters if p.kind not in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)}
        self._adapter = _adapter(tool, fields, self._by_default, open_ended=open_ended)
        self._nullable = {name for name in self._by_default if _accepts_null(fields[name])}
        self.schema = _json_schema(tool, self._adapter, parameters)

    def validate(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments for the body, by position and by keyword.

        Raises:
            ArgumentsError: They do not fit; one text lists every fault with its path.
        """
        from pydantic import ValidationError

        # null for a parameter that cannot be null but has a default means that it was left out.
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in self._by_default or name in self._nullable
        }
        try:
            values = self._adapter.validate_python(given)
        except ValidationError as exc:
            raise ArgumentsError(self._faults(exc, given)) from None
        positional = [values.pop(p.name) if p.name in values else p.default for p in self._positional]
        return positional, values

    def _faults(self, exc: Any, given: Mapping[str, Any]) -> str:
        faults: list[str] = []
        for fault in exc.errors(include_url=False, include_context=False, include_input=False):
            path = ".".join(str(part) for part in fault["loc"])
            if fault["type"] == "missing":
                faults.append(f"{path}: required, and not supplied")
            elif fault["type"] == "extra_forbidden":
                faults.append(f"{path}: not a parameter of this tool")
            else:
                faults.append(f"{path}: {fault['msg']}")
        expected = ", ".join(self._names) or "none"
        return f"{'; '.join(faults)} (expected: {expected}; supplied: {', '.join(given) or 'none'})"


def _signature(tool: str, function: Callable[..., Any], skip_first: bool) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except NameError as exc:
        raise DeclarationError(
            f"tool {tool!r}: an annotation names {exc.name!r}, which cannot be found from the function's module; "
            "define or import it at the top of that module"
        ) from exc
    except (SyntaxError, AttributeError) as exc:
        raise DeclarationError(f"tool {tool!r}: an annotation cannot be evaluated ({exc})") from exc
    except (ValueError, TypeError) as exc:
        raise DeclarationError(f"tool {tool!r}: its signature cannot be read ({exc}); wrap it in a function") from exc
    return parameters[1:] if skip_first else parameters


def _field(parameter: inspect.Parameter) -> Any:
    """The annotation, with a bare text in Annotated turned into a description."""
    from pydantic import Field

    annotation = Any if parameter.annotation is _KINDS.empty else parameter.annotation
    if get_origin(annotation) is not Annotated:
        return annotation
    base, *extras = get_args(annotation)
    fields = tuple(Field(description=extra) if isinstance(extra, str) else extra for extra in extras)
    return Annotated[(base, *fields)]


def _adapter(tool: str, fields: dict[str, Any], optional: set[str], *, open_ended: bool) -> TypeAdapter[Any]:

    import typing_extensions  # pydantic's own; the standard TypedDict lacks what it needs before 3.12
    from pydantic import ConfigDict, PydanticSchemaGenerationError, PydanticUndefinedAnnotation, TypeAdapter
    from pydantic.errors import PydanticUserError

    # Through an Any, because a type made at run time is nothing a type checker can follow.
    typed_dict: Any = typing_extensions.TypedDict
    not_required: Any = typing_extensions.NotRequired
    shape = typed_dict(
        "Arguments", {name: not_required[kind] if name in optional else kind for name, kind in fields.items()}
    )
    shape.__pydantic_config__ = ConfigDict(extra="allow" if open_ended else "forbid")
    try:
        return TypeAdapter(shape)
    except PydanticUndefinedAnnotation as exc:
        raise DeclarationError(f"tool {tool!r}: the type {exc.name!r} is not defined where it is used") from exc
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError) as exc:
        culprit = next((name for name, kind in fields.items() if not _expressible(kind)), None)
        where = f"parameter {culprit!r}" if culprit else "its parameters"
        raise DeclarationError(
            f"tool {tool!r}, {where}: the annotated type has no JSON form ({str(exc).splitlines()[0]}); "
            "annotate with a type that pydantic knows"
        ) from exc


def _expressible(kind: Any) -> bool:
    from pydantic import TypeAdapter

    try:
        TypeAdapter(kind)
    except Exception:  # noqa: BLE001 - only asks whether it works
        return False
    return True


def _accepts_null(kind: Any) -> bool:
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_python(None)
    except ValidationError:
        return False
    return True


def _json_schema(tool: str, adapter: TypeAdapter[Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    from pydantic.errors import PydanticInvalidForJsonSchema
    from pydantic_core import to_jsonable_python

    try:
        schema = adapter.json_schema()
    except PydanticInvalidForJsonSchema as exc:
        raise DeclarationError(f"tool {tool!r}: a parameter's type has no JSON Schema ({exc})") from exc
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for parameter in parameters:
        shown = schema["properties"].get(parameter.name)
        if shown is None or parameter.default is _KINDS.empty:
            continue
        try:
            shown["default"] = to_jsonable_python(parameter.default)
        except Exception:  # noqa: BLE001 - a default without a JSON form is simply not shown
            continue
    return schema
