"""Parcels to a worker and outcomes back, as bytes; what cannot travel becomes an answer, never a dead reader."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolexec import ForeignError, ToolError, UnsendableError
from toolexec.lowlevel import ForeignToolError, Given, Outcome, Parcel, Progress, error_form
from toolexec_strategies._remote._carried import Value, put_in_place
from toolexec_strategies._remote._culprit import find_culprit, runner_name, type_name
from toolexec_strategies._remote._exceptions import flatten, is_plain_interrupt, rebuild
from toolexec_strategies._remote._logs import wanted_level
from toolexec_strategies._remote._pickles import (
    NotPlain,
    PlainPickler,
    PlainUnpickler,
    ReplyPickler,
    RequestPickler,
    dumps,
    remember_received,
    trial_loads,
)
from toolexec_strategies._remote._trace import MODULES, join
from toolexec_strategies._remote._wire import RESULT, RESULT_BYTES, Frame, Payload

Hint = Callable[[BaseException], str | None]


class Request(NamedTuple):
    """A parcel, packed.

    Attributes:
        payload: What travels.
        modules: The modules a worker imports when it unpacks it.
    """

    payload: bytes
    modules: frozenset[str]


def pack_request(parcel: Parcel, strategy: str, carried: Sequence[Value] = ()) -> Request:
    """Pack a call for a worker.

    Args:
        parcel: The call.
        strategy: The name of the strategy that sends it.
        carried: The context variables that go along.

    Raises:
        UnsendableError: Something of it cannot travel; it names the tool, the runner and the part.
    """
    with io.BytesIO() as file:
        pickler = RequestPickler(file)
        try:
            # The classes come last: pickling what stands before them finds them.
            pickler.dump((*parcel, wanted_level(), carried, pickler.classes))
        except BaseException as exc:
            raise _unsendable_request(parcel, strategy, carried, exc) from exc
        pickler.modules.update(module for module, _, _ in carried)
        if parcel.carrier is not None:
            pickler.modules.update(MODULES)
        return Request(file.getvalue(), frozenset(pickler.modules))


class _Small(io.BytesIO):
    """Takes so many bytes, and no more: what is large is not to be packed to its end first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self.most:
            raise NotPlain
        return super().write(data)


def pack_plain_request(parcel: Parcel, most: int) -> Request | None:
    """Pack a call as :func:`pack_request` does, if that is no more than ``most`` bytes and runs no code of the user's.

    Returns:
        None if it is none of these, or fails.
    """
    with _Small(most) as file:
        pickler = PlainPickler(file)
        try:
            pickler.dump((*parcel, wanted_level(), (), ()))
        except Exception:  # noqa: BLE001 - NotPlain, mostly; whoever packs it again finds out
            return None
        return Request(file.getvalue(), frozenset(pickler.modules))


def unpack_request(payload: Payload) -> tuple[Parcel, int]:
    """In a worker: the parcel again, and from which level on the host wants log records.

    What was carried is set in the current context, and the call's trace is current there.  Raises whatever
    loading raises.
    """
    *fields, level, carried, classes = pickle.loads(payload)
    remember_received(classes)
    put_in_place(carried)
    parcel = Parcel(*fields)
    if parcel.carrier is not None:
        join(parcel.carrier)
    return parcel, level


def pack_reply(outcome: Outcome, parcel: Parcel | None, where: str, hint: Hint | None = None) -> Frame:
    """In a worker: the frame that answers a call; see :func:`pack_outcome`."""
    if outcome.status == "ok" and type(outcome.value) is bytes:
        return RESULT_BYTES, outcome.value  # neither side makes a copy
    return RESULT, pack_outcome(outcome, parcel, where, hint)


def pack_outcome(outcome: Outcome, parcel: Parcel | None, where: str, hint: Hint | None = None) -> bytes:
    """In a worker: pack what a call came to; never raises, whatever the objects' own code does.

    Args:
        outcome: What it came to.
        parcel: The call, or None when it could not be unpacked.
        where: What the worker is, in words.
        hint: Adds advice to an exception that has to do with the kind of worker.
    """
    if outcome.status == "ok":
        try:
            return dumps(("ok", outcome.value), ReplyPickler)
        except BaseException as exc:  # noqa: BLE001 - pickling runs the objects' own code
            outcome = Outcome("unsendable", exception=_unsendable(outcome.value, parcel, where, exc))
    try:
        return _pack_failure(outcome, hint)
    except BaseException:  # noqa: BLE001 - as above, an exception's own code
        raised = outcome.exception
        assert raised is not None  # nothing else in there can fail
        form = error_form(raised)
        kind = ForeignToolError if issubclass(type(raised), ToolError) else ForeignError
        stand_in = kind(form["type"], form["message"], "\n".join(form["backtrace"]))
        return _pack_failure(Outcome(outcome.status, exception=stand_in, reason=outcome.reason), None)


def _unsendable(value: Any, parcel: Parcel | None, where: str, exc: BaseException) -> UnsendableError:
    try:
        return _unsendable_result(value, parcel, where, exc)
    except BaseException:  # noqa: BLE001 - the value's own code, which was looked through for what is wrong
        return UnsendableError(f"the result, a {type(value).__name__}, cannot be pickled ({type(exc).__name__})")


