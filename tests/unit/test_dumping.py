"""A Context as text, and one that goes on from there, in another process too."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolexec as tx
from dumped_tools import TOOLS, fail, note
from provider_formats import PROVIDERS, Call, response
from provider_streams import STREAMS, events
from toolexec.providing import Asked, Reply
from toolexec.testing import Gate

sequential: dict[str, Any] = {"strategy": "sequential"}


@dataclasses.dataclass
class Point:
    x: int
    at: dt.date


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("DUMPED_LOG", str(path))
    return path


def in_another_process(dumps: Sequence[tuple[str, Sequence[str]]]) -> list[Any]:
    """The histories that these dumps, with these calls approved, come to there."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dumped_tools"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        input="".join(f"{json.dumps(item)}\n" for item in dumps),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(*arguments: dict[str, Any], names: Sequence[str] = ()) -> list[Call]:
    return [Call(names[n] if names else "note", sent, f"c{n}") for n, sent in enumerate(arguments)]


def give() -> None: ...


def context_of(value: Any, **options: Any) -> tx.Context:
    """One in which a call was answered with that."""
    ctx = tx.Context([tx.as_tool(give, **options)])
    (function,) = ctx.receive([{"id": "c", "name": "give"}])
    ctx.record([function.return_(value)])
    return ctx


def restored(ctx: tx.Context, tools: Sequence[Any] = ()) -> tx.Context:
    return tx.Context.restore(ctx.dump(), tools)


# Going on elsewhere


def test_a_conversation_goes_on_in_another_process_as_if_it_had_never_left(log: Path) -> None:
    calls = asked({"n": 1}, {}, {"n": 2}, {}, names=["note", "fail", "note", "nowhere"])
    dumps, whole = [], []
    for provider in PROVIDERS:
        contexts = [tx.Context(TOOLS, **sequential) for _ in range(2)]
        for ctx in contexts:
            ctx.receive(response(provider, *calls), provider=provider)[:2].wait()
        dumps.append((contexts[0].dump(), ()))
        contexts[1].wait()
        whole.append(json.loads(json.dumps(contexts[1].history())))
    assert ["1", "1", "2"] * len(PROVIDERS) == log.read_text().split()

    assert whole == in_another_process(dumps)
    assert ["1", "1", "2"] * len(PROVIDERS) + ["2"] * len(PROVIDERS) == log.read_text().split(), "and nothing twice"


def test_a_deferred_call_is_approved_in_another_process(log: Path) -> None:
    ctx = tx.Context(TOOLS, confirm="note", on_confirm=lambda _: tx.DEFER, **sequential)
    ctx.receive(response("anthropic", *asked({"n": 1}, {"n": 2}, {"n": 3}))).wait()
    ctx.deny("c1", "not this one")
    assert ["c0", "c2"] == [function.id for function in ctx.deferred]
    dumped = ctx.dump()

    again = tx.Context.restore(dumped, TOOLS, **sequential)
    assert ["c0", "c2"] == [function.id for function in again.deferred]
    assert not again.pending_functions
    with pytest.raises(tx.ToolexecError, match=r"deferred.*'c0', 'c2'"):
        again.history()
    (history,) = in_another_process([(dumped, ["c2", "c0"])])
    assert ["3", "1"] == log.read_text().split()
    for call_id in ("c0", "c2"):
        again.approve(call_id).wait()
        with pytest.raises(tx.ToolexecError, match="not deferred"):
            again.approve(call_id)
    assert history == json.loads(json.dumps(again.history()))


@pytest.mark.parametrize("provider", STREAMS)
def test_what_came_as_a_stream_is_dumped_like_the_rest(provider: str, log: Path) -> None:
    ctx = tx.Context(TOOLS, **sequential)
    for _ in ctx.stream(events(provider, *asked({"n": 1}, {"n": 2}))):
        pass
    again = restored(ctx, TOOLS)

    assert ctx.wait("sequential") == again.wait("sequential")
    assert ctx.history() == again.history()


def test_a_stream_that_broke_stays_broken() -> None:
    ctx = tx.Context(TOOLS, **sequential)
    stream = ctx.stream(events("openai", *asked({"n": 1}))[:-2], start=False)
    with pytest.raises(tx.FormatError):
        list(stream)
    again = restored(ctx, TOOLS)

    assert [] == again.turn() == ctx.turn()
    assert ctx.returns == again.returns


