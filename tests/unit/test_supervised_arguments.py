"""What those see who supervise a call: its own arguments, decoded; and what comes of their failing or refusing."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

import toolexec as tx
from toolexec.testing import response


@tx.tool
def transfer(amount: int, to: str, note: str = "none") -> str:
    return f"{amount} to {to}: {note}"


GIVEN = {"amount": 60, "to": "Ann"}
every_provider = pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "google"])


def sent(provider: str, arguments: dict[str, Any] | None = None) -> Any:
    return response(provider, [("transfer", GIVEN if arguments is None else arguments, "c1")])


def settled(ctx: tx.Context, given: Any) -> tx.Return:
    ctx.receive(given)
    (ret,) = ctx.wait("sequential", timeout=15)
    return ret


def kept(where: list[Any], what: Any) -> bool:
    where.append(what)
    return True


class Sees(tx.Intercept):
    """Keeps what it is shown, and does something to it."""

    def __init__(self, act: Callable[[tx.Function], Any] = lambda function: None) -> None:
        self.seen: list[Any] = []
        self.act = act

    def call(self, *, function: tx.Function) -> Any:  # type: ignore[override]  # an instance's
        self.seen.append(copy.deepcopy(function.arguments))
        return self.act(function)

    def after(self, *, function: tx.Function, ret: tx.Return) -> Any:  # type: ignore[override]  # likewise
        self.seen.append(copy.deepcopy(function.arguments))


@every_provider
def test_everybody_sees_a_dict_whatever_the_provider_sends(provider: str) -> None:
    judged: list[Any] = []
    asked: list[Any] = []
    sees = Sees()
    ctx = tx.Context(
        [transfer],
        intercept=sees,
        confirm=lambda function: kept(judged, function.arguments) and function.arguments["amount"] > 50,
        on_confirm=lambda function: kept(asked, function.arguments) and function.arguments["to"] == "Ann",
    )

    assert "60 to Ann: none" == settled(ctx, sent(provider)).value
    assert [GIVEN, GIVEN] == sees.seen
    assert [[{**GIVEN, "note": "none"}]] * 2 == [judged, asked], "as it would run, with what was left out"


@every_provider
def test_what_an_intercept_changes_counts_for_the_call_and_for_nothing_else(provider: str) -> None:
    def change(function: tx.Function) -> None:
        function.arguments["to"] = "Bob"

    given = sent(provider)
    before = copy.deepcopy(given)
    ctx = tx.Context([transfer], intercept=Sees(change))
    ret = settled(ctx, given)

    assert "60 to Bob: none" == ret.value
    assert before == given
    assert "Ann" in str(ctx.history())
    assert "Bob" not in str(ctx.history()[0])


def test_what_stands_deep_in_the_arguments_is_the_calls_own_too() -> None:
    @tx.tool
    def send(to: list[str]) -> list[str]:
        return to

    given = [{"id": "c1", "name": "send", "arguments": {"to": ["Ann"]}}]
    ctx = tx.Context([send], intercept=Sees(lambda function: function.arguments["to"].append("Bob")))

    assert ["Ann", "Bob"] == settled(ctx, given).value
    assert [{"id": "c1", "name": "send", "arguments": {"to": ["Ann"]}}] == given


@pytest.mark.parametrize("arguments", ['{"amount": 6', "[1]", '"text"', 3])
def test_nobody_is_asked_about_arguments_that_cannot_be_read(arguments: Any) -> None:
    sees = Sees()
    asked: list[tx.Function] = []
    ctx = tx.Context([transfer], intercept=sees, confirm=asked.append, on_confirm=asked.append)
    ret = settled(ctx, [{"id": "c1", "name": "transfer", "arguments": arguments}])

    assert "bad_arguments" == ret.status
    assert [arguments] == sees.seen, "once, after it"
    assert [] == asked


def test_a_tool_that_is_not_there_is_seen_by_the_intercept_decoded() -> None:
    sees = Sees()
    ctx = tx.Context([transfer], intercept=sees)
    readable = settled(ctx, [{"id": "c1", "name": "nobody", "arguments": '{"a": 1}'}])
    unreadable = settled(ctx, [{"id": "c2", "name": "nobody", "arguments": '{"a": '}])

    assert ["unknown_tool"] * 2 == [readable.status, unreadable.status]
    assert [{"a": 1}] * 2 == sees.seen[:2]


def test_a_refused_call_is_shown_to_after_decoded_as_well() -> None:
    sees = Sees()

    assert "budget" == settled(tx.Context([transfer], intercept=sees, budget=0), sent("openai")).status
    assert [GIVEN] == sees.seen


# At the confirm step: what would run


def test_a_person_is_shown_what_validation_makes_of_the_arguments() -> None:
    made = iter(range(9))
    seen: list[Any] = []

    @tx.tool
    def book(day: dt.date, number: int = Field(default_factory=lambda: next(made))) -> tuple[str, int]:
        return day.isoformat(), number

    def ask(function: tx.Function) -> bool:
        seen.append(dict(function.arguments))
        return bool(function.arguments["day"] > dt.date(2026, 1, 1))

    ctx = tx.Context([book], confirm="book", on_confirm=ask)
    ret = settled(ctx, [{"id": "c1", "name": "book", "arguments": '{"day": "2026-05-01"}'}])

    assert [{"day": dt.date(2026, 5, 1), "number": 0}] == seen
    assert ("2026-05-01", 0) == ret.value, "the very number that was shown"


def test_what_the_engine_fills_in_is_not_shown() -> None:
    @tx.tool
    def look(path: str, call: tx.CurrentCall) -> str:
        return path

    seen: list[Any] = []
    ctx = tx.Context([look], confirm="look", on_confirm=lambda function: kept(seen, function.arguments))

    assert "tmp" == settled(ctx, [{"id": "c1", "name": "look", "arguments": {"path": "tmp"}}]).value
    assert [{"path": "tmp"}] == seen


@pytest.mark.parametrize("how", ["in place", "another dict"])
def test_what_a_person_changes_runs_if_it_fits(how: str) -> None:
    def change(function: tx.Function) -> bool:
        to = "Bob" if function.arguments["to"] == "Ann" else 3
        if how == "in place":
            function.arguments["to"] = to
        else:
            function.arguments = {"amount": 1, "to": to}
        return True

    ctx = tx.Context([transfer], confirm="transfer", on_confirm=change)

    assert f"{60 if how == 'in place' else 1} to Bob: none" == settled(ctx, sent("openai")).value
    assert "bad_arguments" == settled(ctx, sent("openai", {"amount": 60, "to": "Eve"})).status


def test_what_is_put_off_keeps_what_the_model_sent_and_can_be_dumped() -> None:
    @tx.tool
    def book(day: dt.date) -> str:
        return day.isoformat()

    ctx = tx.Context([book], confirm="book", on_confirm=lambda function: tx.DEFER)
    settled(ctx, response("openai", [("book", {"day": "2026-05-01"}, "c1")]))
    ctx.dump()

    assert "2026-05-01" == ctx.approve("c1").wait(15).value


# Who fails, and who refuses and then forgets


@pytest.mark.parametrize("who", ["a predicate", "on_confirm", "the intercept"])
def test_the_model_is_told_in_words_and_the_log_what_was_raised(who: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(function: tx.Function) -> Any:
        raise LookupError("no row in db-7")

    options: dict[str, dict[str, Any]] = {
        "a predicate": {"confirm": fail},
        "on_confirm": {"confirm": "transfer", "on_confirm": fail},
        "the intercept": {"intercept": Sees(fail)},
    }
    ret = settled(tx.Context([transfer], **options[who]), sent("openai"))

    assert "denied" == ret.status
    assert "did not run" in ret.value["reason"]
    assert not any(word in str(ret.value) for word in ("LookupError", "raised", "on_confirm", "db-7"))
    assert "no row in db-7" in caplog.text


def test_a_predicate_that_gives_a_coroutine_has_not_said_yes_or_no(caplog: pytest.LogCaptureFixture) -> None:
    async def judge(function: tx.Function) -> bool:
        return False

    asked: list[tx.Function] = []
    ctx = tx.Context(
        [transfer],
        confirm=[lambda function: judge(function)],  # noqa: PLW0108 - no async function, to look at
        on_confirm=lambda function: kept(asked, function),
    )

    assert "denied" == settled(ctx, sent("openai")).status
    assert [] == asked
    assert "what may be async is on_confirm" in caplog.text


def test_a_judge_that_forgot_its_return_has_the_call_confirmed() -> None:
    @tx.tool
    def book(day: dt.date) -> str:
        return day.isoformat()

    def forgetful(function: tx.Function) -> None:
        assert function.name

    for confirmed, status in ((True, "ok"), (False, "denied")):
        asked: list[str] = []

        def ask(function: tx.Function, answer: bool = confirmed, asked: list[str] = asked) -> bool:
            asked.append(function.name)
            return answer

        ctx = tx.Context([book], confirm=forgetful, on_confirm=ask)
        ret = ctx.submit({"name": "book", "arguments": {"day": "2026-12-01"}}).wait(10)

        assert (status, ["book"]) == (ret.status, asked)


def test_what_is_put_off_keeps_what_the_model_sent_though_it_was_changed() -> None:
    @tx.tool
    def book(day: dt.date) -> str:
        return day.isoformat()

    said = {"day": "2026-12-01"}

    def change(function: tx.Function) -> Any:
        function.arguments["day"] = dt.date(2020, 1, 1)
        return tx.DEFER

    ctx = tx.Context([book], confirm="book", on_confirm=change)
    ctx.receive([{"id": "c1", "name": "book", "arguments": said}])
    ctx.wait(timeout=10)

    assert said == ctx.deferred[0].arguments
    assert ctx.dump()


@pytest.mark.parametrize(
    ("refuse", "status"),
    [
        (lambda function: function.deny("not Ann"), "denied"),
        (lambda function: function.cancel("not Ann"), "cancelled"),
    ],
)
@pytest.mark.parametrize("then", [None, True, False, tx.DEFER])
@pytest.mark.parametrize("who", ["confirm", "on_confirm", "the intercept", "an async on_confirm"])
def test_a_refusal_wins_over_what_is_said_after_it(who: str, then: Any, refuse: Any, status: str) -> None:
    def says(function: tx.Function) -> Any:
        refuse(function)
        return then

    async def asays(function: tx.Function) -> Any:
        return says(function)

    options: dict[str, dict[str, Any]] = {
        "confirm": {"confirm": says, "on_confirm": lambda function: True},
        "on_confirm": {"confirm": "transfer", "on_confirm": says},
        "an async on_confirm": {"confirm": "transfer", "on_confirm": asays},
        "the intercept": {"intercept": Sees(says)},
    }
    ret = settled(tx.Context([transfer], **options[who]), sent("openai"))

    assert (status, "not Ann") == (ret.status, ret.reason)


def test_a_refusal_before_a_call_is_started_says_nothing_about_its_start() -> None:
    ctx = tx.Context([transfer], confirm="transfer", on_confirm=lambda function: True)
    (function,) = ctx.receive(sent("openai"))
    function.cancel("not yet")

    assert "ok" == function.task("sequential").wait(15).status
