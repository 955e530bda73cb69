"""What a turn may spend, when it goes round in circles, and what is attempted again: under every strategy."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolexec as tx
from supervised_tools import Place, turn


async def approve(function: tx.Function) -> bool:
    await turn()
    return True


# Nobody has a say beside the limit; or each call has to be approved as well, which takes its time.
COMPANY: dict[str, dict[str, Any]] = {"alone": {}, "confirmed": {"confirm": lambda _: True, "on_confirm": approve}}
in_company = pytest.mark.parametrize("company", COMPANY)


class TestBudget:
    @in_company
    def test_so_many_calls_of_a_turn_run_and_the_next_turn_begins_anew(self, place: Place, company: str) -> None:
        ctx = place.context(budget=3, **COMPANY[company])
        calls = [("send", "ok"), ("asend", "fail"), ("read", "ok"), ("aread", "ok")]
        story = place.tell(ctx, *calls)
        spent = len(story.returns) - 3

        assert ["ok", "raised", "ok", *["budget"] * spent] == story.statuses
        assert [1, 1, 1, *[0] * spent] == story.bodies
        assert "you are making too many tool calls" == story.returns[-1].reason
        assert {"action", "advice", "cancelled", "reason"} == story.returns[-1].value.keys()
        assert set(place.tell(ctx, *calls).statuses) == {"budget"}
        ctx.next_turn()
        assert ["ok", "raised", "ok", *["budget"] * spent] == place.tell(ctx, *calls).statuses

    @in_company
    def test_a_tool_may_have_its_own_bound(self, place: Place, company: str) -> None:
        per_tool = {**dict.fromkeys(place.names("send"), 1), **dict.fromkeys(place.names("aread"), 0)}
        ctx = place.context(budget=tx.Budget(per_tool=per_tool), **COMPANY[company])
        story = place.tell(ctx, ("send", "ok"), ("aread", "ok"), ("send", "ok"), ("asend", "ok"))

        assert place.each("ok", "budget", "budget", "ok") == story.statuses
        assert place.each(1, 0, 0, 1) == story.bodies

    def test_a_call_that_is_refused_by_others_counts_too(self, place: Place) -> None:
        ctx = place.context(budget=len(place.each(1, 1)), confirm=place.names("send"))
        story = place.tell(ctx, ("send", "ok"), ("aread", "ok"))

        assert place.each("denied", "ok") == story.statuses
        assert {"budget"} == set(place.tell(ctx, ("send", "ok"), ("aread", "ok")).statuses)


class TestGuard:
    @in_company
    def test_a_pattern_of_calls_is_stopped_at_the_third_time(self, place: Place, company: str) -> None:
        ctx = place.context(guard=True, **COMPANY[company])
        calls = [("send", "ok", "one"), ("aread", "fail", "two")]
        stories = [place.tell(ctx, *calls) for _ in range(4)]

        assert [place.each("ok", "raised")] * 2 + [place.each("budget", "budget")] * 2 == [s.statuses for s in stories]
        assert [2 * len(place.strategies)] * 2 == place.bodies("one", "two"), "what was stopped did not run"
        assert "the same calls were asked for 3 times in a row" in str(stories[2].returns[0].reason)
        assert place.each("ok") == place.tell(ctx, ("send", "ok", "other")).statuses
        assert place.each("ok", "raised") == place.tell(ctx, *calls).statuses
        ctx.next_turn()
        assert [place.each("ok", "raised")] * 2 == [place.tell(ctx, *calls).statuses for _ in range(2)]

    def test_arguments_are_compared_as_json_values(self, place: Place) -> None:
        ctx = place.context(guard=tx.LoopGuard(threshold=2))
        first, again = place.calls(("send", "ok", "one")), place.calls(("send", "ok", "one"))
        for record in again:
            record["arguments"] = json.dumps(dict(reversed(record["arguments"].items())), indent=3)
        returns = [place.settle(ctx.receive(records).group) for records in (first, again)]

        assert [place.each("ok"), place.each("budget")] == [[ret.status for ret in some] for some in returns]

    @pytest.mark.parametrize(
        ("warning", "reason"),
        [
            (lambda ctx: f"stop after {len(ctx.calls)}", "stop after 4"),
            (lambda ctx: True, "the guard has stopped these calls"),
            (lambda ctx: 1 / 0, "whether these calls may run could not be decided, so they did not run"),
            (lambda ctx: None, None),
        ],
        ids=["says why", "says no", "raises", "says nothing"],
    )
    def test_a_guard_of_ones_own_is_asked_once_for_all_calls(
        self, place: Place, warning: Any, reason: str | None
    ) -> None:
        class Guard:
            asked = 0

            def call(self, context: tx.Context) -> Any:
                self.asked += 1
                return warning(context)

        guard = Guard()
        story = place.tell(place.context(guard=guard), ("send", "ok"), ("asend", "ok"), ("read", "ok"), ("aread", "ok"))

        assert 1 == guard.asked
        assert {"ok" if reason is None else "budget"} == set(story.statuses)
        assert [0 if reason else 1] * len(story.bodies) == story.bodies
        if reason is not None:
            assert {reason.replace("4", str(len(story.returns)))} == {ret.reason for ret in story.returns}


AGAIN = tx.Retry(attempts=3, backoff=0)


class TestRetry:
    @in_company
    def test_a_tool_that_may_run_twice_is_attempted_until_it_is_through(self, place: Place, company: str) -> None:
        ctx = place.context({"idempotent": True}, retry=AGAIN, **COMPANY[company])
        story = place.tell(ctx, ("send", "fail twice"), ("asend", "fail twice"), ("read", "fail"), ("aread", "ok"))

        assert place.each("ok", "ok", "raised", "ok") == story.statuses
        assert place.each(3, 3, 3, 1) == story.bodies == [ret.attempts for ret in story.returns]

    def test_no_other_tool_runs_twice_and_a_tool_error_is_an_answer(self, place: Place) -> None:
        story = place.tell(place.context(retry=AGAIN), ("send", "fail twice"), ("asend", "fail"))
        assert place.each("raised", "raised") == story.statuses
        assert place.each(1, 1) == story.bodies == [ret.attempts for ret in story.returns]

        ctx = place.context({"idempotent": True}, retry=AGAIN)
        story = place.tell(ctx, ("read", "give up"), ("aread", "give up"))
        assert place.each("raised", "raised") == story.statuses
        assert place.each(1, 1) == story.bodies == [ret.attempts for ret in story.returns]

    def test_only_what_it_is_for_is_attempted_again_and_so_often(self, place: Place) -> None:
        made: list[int] = []

        def backoff(attempts: int) -> float:
            made.append(attempts)
            return 0.001 * attempts

        ctx = place.context({"idempotent": True}, retry=tx.Retry(attempts=2, on=[ValueError], backoff=backoff))
        story = place.tell(ctx, ("send", "fail twice"), ("aread", "give up"), ("asend", "fail twice"))
        assert place.each("raised", "raised", "raised") == story.statuses
        assert place.each(2, 1, 2) == story.bodies
        assert place.each(1, 1) == made

        ctx = place.context({"idempotent": True}, retry=tx.Retry(on=["timeout", "lost"]))
        assert place.each(1) == place.tell(ctx, ("send", "fail twice")).bodies

    def test_a_call_whose_own_time_was_over_has_all_of_it_again(self, place: Place) -> None:
        ctx = place.context({"idempotent": True, "timeout": 0.15}, retry=tx.Retry(attempts=2, on="timeout", backoff=0))
        story = place.tell(ctx, ("send", "hang first"), ("asend", "hang first"), ("aread", "hang"))

        assert place.each("ok", "ok", "timeout") == story.statuses
        assert place.each(2, 2, 2) == story.bodies == [ret.attempts for ret in story.returns]

    def test_a_backoff_that_fails_ends_the_matter(self, place: Place) -> None:
        ctx = place.context({"idempotent": True}, retry=tx.Retry(backoff=lambda made: -1))
        story = place.tell(ctx, ("send", "fail twice"), ("aread", "fail twice"))

        assert place.each("raised", "raised") == story.statuses
        assert place.each(1, 1) == story.bodies

    def test_a_worker_that_is_lost_with_its_call_is_replaced(self, place: Place) -> None:
        if "fork" not in place.strategies:
            pytest.skip("its tools share their caller's fate")
        lone = Place(["fork"], place.driver, place.folder)
        ctx = lone.context({"idempotent": True}, retry=AGAIN)
        story = lone.tell(ctx, ("send", "die first"), ("asend", "die first"), ("read", "die"), ("aread", "ok"))
        assert ["ok", "ok", "lost", "ok"] == story.statuses
        assert [2, 2, 3, 1] == story.bodies == [ret.attempts for ret in story.returns]

        lone = Place(["fork"], place.driver, place.folder)
        story = lone.tell(lone.context(retry=AGAIN), ("send", "die first", "alone"), ("aread", "ok", "beside"))
        assert (["lost", "ok"], [1, 1]) == (story.statuses, story.bodies)