def test_what_is_pending_has_a_runner_of_its_own_and_may_be_run_once(log: Path) -> None:
    ctx = tx.Context(TOOLS, **sequential)
    (function,) = ctx.receive([{"id": "c", "name": "note", "arguments": '{"n": 1}'}])
    function.model = "m"
    again = restored(ctx, TOOLS)
    (there,) = again.pending_functions

    assert ("c", '{"n": 1}', "m") == (there.id, there.arguments, there.model)
    assert there is not function
    assert again.wait("sequential") == again.wait("sequential")
    assert not again.pending_functions
    assert ["1"] == log.read_text().split()


def test_arguments_that_somebody_has_changed_are_what_the_call_runs_with(log: Path) -> None:
    ctx = tx.Context(TOOLS, **sequential)
    (function,) = ctx.receive([{"id": "c", "name": "note", "arguments": {"n": 1}}])
    function.arguments = {"n": 5}
    again = restored(ctx, TOOLS)

    assert ["noted 5"] == [ret.value for ret in again.wait("sequential")]
    assert '{"n": 1}' == again.turn()[0]["tool_calls"][0]["function"]["arguments"], "the model sent that"


def test_made_up_ids_stay_what_they_were() -> None:
    ctx = tx.Context([fail], **sequential)
    ctx.receive([{"name": "fail"}, {"id": "same", "name": "fail"}, {"id": "same", "name": "fail"}])
    ctx.wait()
    before = ctx.turn(), ctx.turn("anthropic")
    again = restored(ctx, [fail])

    assert before == (again.turn(), again.turn("anthropic"))


def test_an_interrupted_turn_stays_so_until_the_next() -> None:
    ctx = tx.Context(TOOLS, **sequential)
    ctx.receive([{"id": "a", "name": "note", "arguments": {"n": 1}}])
    ctx.interrupt("enough")
    again = restored(ctx, TOOLS)

    assert (True, "enough") == (again.interrupted, again.interrupt_reason)
    assert [("cancelled", "enough")] == [(ret.status, ret.reason) for ret in again.wait("sequential")]
    again.next_turn()
    assert not again.interrupted


def test_an_interrupt_of_one_call_holds_for_it_alone(log: Path) -> None:
    ctx = tx.Context(TOOLS, **sequential)
    ctx.receive([{"id": str(n), "name": "note", "arguments": {"n": n}} for n in range(2)])
    ctx.interrupt("not this", id="0")

    assert ["cancelled", "ok"] == [ret.status for ret in restored(ctx, TOOLS).wait("sequential")]


def test_a_budget_goes_on_with_what_the_turn_has_spent(log: Path) -> None:
    options: dict[str, Any] = {"budget": 2, **sequential}
    ctx = tx.Context(TOOLS, **options)
    ctx.receive([{"id": str(n), "name": "note", "arguments": {"n": n}} for n in range(3)])[:1].wait()
    again = tx.Context.restore(ctx.dump(), TOOLS, **options)

    assert ["ok", "ok", "budget"] == [ret.status for ret in again.wait()]
    again.next_turn()
    again.receive([{"name": "note", "arguments": {"n": 9}}])
    assert ["ok"] == [ret.status for ret in again.wait()]


def test_a_guard_sees_the_calls_of_the_turn_from_before() -> None:
    ctx = tx.Context([fail], guard=True, **sequential)
    for _ in range(2):
        ctx.receive([{"name": "fail"}]).wait()
    again = tx.Context.restore(ctx.dump(), [fail], guard=True, **sequential)
    again.receive([{"name": "fail"}])

    assert ["budget"] == [ret.status for ret in again.wait()]


class Full(tx.ToolError):
    """An error of a tool's own, whose text is for the model."""


@tx.tool
def book() -> None:
    raise Full("that day is full")


def test_a_tool_error_of_a_class_of_its_own_is_told_verbatim_afterwards_too() -> None:
    options: dict[str, Any] = {"reveal": "type", **sequential}
    ctx = tx.Context([book], **options)
    ctx.receive([{"id": "c1", "name": "book"}]).wait()
    again = tx.Context.restore(ctx.dump(), [book], **options)

    assert "that day is full" in str(ctx.messages())
    assert ctx.messages() == again.messages()
    assert isinstance(again.returns[0].exception, tx.ToolError)
    assert again.dump() == ctx.dump()


def redacted(text: str) -> str:
    return text.replace("broken", "(hidden)")


LOOKS: list[dict[str, Any]] = [{}, {"reveal": "type"}, {"redact": redacted}, {"reveal": "type", "redact": redacted}]


