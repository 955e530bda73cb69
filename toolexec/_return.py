"""Return: the one settled answer to a call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from toolexec._errors import ForeignError, ForeignToolError, ToolError, ToolFailed
from toolexec._json import class_name, encode, legal_text, to_plain
from toolexec._json_options import AS_WRITTEN, Json
from toolexec._parts import parts_of

Status = Literal[
    "ok",
    "raised",
    "bad_arguments",
    "unknown_tool",
    "unsendable",
    "timeout",
    "lost",
    "cancelled",
    "denied",
    "budget",
    "deferred",
]
STATUSES: tuple[str, ...] = get_args(Status)

_ERRORS = frozenset({"raised", "bad_arguments", "unknown_tool", "unsendable", "timeout", "lost"})
_CANCELLED = frozenset({"cancelled", "denied", "budget"})


def describe(exc: BaseException) -> str:
    """The exception's own text, or something to read where it has none or cannot tell it."""
    try:
        text = "".join([str(exc)])  # a str and no subclass of it, whose methods would be the tool's code
    except BaseException as broken:  # noqa: BLE001 - a tool's __str__ is a tool's code, and may do anything
        return f"(the text of this {class_name(exc)} cannot be shown: its __str__ raised {class_name(broken)})"
    return text if text.strip() else f"{class_name(exc)} (no message)"


def backtrace(exc: BaseException) -> list[str]:
    """The formatted traceback, causes and notes included, one line an item."""
    foreign = _as_foreign(exc)
    if foreign is not None and foreign.traceback_text:
        return foreign.traceback_text.splitlines()
    import traceback  # logging, without which no call runs, has loaded it; declaring tools needs neither

    try:
        return "".join(traceback.format_exception(exc)).splitlines()
    except BaseException as broken:  # noqa: BLE001 - formatting calls the exception's own code
        return [f"(no traceback: formatting it raised {class_name(broken)})"]


def type_name(exc: BaseException) -> str:
    """The name of the exception's class, of one from elsewhere as well."""
    foreign = _as_foreign(exc)
    return class_name(exc) if foreign is None else foreign.type_name


def error_form(exc: BaseException, **extra: Any) -> dict[str, Any]:
    """The in-band form of an error; the fixed keys win over ``extra``."""
    return {**extra, "error": True, "type": type_name(exc), "message": describe(exc), "backtrace": backtrace(exc)}


def _as_foreign(exc: BaseException) -> ForeignError | None:
    # Not isinstance: that may ask the exception for its __class__, which is the tool's code.
    return cast("ForeignError", exc) if issubclass(type(exc), ForeignError) else None


def cancelled_form(reason: str, **extra: Any) -> dict[str, Any]:
    """The in-band form of a cancelled call; the fixed keys win over ``extra``."""
    return {**extra, "cancelled": True, "reason": reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """The one answer to a call.

    ``status`` alone says how the call ended; it never comes from looking into ``value``, so a tool
    may return a dict with an ``error`` key and is still ``ok``.

    Attributes:
        id: The call's id as the model gave it, or None.
        name: The tool's name as the model gave it.
        value: What the tool returned, or the in-band error or cancelled form (a dict).
        status: One of ``STATUSES``.
        exception: What was raised, with traceback, cause and notes; never sent to a model and no
            part of equality.
        reason: Why it was cancelled or stopped, or None.
        abandoned: Whether a worker was left behind still running the body.
        strategy: Where it ran, or None when it never got that far.
        queued_s: Seconds from claiming the call to the start of its body, or to its end if the body never began.
        duration_s: Seconds the body took; 0.0 when it never began.
        attempts: How many times a body was begun.
        output: What the tool printed, where the strategy captured it.
    """

    id: str | None
    name: str
    value: Any
    status: Status = "ok"
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    reason: str | None = None
    abandoned: bool = False
    strategy: str | None = None
    queued_s: float = field(default=0.0, compare=False)
    duration_s: float = field(default=0.0, compare=False)
    attempts: int = 0
    output: str | None = None

    @property
    def ok(self) -> bool:
        """The tool ran and returned."""
        return self.status == "ok"

    @property
    def error(self) -> bool:
        """The call failed: it raised, was refused, ran out of time or lost its worker."""
        return self.status in _ERRORS

    @property
    def cancelled(self) -> bool:
        """Somebody or something decided that the call should not go on, or not begin."""
        return self.status in _CANCELLED

    def unwrap(self) -> Any:
        """The tool's own value.

        Raises:
            ToolFailed: The call is not ``ok``; the original exception, if there is one, is its cause.
        """
        if self.status == "ok":
            return self.value
        why = self.reason if self.exception is None else f"{type_name(self.exception)}: {describe(self.exception)}"
        raise ToolFailed(f"tool {self.name!r} ended {self.status}" + (f" ({why})" if why else "")) from self.exception

    def to_dict(self) -> dict[str, Any]:
        """Exactly ``id``, ``name`` and ``value``."""
        return {"id": self.id, "name": self.name, "value": self.value}

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON; what JSON cannot hold is rendered as :func:`toolexec.render` says."""
        return encode(self.to_dict())

    def to_record(self) -> dict[str, Any]:
        """Everything about the answer that JSON can hold, for logs and files."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "value": to_plain(self.value),
            "reason": self.reason,
            "abandoned": self.abandoned,
            "strategy": self.strategy,
            "queued_s": self.queued_s,
            "duration_s": self.duration_s,
            "attempts": self.attempts,
            "output": self.output,
        }


