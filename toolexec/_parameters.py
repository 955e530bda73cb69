"""Parameters: what one tool takes, told to a model as a schema and held against a call."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolexec._arguments import Arguments, as_json, too_deep
from toolexec._coercion import NOTHING, at, converted
from toolexec._errors import ArgumentsError
from toolexec._faults import Fault, faults_in, unfit
from toolexec._json import is_dict, is_list
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._schema import adapter_of, rest_adapter_of, schema_of
from toolexec._signature import EMPTY, POSITIONAL_ONLY, VAR_KEYWORD, Param

# A text in a text in a text; each round of repair opens one.  An admitted guess.
_ROUNDS = 8

_Path = tuple[int | str, ...]


class Parameters:
    """What a tool takes.

    Built on first use and never while a module is imported, because it loads pydantic.

    Attributes:
        schema: JSON Schema of the arguments, an object.
        injected: The parameters that the engine fills.
    """

    __slots__ = (
        "_adapter",
        "_confusable",
        "_expected",
        "_filled",
        "_open",
        "_options",
        "_positional",
        "_rest",
        "_secret",
        "_validate_json",
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
        self._options = options
        self._open = any(param.kind is VAR_KEYWORD for param in sent)
        self._expected = [param.name for param in sent if param.kind is not VAR_KEYWORD]
        self._positional = [param for param in params if param.kind is POSITIONAL_ONLY]
        self._filled = [param for param in sent if _is_filled(param)]
        self._adapter = adapter_of(tool, sent, ignore_unknown=options.ignore_unknown)
        self._validate_json = self._adapter.validator.validate_json
        self._rest = rest_adapter_of(tool, sent)
        self.schema: dict[str, Any] = schema_of(tool, sent)
        properties: dict[str, Any] = self.schema["properties"]
        self._secret = {name for name in properties if _mentions(self.schema, properties[name], _is_secret)}
        self._confusable = _mentions(self.schema, self.schema, _has_confusable)

    def validate(self, arguments: Arguments, fill: Mapping[str, Any] | None = None) -> tuple[list[Any], dict[str, Any]]:
        """Arguments for the body, by position and by keyword.

        Args:
            arguments: What the model sent.
            fill: Values for the injected parameters, by name; what is not there is left to a default.

        Raises:
            ArgumentsError: They do not fit; one text lists every fault with its path.
        """
        values = self._read(arguments)
        if self._open:
            values = self._with_rest(values)
        for param in self._filled:
            if param.name not in values:
                values[param.name] = _default(param)
        if fill:
            values.update(fill)
        positional: list[Any] = []
        for param in self._positional:
            if param.name in values:
                positional.append(values.pop(param.name))
            else:
                positional.append(_default(param))
        return positional, values

    def _read(self, arguments: Arguments) -> dict[str, Any]:
        from pydantic_core import ValidationError

        try:
            if arguments.text is None:
                found: dict[str, Any] = self._adapter.validate_python(arguments.values)
                return found
            values: dict[str, Any] = self._validate_json(arguments.text, strict=True)
            if self._confusable:
                self._refuse_confused(values, arguments.values)
            return values
        except ValidationError as exc:
            misfit = exc
        # Not in the except clause: pydantic's error shows what was sent, and would be the context of ours.
        return self._repaired(arguments.values, misfit, plain=arguments.text is not None)

    # Where something does not fit

    def _repaired(self, given: dict[str, Any], exc: Any, *, plain: bool) -> dict[str, Any]:
        """The values after the conversions of the table, if they fit then.

        Led by the faults: what fits is never touched, and what was converted and still does not fit
        is put back, so that the model is told about what it sent.
        """
        from pydantic_core import ValidationError

        values = copy.deepcopy(given) if plain else dict(given)
        changed: dict[_Path, Any] = {}
        faults = _readable(exc, given, values)
        for _ in range(_ROUNDS):
            if not self._convert(values, faults, changed):
                break
            try:
                return self._validated(values, plain=plain)
            except ValidationError as again:
                faults = _readable(again, given, values)
        if changed:
            for path in sorted(changed, key=len, reverse=True):
                if any(fault.path[: len(path)] == path for fault in faults):
                    _put(values, path, changed[path])
            try:
                return self._validated(values, plain=plain)
            except ValidationError as last:
                faults = _readable(last, given, values)
        raise unfit(faults, values, expected=self._expected, secret=self._secret)

    def _convert(self, values: dict[str, Any], faults: Sequence[Fault], changed: dict[_Path, Any]) -> bool:
        any_new = False
        for fault in faults:
            path = fault.path
            if not path or path in changed or fault.kind == "extra_forbidden" or fault.kind.startswith("missing"):
                continue
            holder = at(values, path[:-1])
            sent = holder[path[-1]]
            if sent is None and is_dict(holder):
                # null where it cannot be: the model means that it leaves this out.
                holder.pop(path[-1])
            elif self._options.coerce and (meant := converted(fault.kind, sent)) is not NOTHING:
                holder[path[-1]] = meant
            else:
                continue
            changed[path] = sent
            any_new = True
        return any_new

    def _validated(self, values: dict[str, Any], *, plain: bool) -> dict[str, Any]:
        text = as_json(values) if plain else None
        if text is None:
            found: dict[str, Any] = self._adapter.validate_python(values)
            return found
        found = self._validate_json(text, strict=True)
        if self._confusable:
            self._refuse_confused(found, values)
        return found

    def _with_rest(self, values: dict[str, Any]) -> dict[str, Any]:
        from pydantic_core import ValidationError

        named = {name: value for name, value in values.items() if name in self._expected}
        rest = {name: value for name, value in values.items() if name not in named}
        if rest and self._rest is not None:
            sent = dict(rest)
            try:
                text = as_json(sent)
                rest = self._rest.validate_python(sent) if text is None else self._rest.validate_json(text, strict=True)
            except ValidationError as exc:
                faults = faults_in(exc, sent)
            else:
                faults = []
            if faults:
                raise unfit(faults, sent, expected=self._expected)
        taken = [name for name in rest if name in {param.name for param in self.injected}]
        if taken:
            raise unfit([Fault((name,), "extra_forbidden", "") for name in taken], rest, expected=self._expected)
        return {**named, **rest}

    def _refuse_confused(self, values: dict[str, Any], sent: dict[str, Any]) -> None:
        """Refuse a boolean for the member 1 of a Literal or Enum, and the other way round: to Python they are equal."""
        try:
            dumped = self._adapter.dump_python(values, mode="json", warnings=False)
        except Exception:  # noqa: BLE001 - serialising runs the types' own code
            return
        faults = [
            Fault(path, "literal_error", f"should be {_as_sent(meant)}") for path, meant in _confused(dumped, sent)
        ]
        if faults:
            raise unfit(faults, sent, expected=self._expected, secret=self._secret)


def _readable(exc: Any, given: dict[str, Any], values: dict[str, Any]) -> list[Fault]:
    faults = faults_in(exc, values)
    for fault in faults:
        if fault.kind == "json_invalid":
            text = as_json(given) or ""
            if "recursion" in fault.text:
                raise too_deep(text)
            raise ArgumentsError(f"arguments are not valid JSON ({fault.text.removeprefix('Invalid JSON: ')})")
    return faults


def _put(values: Any, path: _Path, value: Any) -> None:
    try:
        at(values, path[:-1])[path[-1]] = value
    except (KeyError, IndexError, TypeError):  # what it stood in was put back already
        return


def _default(param: Param) -> Any:
    if param.make_default is not None:
        return param.make_default()
    if _mutable(param.default):
        try:
            return copy.deepcopy(param.default)
        except Exception:  # noqa: BLE001 - something in it cannot be copied; then it is shared, as in Python
            return param.default
    return param.default


def _is_filled(param: Param) -> bool:
    """Whether what a call leaves out has to be passed, or is left to the function's own default."""
    return param.make_default is not None or (param.default is not EMPTY and (param.fill or _mutable(param.default)))