@pytest.mark.parametrize("before", LOOKS)
@pytest.mark.parametrize("after", LOOKS)
def test_what_was_hidden_of_an_error_stays_hidden_and_what_was_told_told(
    before: dict[str, Any], after: dict[str, Any], log: Path
) -> None:
    calls = asked({}, {"n": 1}, {}, names=["fail", "note", "nowhere"])
    ctx = tx.Context(TOOLS, **before, **sequential)
    ctx.receive(response("openai", *calls)).wait()
    told = ctx.history()
    assert ("broken" in str(told)) == (not before)

    again = ctx
    for _ in range(2):
        again = tx.Context.restore(again.dump(), TOOLS, **after, **sequential)
        assert told == again.history()

    again.receive(response("openai", *asked({}, names=["fail"]))).wait()
    assert ("broken" in str(again.messages())) == (not after), "what comes from now on is told as it is to be now"


def test_what_denies_is_redacted_as_it_was_too(log: Path) -> None:
    ctx = tx.Context(TOOLS, confirm="note", on_confirm=lambda _: tx.DEFER, redact=redacted, **sequential)
    ctx.receive(response("openai", *asked({"n": 1}, {"n": 2}))).wait()
    ctx.deny("c0", "it is broken")
    again = tx.Context.restore(ctx.dump(), TOOLS, **sequential)
    for context in (ctx, again):
        context.deny("c1", "still broken")

    first, second = (str(message) for message in again.messages())
    assert "it is (hidden)" in first
    assert "still broken" in second
    assert first == str(ctx.messages()[0])


def test_a_dump_of_what_was_restored_is_the_same() -> None:
    ctx = tx.Context(TOOLS, **sequential)
    ctx.receive(response("google", *asked({}, names=["fail"]))).wait()
    ctx.receive([{"name": "note"}])
    dumped = ctx.dump()

    assert dumped == tx.Context.restore(dumped, TOOLS).dump()
    odd = restored(context_of(Point(1, dt.date(2020, 1, 2))), [tx.as_tool(give)]).dump()
    assert odd == tx.Context.restore(odd, [tx.as_tool(give)]).dump()


# What a Return holds