class _Draft:
    """A Return while it is put together: what a frozen class makes of twelve attributes takes a microsecond."""

    __slots__ = Return.__slots__


def settled(
    id: str | None,
    name: str,
    value: Any,
    status: Status,
    exception: BaseException | None,
    reason: str | None,
    strategy: str | None,
    queued_s: float,
    duration_s: float,
    attempts: int,
    output: str | None,
    *,
    abandoned: bool,
) -> Return:
    """A Return, as ``Return(...)`` makes one; in a fifth of the time."""
    ret: Any = _Draft()
    ret.id = id
    ret.name = name
    ret.value = value
    ret.status = status
    ret.exception = exception
    ret.reason = reason
    ret.abandoned = abandoned
    ret.strategy = strategy
    ret.queued_s = queued_s
    ret.duration_s = duration_s
    ret.attempts = attempts
    ret.output = output
    ret.__class__ = Return  # the two have the same slots, in the same order
    made: Return = ret
    return made


def render(ret: Return, *, backtrace: bool = False, json: Json = AS_WRITTEN) -> str:
    """The text a model is sent for an answer; never empty.

    A str goes unquoted and unchanged; a blank one goes as its JSON (``""``), because some servers
    refuse an empty body.  Everything else is JSON: None is ``null``; dates, paths, UUIDs, decimals
    and enum members become strings or their values; sets and tuples lists; dataclasses and pydantic
    models objects; bytes text, or base64 when they are not UTF-8; NaN and the infinities the strings
    ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.  What has no such form (a self-containing list, an
    object of a class JSON does not know) becomes an error text that names the type.

    Args:
        ret: The answer.
        backtrace: Whether the error form's backtrace is for the model too.
        json: The tool's own; its ``encode`` sees what an ``ok`` call returned.
    """
    value: Any = ret.value
    parts = parts_of(value) if ret.status == "ok" else None
    if parts is not None:
        text = "\n".join(map(str, parts))
        return text if text.strip() else encode(text)
    if json.encode is not None and ret.status == "ok":
        value = _encoded(value, json.encode)
    if issubclass(type(value), str):
        value = "".join([value])  # noqa: FLY002 - a str and no subclass of it, whose methods may do anything
        return legal_text(value) if value.strip() else encode(value)
    if ret.status != "ok" and type(value) is dict and not backtrace:
        value = {key: item for key, item in cast("dict[str, Any]", value).items() if key != "backtrace"}
    return encode(value)


def _encoded(value: Any, hook: Callable[[Any], Any]) -> Any:
    try:
        return hook(value)
    except Exception as exc:  # noqa: BLE001 - the user's code; rendering never raises
        form = error_form(exc)
        return {"error": True, "type": form["type"], "message": f"the result could not be encoded ({form['message']})"}


def frameless(exc: BaseException) -> BaseException:
    """A copy without traceback, cause and context: frames hold on to every local of the tool."""
    try:
        light = copy.copy(exc)
    except Exception:  # noqa: BLE001 - copying runs the exception's own code
        light = exc
    # Its constructor may take its own text for another parameter, and make another text of it.
    if light is exc or type(light) is not type(exc) or describe(light) != describe(exc):
        kind = ForeignToolError if issubclass(type(exc), ToolError) else ForeignError
        return kind(type_name(exc), describe(exc))
    light.__cause__ = light.__context__ = None
    return light.with_traceback(None)
