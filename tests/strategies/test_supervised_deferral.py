"""Calls that are put off until somebody settles them: under every strategy, however they are waited for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from supervised_tools import LONG_S, Place, turn


class PutsOff(tx.Intercept):
    @classmethod
    def call(cls, *, function: tx.Function) -> Any:
        return tx.DEFER if "send" in function.name else None


def put_off(function: tx.Function) -> Any:
    return tx.DEFER


async def aput_off(function: tx.Function) -> Any:
    await turn()
    return tx.DEFER


def options(who: str, place: Place) -> dict[str, Any]:
    if who == "intercept":
        return {"intercept": PutsOff}
    return {"confirm": place.names("send", "asend"), "on_confirm": put_off if who == "confirm" else aput_off}


by_whom = pytest.mark.parametrize("who", ["intercept", "confirm", "async confirm"])
VERSE = (("send", "ok"), ("read", "ok"), ("asend", "ok"), ("asend", "fail"))


def ids(place: Place, ctx: tx.Context) -> list[str]:
    return [str(function.id) for function in ctx.deferred]


class TestDeferral:
    @by_whom
    def test_a_deferred_call_has_no_answer_for_the_model_until_it_is_settled(self, place: Place, who: str) -> None:
        ctx = place.context(**options(who, place))
        story = place.tell(ctx, *VERSE)

        assert place.each("deferred", "ok", "deferred", "deferred") == story.statuses
        assert place.each(0, 1, 0, 0) == story.bodies
        deferred = [ret for ret in story.returns if ret.status == "deferred"]
        assert {(False, False, False)} == {(ret.ok, ret.error, ret.cancelled) for ret in deferred}
        assert [{"deferred": True}] * len(deferred) == [ret.value for ret in deferred]
        assert [ret.id for ret in deferred] == ids(place, ctx)
        assert not ctx.pending_functions
        for render in (ctx.messages, ctx.turn, ctx.history):
            with pytest.raises(tx.ToolexecError, match=re.escape(", ".join(map(repr, ids(place, ctx))))):
                render("openai")

    @by_whom
    def test_each_way_to_settle_it_gives_it_its_return_in_its_place(self, place: Place, who: str) -> None:
        ctx = place.context(**options(who, place))
        place.tell(ctx, *VERSE)
        waiting = iter(ids(place, ctx))
        for approved, denied, failing in zip(waiting, waiting, waiting, strict=True):
            ret = place.settle(lambda approved=approved: ctx.approve(approved))  # type: ignore[misc]  # bound at once
            assert ("ok", f"{approved}: ok") == (ret.status, ret.value)
            assert ("denied", "not now") == ((ret := ctx.deny(denied, "not now", until="noon")).status, ret.reason)
            assert {"cancelled": True, "denied": True, "reason": "not now", "until": "noon"} == ret.value
            assert "raised" == place.settle(lambda failing=failing: ctx.approve(failing)).status  # type: ignore[misc]  # likewise

        returns = place.wait(ctx)
        assert place.each("ok", "ok", "denied", "raised") == [ret.status for ret in returns]
        assert returns == ctx.returns
        assert place.each(1, 1, 0, 1) == place.bodies(*(str(ret.id) for ret in returns))
        assert not ctx.deferred
        assert [ret.id for ret in returns] == [message["tool_call_id"] for message in ctx.messages("openai")]
        for ret in returns:
            before = ["start", "error"] if "send" in ret.name else []
            assert [*before, "start", "finish" if ret.ok else "error"] == place.tracer.of(ret.id)

    @by_whom
    def test_an_answer_is_as_if_the_tool_had_given_it(self, place: Place, who: str) -> None:
        ctx = place.context(**options(who, place))
        place.tell(ctx, *VERSE)
        for call in ids(place, ctx):
            assert ctx.answer(call, ["by", "hand"]).ok

        assert place.each(["by", "hand"], None, ["by", "hand"], ["by", "hand"]) == [
            ret.value if "send" in ret.name else None for ret in place.wait(ctx)
        ]
        assert place.each(0, 1, 0, 0) == place.bodies(*(str(ret.id) for ret in ctx.returns))

    def test_what_is_settled_is_settled(self, place: Place) -> None:
        ctx = place.context(confirm=place.names("send", "asend"), on_confirm=put_off)
        place.tell(ctx, *VERSE)
        first, second, third, *_ = ids(place, ctx)
        place.settle(lambda: ctx.approve(first))
        ctx.deny(second)
        ctx.answer(third, 3)
        again: list[Callable[[str], Any]] = [ctx.approve, ctx.deny, lambda call: ctx.answer(call, 4)]

        for call, status in ((first, "ok"), (second, "denied"), (third, "ok")):
            for settle in again:
                with pytest.raises(tx.ToolexecError, match=f"{call!r} is not deferred: its Return is {status!r}"):
                    settle(call)
        with pytest.raises(TypeError, match="3 is no call; it takes an id"):
            ctx.approve(3)  # type: ignore[arg-type]  # what a user may write
        with pytest.raises(tx.ToolexecError, match="no call has the id 'nobody'; deferred are: "):
            ctx.approve("nobody") if len(ids(place, ctx)) else ctx.deny("nobody")
        assert [1, 0, 0] == place.bodies(first, second, third)

    @pytest.mark.parametrize("again", ["wait", "group"])
    def test_an_approved_call_is_waited_for_like_the_others(self, place: Place, again: str) -> None:
        ctx = place.context(confirm=place.names("send", "asend"), on_confirm=put_off)
        place.tell(ctx, *VERSE)

        def approve_all() -> list[tx.Task]:
            return [ctx.approve(function) for function in list(ctx.deferred)]

        if place.driver == "sync":
            tasks = approve_all()
            returns = ctx.wait(timeout=LONG_S) if again == "wait" else ctx.group().wait(LONG_S) or ctx.wait()
        else:

            async def main() -> tuple[tx.Return, ...]:
                tasks.extend(approve_all())
                return await ctx.run() if again == "wait" else (await ctx.group() or await ctx.run())

            tasks = []
            returns = place.run(main)

        assert place.each("ok", "ok", "ok", "raised") == [ret.status for ret in returns]
        assert place.each(1, 1, 1, 1) == place.bodies(*(str(ret.id) for ret in returns))
        assert [ret for ret in returns if "send" in ret.name] == [task.wait(0) for task in tasks]

    def test_a_submitted_call_is_settled_by_itself(self, place: Place) -> None:
        ctx = place.context(intercept=PutsOff, budget=len(place.each(1, 1)))
        for record in place.calls(("send", "ok"), ("asend", "ok")):
            tasks: list[tx.Task] = []

            def submit(record: Any = record, tasks: list[tx.Task] = tasks) -> tx.Task:
                tasks.append(ctx.submit(record))
                return tasks[0]

            assert "deferred" == place.settle(submit).status
            function = tasks[0].function
            assert [record["id"]] == ids(place, ctx)
            ret = place.settle(lambda record=record: ctx.approve(record["id"]))  # type: ignore[misc]  # bound at once
            assert f"{record['id']}: ok" == ret.value
            with pytest.raises(tx.ToolexecError, match="its Return is 'ok'"):
                ctx.approve(function)
            assert "deferred" == tasks[0].wait(0).status, "what a Task has given it gives for ever"
        assert ctx.messages() == []
