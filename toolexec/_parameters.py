"""Parameters: what one tool takes, told to a model as a schema and held against a call."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from typing import Any

from toolexec._arguments import Arguments, as_json, at_once, excerpt, hidden, parse
from toolexec._core_schema import Held
from toolexec._faults import Fault, unfit
from toolexec._json import is_dict
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._schema import adapter_of, rest_adapter_of, schema_of
from toolexec._shape import has_secret_keys, holds_no_object, is_secret, mentions
from toolexec._signature import EMPTY, POSITIONAL_ONLY, VAR_KEYWORD, Param
from toolexec._validation import Misfit, Validator

_SCALARS = frozenset((str, int, bool, float, type(None)))


class Parameters:
    """What a tool takes.

    Built on first use and never while a module is imported, because it loads pydantic.

    Attributes:
        schema: JSON Schema of the arguments, an object.
        injected: The parameters that the engine fills.
    """

    __slots__ = (
        "_as_read",
        "_defaults",
        "_expected",
        "_filled",
        "_flat",
        "_named",
        "_names",
        "_open",
        "_positional",
        "_quick",
        "_rest",
        "_secret",
        "_secret_keys",
        "_secret_keys_rest",
        "_secret_rest",
        "_taken",
        "injected",
        "schema",
    )

    def __init__(self, tool: str, params: Sequence[Param], options: Json = AS_WRITTEN) -> None:
        """Build schema and validator.

        Args:
            tool: The tool's name, for errors.
            params: Its parameters, in the order in which they are passed.
            options: How arguments are read.

        Raises:
            DeclarationError: A type has no JSON form.
        """
        sent = [param for param in params if param.inject is None]
        self.injected: tuple[Param, ...] = tuple(param for param in params if param.inject is not None)
        rests = [param for param in sent if param.kind is VAR_KEYWORD]
        self._open = bool(rests)
        self._taken = {param.name for param in self.injected}.union(*(param.closed for param in rests))
        self._names = {param.name for param in sent if param.kind is not VAR_KEYWORD}
        self._positional = [(param.name, _maker(param)) for param in params if param.kind is POSITIONAL_ONLY]
        self._defaults = {param.name: param.default for param in sent if param.default is not EMPTY}
        self._filled = [(param.name, _maker(param)) for param in sent if _is_filled(param)]
        self._as_read = not (self._positional or self._filled)
        self.schema: dict[str, Any] = schema_of(tool, sent)
        properties: dict[str, Any] = self.schema["properties"]
        self._expected = list(properties)  # as the model is told them: by an alias, where one has it
        self._secret = {name for name in properties if mentions(self.schema, properties[name], is_secret)}
        self._secret_rest = mentions(self.schema, self.schema.get("additionalProperties"), is_secret)
        self._secret_keys = {name for name in properties if has_secret_keys(self.schema, properties[name])}
        self._secret_keys_rest = has_secret_keys(self.schema, self.schema.get("additionalProperties"))
        named = Held(adapter_of(tool, sent, ignore_unknown=options.ignore_unknown))
        rest = rest_adapter_of(tool, sent)
        self._named = Validator(named, self.schema, coerce=options.coerce)
        self._quick = None if self._open or options.ignore_unknown or named.branching else named
        # Whether the arguments have no keys but the parameters' names, however deep one looks.
        self._flat = all(holds_no_object(shown) for shown in properties.values())
        self._rest = None if rest is None else Validator(Held(rest), self.schema, coerce=options.coerce)

    def take(self, raw: object, fill: Mapping[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """What a model sent, parsed and validated; see ``validate``."""
        sent: Any = raw
        if self._quick is not None:
            # The way of nearly every call: pydantic alone reads it.  It takes the last of two equal keys
            # without a word; where no other keys can be than parameters, there are then too many colons.
            try:
                if type(raw) is str:
                    values: dict[str, Any] = self._quick.text.validate_json(sent, strict=True)
                    if (self._flat and sent.count(":") == len(values)) or at_once(sent) is not None:
                        return ((), values) if self._as_read and not fill else self._arranged(values, fill)
                elif self._flat and type(raw) is dict:
                    return self._arranged(self._quick.passed.validate_python(sent, strict=True), fill)
            except ValueError:  # pydantic's; it is looked at more closely
                pass
        return self.validate(parse(sent, self._show), fill)

    def read(self, raw: object) -> dict[str, Any]:
        """What a model sent, parsed and not yet validated; it shares no container with that.

        Raises:
            ArgumentsError: It is not a JSON object, or beyond a limit.
        """
        return parse(raw, self._show).values

    @property
    def _show(self) -> Callable[[str], str]:
        return hidden if self._secret or self._secret_rest else excerpt

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What a body is given that is a model's to send, by name, the defaults of what was left out included."""
        given = {**dict(zip((name for name, _ in self._positional), args, strict=False)), **kwargs}
        engine = {param.name for param in self.injected}
        return {**self._defaults, **{name: value for name, value in given.items() if name not in engine}}

    def validate(
        self, arguments: Arguments, fill: Mapping[str, Any] | None = None
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Arguments for the body, by position and by keyword.

        Args:
            arguments: What the model sent.
            fill: Values for the injected parameters, by name; what is not there is left to a default.

        Raises:
            ArgumentsError: They do not fit; one text lists every fault with its path.
        """
        return self._arranged(self._read(arguments), fill)

    def _arranged(self, values: dict[str, Any], fill: Mapping[str, Any] | None) -> tuple[Sequence[Any], dict[str, Any]]:
        for name, make in self._filled:
            if name not in values:
                values[name] = make()
        if fill:
            values.update(fill)
        positional: list[Any] = []
        for name, make in self._positional:
            positional.append(values.pop(name) if name in values else make())
        return positional, values

    def _read(self, arguments: Arguments) -> dict[str, Any]:
        try:
            values = self._named.read(arguments.values, arguments.text)
            return self._with_rest(values, plain=arguments.text is not None) if self._open else values
        except Misfit as exc:
            misfit = exc
        # Not in the except clause: it holds what was sent, and would be the context of ours.
        raise unfit(
            misfit.faults,
            misfit.values,
            supplied=arguments.values,
            expected=self._expected,
            schema=self.schema,
            secret=self._secret.union(misfit.values) if self._secret_rest else self._secret,
            secret_keys=self._secret_keys.union(misfit.values) if self._secret_keys_rest else self._secret_keys,
        )

    def _with_rest(self, values: dict[str, Any], *, plain: bool) -> dict[str, Any]:
        """What only ``**kw`` takes, held to its type; and to be no name that something else has."""
        named = {name: value for name, value in values.items() if name in self._names}
        rest = {name: value for name, value in values.items() if name not in named}
        taken = [Fault((name,), "extra_forbidden", "") for name in rest if name in self._taken]
        if taken:
            raise Misfit(taken, rest)
        if rest and self._rest is not None:
            rest = self._rest.read(rest, as_json(rest) if plain else None)
        return {**named, **rest}


def _is_shallow(default: Any) -> bool:
    return type(default) in (list, set, dict) and all(
        type(item) in _SCALARS for item in (default.values() if is_dict(default) else default)
    )


def _maker(param: Param) -> Callable[[], Any]:
    """What makes a parameter's default, anew for each call where a call could change it."""
    default: Any = param.default
    if param.make_default is not None:
        return param.make_default
    if not _mutable(default):
        return lambda: default
    if _is_shallow(default):
        copied: Callable[[], Any] = default.copy
        return copied  # a deep copy takes ten times as long, also of an empty list

    def make() -> Any:
        try:
            return copy.deepcopy(default)
        except Exception:  # noqa: BLE001 - something in it cannot be copied; then it is shared, as in Python
            return default

    return make


def _is_filled(param: Param) -> bool:
    """Whether what a call leaves out has to be passed, or is left to the function's own default."""
    return param.make_default is not None or (param.default is not EMPTY and (param.fill or _mutable(param.default)))


def _mutable(default: Any) -> bool:
    """Whether a call that changes this default would change it for the next one."""
    if isinstance(default, MutableSequence | MutableMapping | MutableSet | bytearray):
        return True
    kind = _class_of(default)
    if issubclass(kind, tuple | frozenset):
        return any(map(_mutable, default))
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
        return not _frozen(kind) or any(_mutable(getattr(default, field.name, None)) for field in fields)
    return hasattr(kind, "__pydantic_validator__") or hasattr(kind, "__attrs_attrs__")


def _class_of(value: object) -> type[Any]:
    return type(value)


def _frozen(kind: Any) -> bool:
    return bool(kind.__dataclass_params__.frozen)