STATUSES = [
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


@pytest.mark.parametrize("status", STATUSES)
def test_a_return_of_every_status_comes_back_whole(status: Any) -> None:
    ctx = tx.Context([fail])
    (function,) = ctx.receive([{"id": "c", "name": "fail"}])
    ret = function._return = tx.Return(
        id="c",
        name="fail",
        value={"x": [1]},
        status=status,
        reason="why",
        abandoned=True,
        strategy="fork",
        queued_s=0.25,
        duration_s=1.5,
        attempts=2,
        output="printed",
    )
    (again,) = restored(ctx, [fail]).returns

    assert ret == again
    assert ret.to_record() == again.to_record()


def test_an_exception_comes_back_by_name_and_text_with_its_backtrace() -> None:
    ctx = tx.Context([fail], **sequential)
    ctx.receive([{"name": "fail"}]).wait()
    (ret,) = restored(ctx).returns

    assert isinstance(ret.exception, tx.ForeignError)
    assert ("ValueError", "broken") == (ret.exception.type_name, str(ret.exception))
    assert ret.value["backtrace"] == ret.exception.traceback_text.splitlines()
    (again,) = restored(restored(ctx)).returns
    assert isinstance(again.exception, tx.ForeignError)
    assert "ValueError" == again.exception.type_name


@pytest.mark.parametrize(
    "exc",
    [
        tx.ArgumentsError("a"),
        tx.NoSuchToolError("b"),
        tx.UnsendableError("c"),
        tx.DeadlineExceeded("d"),
        tx.WorkerLost("e", pid=1),
        tx.ToolError("f"),
        tx.Interrupt("g"),
    ],
    ids=lambda exc: type(exc).__name__,
)
def test_an_exception_of_toolexecs_own_keeps_its_class(exc: BaseException) -> None:
    ctx = tx.Context([fail])
    (function,) = ctx.receive([{"name": "fail"}])
    ctx.record([function.error(exc)])
    (ret,) = restored(ctx).returns

    assert type(exc) is type(ret.exception)
    assert str(exc) == str(ret.exception)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(alphabet=st.characters(categories=["Cs"]))
    | st.binary()
    | st.just("$toolexec")
    | st.builds(tx.Text, st.text())
    | st.builds(tx.Image, st.binary(), st.sampled_from(["image/png", "image/gif"]))
    | st.builds(tx.File, st.binary(), st.just("application/pdf"), st.text()),
    lambda items: (
        st.lists(items, max_size=3)
        | st.lists(items, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.just("$toolexec"), items, max_size=3)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_data_comes_back_the_very_same(value: Any) -> None:
    ctx = context_of(value)
    again = restored(ctx)

    assert repr(value) == repr(again.returns[0].value), "NaN is not NaN"
    assert ctx.history() == again.history()


class Level(int):
    pass


class Record(tx.Tool):
    name = "record"

    def call(self) -> None: ...


ODD: list[Any] = [
    math.nan,
    [math.inf, -math.inf],
    b"\xff\x00",
    "half a pair: \ud800",
    "\x00",
    10**5000,
    -(10**5000),
    {1, 2},
    {1: "one", None: 2},
    Level(3),
    Point(1, dt.date(2020, 1, 2)),
    dt.datetime(2020, 1, 2, tzinfo=dt.UTC),
    decimal.Decimal("1.10"),
    [tx.Text("a"), Point(1, dt.date(2020, 1, 2))],
    (tx.Image(b"\xff"), "text"),
    ["text", tx.Image(b"\xff"), tx.File(b"x", "application/pdf", "n")],
    {"$toolexec": "image"},
    object(),
    iter([1]),
    "",
    "  ",
    {"error": True},
]


def circular() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = [math.pi]
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [*ODD, circular(), deep(150), deep(400), deep(100_000)], ids=lambda v: type(v).__name__
)
def test_the_model_reads_the_same_of_any_value(value: Any) -> None:
    ctx = context_of(value)
    again = restored(ctx)

    assert ctx.history() == again.history()
    assert ctx.history("anthropic") == restored(again).history("anthropic")


def test_what_is_no_plain_data_comes_back_as_it_was_rendered() -> None:
    values = [restored(context_of(value)).returns[0].value for value in (Point(1, dt.date(2020, 1, 2)), {3})]
    assert [{"x": 1, "at": "2020-01-02"}, [3]] == values


def test_a_form_of_the_tools_own_is_kept_though_the_tool_is_not_there() -> None:
    ctx = context_of({"x": 1}, json=tx.Json(encode=lambda value: f"<{value['x']}>"))
    again = restored(ctx)

    assert {"x": 1} == again.returns[0].value
    assert "<1>" == ctx.messages()[0]["content"] == again.messages()[0]["content"]


def test_a_providers_native_form_with_bytes_and_calls_in_it_comes_back() -> None:
    ctx = tx.Context([fail], **sequential)
    ctx.receive(response("bedrock", *asked({}, names=["fail"])))
    received = ctx._responses[0]
    native = [{"reasoningContent": {"redactedContent": b"\xff"}}, Asked({"k": (1, math.inf)})]
    received.reply = Reply(received.reply.calls, None, native)
    again = restored(ctx, [fail])._responses[0].reply.native

    assert native == again
    assert [dict, Asked] == [type(item) for item in again]


def test_a_name_that_a_provider_does_not_take_finds_its_tool_again() -> None:
    tool = tx.as_tool(give, name="give me 1")
    options: dict[str, Any] = {"provider": "openai", **sequential}
    ctx = tx.Context([tool], **options)
    (declared,) = ctx.declarations()
    ctx.receive(response("openai", Call(declared["function"]["name"], {}, "c")))
    again = tx.Context.restore(ctx.dump(), [tool], **options)

    assert [("give me 1", "ok")] == [(ret.name, ret.status) for ret in again.wait()]
    ctx.wait()
    assert ctx.history() == again.history()
    assert ctx.history() == restored(ctx).history(), "though the tool is not there"


# What cannot be


def test_a_call_in_flight_cannot_be_dumped(tmp_path: Path) -> None:
    def hold(path: str) -> None:
        Gate(path).pass_through()

    ctx = tx.Context([tx.as_tool(hold)])
    with Gate(tmp_path / "gate") as gate:
        ctx.receive([{"id": f"c{n}", "name": "hold", "arguments": {"path": gate.path}} for n in range(2)])
        group = ctx.pending_functions[:1].group("thread")
        with pytest.raises(
            tx.ToolexecError,
            match=r"in flight.*'hold' \('c0'\); wait for them \(ctx\.wait\(\), or await ctx\.run\(\)\), or interrupt",
        ):
            ctx.dump()
        group.interrupt()
        group.wait()
    assert ["cancelled"] == [ret.status for ret in restored(ctx, [tx.as_tool(hold)]).returns]


def test_a_stream_that_goes_on_cannot_be_dumped() -> None:
    ctx = tx.Context(TOOLS, **sequential)
    stream = ctx.stream(events("openai", *asked({"n": 1})), start=False)
    next(stream)
    with pytest.raises(tx.ToolexecError, match="a stream still goes on"):
        ctx.dump()


def test_arguments_that_are_no_plain_data_cannot_be_dumped_while_they_are_needed() -> None:
    ctx = tx.Context([fail], **sequential)
    ctx.receive([{"id": "c", "name": "fail", "arguments": {"x": object()}}])
    with pytest.raises(tx.ToolexecError, match=r"arguments of 'fail' \('c'\) cannot be dumped: a object is no plain"):
        ctx.dump()
    ctx.wait()
    assert ["bad_arguments"] == [ret.status for ret in restored(ctx).returns]


@pytest.mark.parametrize("state", ["pending", "deferred"])
def test_an_open_call_of_a_tool_that_is_not_there_is_refused(state: str) -> None:
    ctx = tx.Context([fail, note], confirm=["fail"], on_confirm=lambda _: tx.DEFER, **sequential)
    ctx.receive([{"id": "c", "name": "fail"}, {"id": "d", "name": "note", "arguments": {}}])[1:].wait()
    if state == "deferred":
        ctx.wait()
    with pytest.raises(tx.ToolexecError, match=r"still to be answered.*: 'fail' \('c'\); restore with these"):
        restored(ctx, [note])


def test_an_answered_call_of_a_tool_that_is_not_there_and_one_of_a_tool_that_never_was_are_fine() -> None:
    ctx = tx.Context([fail], **sequential)
    ctx.receive([{"id": "c", "name": "fail"}, {"id": "d", "name": "never"}])[:1].wait()
    again = restored(ctx)

    assert ["raised", "unknown_tool"] == [ret.status for ret in again.wait("sequential")]


def test_a_provider_that_is_not_there_is_named_and_may_be_given() -> None:
    class Own(type(tx.OpenAI())):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass] - a class by its instance
        name = "own"

    own = Own()
    ctx = tx.Context([fail], provider=own, **sequential)
    ctx.receive(response("openai", *asked({}, names=["fail"])), provider=own).wait()
    with pytest.raises(tx.FormatError, match=r"a response of 'own' in the dump: no provider named 'own'.*provider="):
        restored(ctx)
    assert ctx.history() == tx.Context.restore(ctx.dump(), provider=own).history()