def _mutable(default: Any) -> bool:
    """Whether a call that changes this default would change it for the next one."""
    if isinstance(default, list | dict | set | bytearray):
        return True
    return dataclasses.is_dataclass(default) and not isinstance(default, type) and not _frozen(cast("Any", default))


def _frozen(value: Any) -> bool:
    return bool(value.__dataclass_params__.frozen)


def _mentions(root: Mapping[str, Any], schema: Any, asked: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Whether a schema, or what it refers to, has a part of some kind."""
    seen: set[str] = set()

    def look(part: Any) -> bool:
        if is_list(part):
            return any(look(item) for item in part)
        if not isinstance(part, Mapping):
            return False
        held = cast("Mapping[str, Any]", part)
        ref = held.get("$ref")
        if isinstance(ref, str) and ref not in seen:
            seen.add(ref)
            if look(root.get("$defs", {}).get(ref.rpartition("/")[2])):
                return True
        return asked(held) or any(look(value) for key, value in held.items() if key not in ("default", "examples"))

    return look(schema)


def _is_secret(schema: Mapping[str, Any]) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _has_confusable(schema: Mapping[str, Any]) -> bool:
    members: Any = schema.get("enum", [])
    allowed = [*members, schema["const"]] if "const" in schema else members
    return is_list(allowed) and any(isinstance(member, bool | int | float) and member in (0, 1) for member in allowed)


def _confused(dumped: Any, sent: Any, path: _Path = ()) -> list[tuple[_Path, Any]]:
    found: list[tuple[_Path, Any]] = []
    if is_dict(dumped) and is_dict(sent):
        for key, value in dumped.items():
            if key in sent:
                found += _confused(value, sent[key], (*path, key))
    elif is_list(dumped) and is_list(sent):
        for place, (value, item) in enumerate(zip(dumped, sent, strict=False)):
            found += _confused(value, item, (*path, place))
    elif isinstance(dumped, bool) != isinstance(sent, bool) and dumped == sent:
        found.append((path, dumped))
    return found


def _as_sent(meant: Any) -> str:
    return ("true" if meant else "false") if isinstance(meant, bool) else repr(meant)
