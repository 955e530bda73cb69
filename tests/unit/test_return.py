"""Return: the forms, the flags, and what of it goes where."""

from __future__ import annotations

import dataclasses
import json
import pickle

import pytest

import toolexec as tx
from toolexec._return import STATUSES, Status, backtrace, cancelled_form, error_form

ERRORS = {"raised", "bad_arguments", "unknown_tool", "unsendable", "timeout", "lost"}
CANCELLED = {"cancelled", "denied", "budget"}


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc
    except BaseException as caught:  # noqa: BLE001 - it was raised for its traceback
        return caught


@pytest.mark.parametrize("status", STATUSES)
def test_the_flags_come_from_the_status_alone(status: Status) -> None:
    ret = tx.Return(id="c", name="t", value={"error": True, "cancelled": True}, status=status)

    assert ("ok" == status, status in ERRORS, status in CANCELLED) == (ret.ok, ret.error, ret.cancelled)


def test_every_status_but_deferred_is_exactly_one_of_ok_error_cancelled() -> None:
    for status in STATUSES:
        ret = tx.Return(id=None, name="t", value=None, status=status)  # type: ignore[arg-type]  # from the list itself
        assert ("deferred" != status) == (1 == sum([ret.ok, ret.error, ret.cancelled]))


def test_a_value_that_looks_like_an_error_is_still_the_tools_value() -> None:
    value = {"error": True, "type": "E", "message": "as data"}
    ret = tx.Return(id="c", name="t", value=value)

    assert ret.ok
    assert value is ret.unwrap()


def test_unwrap_of_a_failure_keeps_the_original_as_the_cause() -> None:
    original = raised(KeyError("k"))
    ret = tx.Return(id="c", name="look", value=error_form(original), status="raised", exception=original)

    with pytest.raises(tx.ToolFailed, match=r"'look' ended raised \(KeyError: 'k'\)") as caught:
        ret.unwrap()

    assert original is caught.value.__cause__


def test_unwrap_names_an_exception_from_elsewhere_by_its_own_class() -> None:
    ret = tx.Return(id=None, name="f", value={}, status="raised", exception=tx.ForeignError("pkg.Odd", "odd"))

    with pytest.raises(tx.ToolFailed, match=r"tool 'f' ended raised \(pkg.Odd: odd\)"):
        ret.unwrap()


def test_unwrap_of_a_cancelled_call_gives_the_reason() -> None:
    ret = tx.Return(id="c", name="t", value=cancelled_form("user left"), status="cancelled", reason="user left")

    with pytest.raises(tx.ToolFailed, match=r"ended cancelled \(user left\)"):
        ret.unwrap()


def test_to_dict_has_exactly_id_name_and_value() -> None:
    ret = tx.Return(id="c", name="t", value=[1], strategy="thread", attempts=1, output="x")

    assert {"id": "c", "name": "t", "value": [1]} == ret.to_dict()
    assert {"id": "c", "name": "t", "value": [1]} == json.loads(ret.to_json())


def test_to_record_is_everything_but_the_exception_and_all_of_it_is_json() -> None:
    ret = tx.Return(
        id=None, name="t", value={"when": {1}}, status="raised", exception=ValueError("x"), queued_s=0.5, duration_s=1.5
    )
    record = ret.to_record()

    fields = {field.name for field in dataclasses.fields(tx.Return)} - {"exception"}
    assert fields == set(record)
    assert record == json.loads(json.dumps(record))
    assert ("raised", {"when": [1]}, 0.5, 1.5) == tuple(
        record[k] for k in ("status", "value", "queued_s", "duration_s")
    )


def test_equality_and_repr_leave_out_the_exception_and_the_times() -> None:
    one = tx.Return(id="c", name="t", value=1, exception=ValueError("secret"), duration_s=1.0)
    two = tx.Return(id="c", name="t", value=1, exception=None, duration_s=2.0)

    assert one == two
    assert one != dataclasses.replace(two, status="raised")
    assert "secret" not in repr(one)


def test_it_is_frozen_and_has_no_dict() -> None:
    ret = tx.Return(id="c", name="t", value=1)

    with pytest.raises(dataclasses.FrozenInstanceError):
        ret.value = 2  # type: ignore[misc]  # that is the point
    assert not hasattr(ret, "__dict__")


def test_it_survives_pickling_with_an_exception_of_our_own() -> None:
    ret = tx.Return(id="c", name="t", value=1, status="lost", exception=tx.WorkerLost("gone", pid=3, signal=9))

    arrived = pickle.loads(pickle.dumps(ret))

    assert ret == arrived
    assert (3, 9) == (arrived.exception.pid, arrived.exception.signal)


def test_the_error_form_has_the_fixed_keys_and_they_win() -> None:
    form = error_form(raised(ValueError("bad")), type="mine", hint="try again")

    assert {"hint", "error", "type", "message", "backtrace"} == set(form)
    assert (True, "ValueError", "bad", "try again") == (form["error"], form["type"], form["message"], form["hint"])


def test_the_cancelled_form_has_the_fixed_keys_and_they_win() -> None:
    assert {"note": 1, "cancelled": True, "reason": "r"} == cancelled_form("r", cancelled=False, note=1)


def test_the_backtrace_holds_frames_cause_and_notes() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = raised(KeyError("inner"))
    outer.add_note("look here")

    text = "\n".join(backtrace(raised(outer)))

    assert "in raised" in text
    assert text.index("KeyError: 'inner'") < text.index("RuntimeError: outer")
    assert "look here" in text


def test_the_backtrace_of_a_foreign_error_is_the_one_it_brought_along() -> None:
    foreign = raised(tx.ForeignError("pkg.Odd", "odd", "Traceback there\npkg.Odd: odd"))

    assert ["Traceback there", "pkg.Odd: odd"] == backtrace(foreign)
    assert "pkg.Odd" == error_form(foreign)["type"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


@pytest.mark.parametrize(
    ("exc", "type_name"),
    [
        (ValueError(), "ValueError"),
        (ValueError("  \n"), "ValueError"),
        (KeyError("k"), "KeyError"),
        (AssertionError(), "AssertionError"),
        (Unspeakable(), "Unspeakable"),
        (ExceptionGroup("many", [ValueError()]), "ExceptionGroup"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_A8_an_error_always_has_a_type_and_a_text(exc: Exception, type_name: str) -> None:
    form = error_form(raised(exc))

    assert type_name == form["type"]
    assert form["message"].strip()
    assert form["backtrace"]
    text = tx.render(tx.Return(id="c", name="t", value=form, status="raised", exception=exc))
    assert type_name in text