GARBAGE: list[tuple[Any, str]] = [
    (None, "as text; this is a NoneType"),
    ({"format": 1}, "as text; this is a dict"),
    ("", "this is no JSON"),
    ("{", "this is no JSON"),
    (b"\xff\xfe", "this is no JSON"),
    ("[" * 200_000, "this is no JSON"),
    ("[]", "this is an array"),
    ('{"version": 1}', "this is an object"),
    ('{"format": "toolexec conversation", "version": 2}', "this is version 2, of another"),
    ('{"format": "toolexec conversation", "version": 1}', "damaged at turn: Field required"),
]


@pytest.mark.parametrize(("text", "says"), GARBAGE)
def test_what_is_no_dump_is_refused_saying_what_was_expected_and_found(text: Any, says: str) -> None:
    with pytest.raises(tx.FormatError, match=r"what Context\.dump\(\) gave, version 1, is expected.*" + says):
        tx.Context.restore(text)


def _damaged(dumped: Any) -> list[Any]:
    """The dump with each value in it replaced by one of another kind, or left out, one at a time."""
    made: list[Any] = []

    def walk(value: Any) -> None:
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in list(entries):
            value[key] = {"$toolexec": "bytes"} if not isinstance(item, dict) else 5
            made.append(json.dumps(dumped))
            value[key] = item
            walk(item)

    walk(dumped)
    return made


def test_no_damage_is_worse_than_an_error_that_says_so() -> None:
    ctx = tx.Context(TOOLS, **sequential)
    ctx.receive(response("anthropic", *asked({"n": 1}, {}, names=["note", "fail"])))[1:].wait()
    ctx.interrupt("x")
    dumped = ctx.dump()
    damaged = [*_damaged(json.loads(dumped)), *(dumped[:cut] for cut in range(0, len(dumped), 7))]
    refused = 0
    for text in damaged:
        try:
            tx.Context.restore(text, TOOLS)
        except tx.ToolexecError:
            refused += 1
    assert refused > len(damaged) * 0.9, "the rest are values that may be anything"


def test_bytes_out_of_a_database_will_do() -> None:
    ctx = context_of("é")
    assert ctx.returns == tx.Context.restore(ctx.dump().encode()).returns
    assert ctx.dump().isascii()