def _pack_failure(outcome: Outcome, hint: Hint | None) -> bytes:
    raised = outcome.exception
    if outcome.status == "cancelled" and raised is not None and is_plain_interrupt(raised):
        # The host shows no backtrace of it, and to make one is most of what ending a call by an interrupt takes.
        return pickle.dumps(
            ("cancelled", None, flatten(raised, pickle.dumps, pickle.loads), "", outcome.reason), protocol=5
        )
    form: dict[str, Any] | None = None
    if raised is not None:
        advice = hint(raised) if hint is not None else None
        if advice is not None:
            raised.add_note(advice)
        form = error_form(raised)
        if advice is not None:
            form["message"] = f"{advice}: {form['message']}"
    reply = (
        outcome.status,
        form if outcome.status != "cancelled" else None,
        None if raised is None else flatten(raised, lambda obj: dumps(obj, ReplyPickler), trial_loads),
        "" if form is None else "\n".join(form["backtrace"]),
        outcome.reason,
    )
    return pickle.dumps(reply, protocol=5)


def unpack_outcome(payload: Payload, parcel: Parcel, where: str) -> Outcome:
    """In the host: the outcome again; never raises, whatever loading runs."""
    try:
        status, *rest = pickle.loads(payload)
        if status == "ok":
            return Outcome("ok", *rest)
        form, nodes, text, reason = rest
        exc = None if nodes is None else rebuild(nodes, text)
        return Outcome(status, form, exception=exc, reason=reason)
    except BaseException as exc:  # noqa: BLE001 - the value's class runs here, and must not end the reader
        error = UnsendableError(
            f"tool {parcel.name!r} ({runner_name(parcel.source)}) returned a value that came back from {where} but "
            f"cannot be rebuilt in this process ({type(exc).__name__}: {_words(exc)}); return plain data"
        )
        error.__cause__ = exc
        return Outcome("unsendable", exception=error)


def unpack_plain_outcome(payload: Payload) -> Outcome | None:
    """In the host: the outcome of a call that ended well, if unpacking it runs no code of the user's; else None."""
    try:
        status, *rest = PlainUnpickler(io.BytesIO(payload)).load()
    except Exception:  # noqa: BLE001 - whoever unpacks it again finds out
        return None
    return Outcome("ok", *rest) if status == "ok" else None


def pack_progress(progress: Progress) -> bytes:
    """In a worker: pack a report; never raises."""
    try:
        return dumps(tuple(progress), ReplyPickler)
    except BaseException:  # noqa: BLE001 - pickling runs the objects' own code
        # A report is no answer: better one without its data than none, or a failed call.
        return pickle.dumps((progress.done, progress.total, str(progress.message), None), protocol=5)


def unpack_progress(payload: Payload) -> Progress | None:
    """In the host: the report again, or None when it cannot be rebuilt."""
    try:
        return Progress(*pickle.loads(payload))
    except BaseException:  # noqa: BLE001 - as in unpack_outcome
        return None


def _unsendable_request(
    parcel: Parcel, strategy: str, carried: Sequence[Value], failure: BaseException
) -> UnsendableError:
    def attempt(part: object) -> None:
        dumps(part, RequestPickler)

    runner = runner_name(parcel.source)
    named = [_named(f"argument {name!r} of", value) for name, value in parcel.kwargs.items()]
    named += [_named(f"argument {place} of", value) for place, value in enumerate(parcel.args, 1)]
    named += [_named(f"the context variable {module}.{name} along with", value) for module, name, value in carried]
    for label, value, instead in [_named("", parcel.source), *named]:
        culprit = find_culprit(value, attempt)
        if culprit is not None:
            what = f"{label} " if label else ""
            return UnsendableError(
                f"the {strategy} strategy cannot carry {what}tool {parcel.name!r} ({runner}): {culprit}; {instead}, "
                "or use the thread strategy"
            )
    return UnsendableError(
        f"the {strategy} strategy cannot carry tool {parcel.name!r} ({runner}): {type(failure).__name__}: "
        f"{_words(failure)}"
    )


def _named(label: str, value: Any) -> tuple[str, Any, str]:
    """What travels, in words, itself, and what to do if it cannot."""
    if isinstance(value, Given):
        return (
            f"the dependency {value.name!r}, of type {type_name(value.value)}, of",
            value.value,
            "give Context(deps=...) a toolexec.factory(make), which makes it in the worker",
        )
    return label, value, "give it something that can be pickled, make it inside the tool"


def _unsendable_result(value: object, parcel: Parcel | None, where: str, failure: BaseException) -> UnsendableError:
    def attempt(part: object) -> None:
        dumps(part, ReplyPickler)

    culprit = find_culprit(value, attempt)
    what = str(culprit) if culprit is not None else f"{type(failure).__name__}: {_words(failure)}"
    tool = "" if parcel is None else f"tool {parcel.name!r} ({runner_name(parcel.source)}) "
    return UnsendableError(
        f"{tool}returned a value that cannot come back from {where}: {what}; return plain data, or use the "
        "thread strategy"
    )


def _words(exc: BaseException) -> str:
    try:
        return str(exc)
    except BaseException:  # noqa: BLE001 - a broken __str__
        return "(no text)"
