"""Who is asked whether a call may run, and who sees what it came to: under every strategy, however it is waited for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import toolexec as tx
from supervised_tools import Place, turn
from toolexec.lowlevel import running_loop

# What on_confirm and an intercept may say of a call, by its fate: what then becomes of it, and how many bodies run.
SAID: dict[str, tuple[Callable[[tx.Function], Any], str, int]] = {
    "nothing": (lambda function: None, "denied", 0),
    "yes": (lambda function: True, "ok", 1),
    "no": (lambda function: False, "denied", 0),
    "by hand": (lambda function: function.return_("by hand"), "ok", 0),
    "failed": (lambda function: function.error(LookupError("not there")), "raised", 0),
    "denied": (lambda function: function.deny("not today"), "denied", 0),
    "spent": (lambda function: function.budget_spent(), "budget", 0),
    "later": (lambda function: tx.DEFER, "deferred", 0),
    "odd": (lambda function: "yes", "denied", 0),
    "raises": (lambda function: 1 / 0, "denied", 0),
}
# An intercept has nothing to say where on_confirm says True.
BY_INTERCEPT = {**SAID, "nothing": (SAID["nothing"][0], "ok", 1), "yes": (SAID["yes"][0], "denied", 0)}

both_kinds = pytest.mark.parametrize("kind", ["sync", "async"])


class Asked:
    """Somebody who is asked about calls; keeps about which, and in which loop."""

    def __init__(self, says: Callable[[tx.Function], Any]) -> None:
        self.about: list[str | None] = []
        self.loops: set[str | None] = set()
        self._says = says

    def sync(self, function: tx.Function) -> Any:
        self.about.append(function.id)
        self.loops.add(running_loop())
        return self._says(function)

    async def async_(self, function: tx.Function) -> Any:
        self.about.append(function.id)
        await turn()
        self.loops.add(running_loop())
        return self._says(function)

    def as_(self, kind: str) -> Callable[[tx.Function], Any]:
        return self.sync if kind == "sync" else self.async_

    def check(self, place: Place, kind: str, ids: list[str | None]) -> None:
        """It was asked about these, once each, where its caller was."""
        here = None if place.driver == "sync" else place.driver
        assert {here if kind == "sync" else here or "asyncio"} == self.loops
        assert ids == self.about if kind == "sync" else sorted(map(str, ids)) == sorted(map(str, self.about))


def fate(function: tx.Function) -> str:
    given: str = function.arguments["fate"]
    return given


def verse(fates: Any) -> list[tuple[str, str]]:
    """A call for each fate, of a sync tool and an async one in turn."""
    return [(("send", "asend")[number % 2], fate) for number, fate in enumerate(fates)]


class TestConfirm:
    def test_without_anybody_to_ask_a_call_to_be_confirmed_is_denied(self, place: Place) -> None:
        ctx = place.context(confirm=place.names("send", "asend"))
        story = place.tell(ctx, ("send", "ok"), ("read", "ok"), ("aread", "ok"), ("asend", "ok"))

        assert place.each("denied", "ok", "ok", "denied") == story.statuses
        assert place.each(0, 1, 1, 0) == story.bodies
        for ret in story.returns:
            assert ret.ok or (ret.value["denied"], ret.cancelled, ret.strategy) == (True, True, None)

    @both_kinds
    def test_what_is_said_is_what_becomes_of_the_call(self, place: Place, kind: str) -> None:
        asked = Asked(lambda function: SAID[fate(function)][0](function))
        ctx = place.context(confirm=place.names("send", "asend"), on_confirm=asked.as_(kind))
        story = place.tell(ctx, *verse(SAID), ("read", "ok"))

        assert place.each(*(status for _, status, _ in SAID.values()), "ok") == story.statuses
        assert place.each(*(bodies for *_, bodies in SAID.values()), 1) == story.bodies
        size = len(SAID) + 1
        asked.check(place, kind, [ret.id for n, ret in enumerate(story.returns) if (n + 1) % size])
        told = story.returns[list(SAID).index("raises")]
        assert (told.reason, told.value["reason"]) == (
            "whether this call may run could not be decided, so it did not run",
        ) * 2
        assert ("by hand", "not today") == (story.returns[3].value, story.returns[5].reason)

    def test_names_and_functions_that_judge_stand_together(self, place: Place) -> None:
        def judge(function: tx.Function) -> bool:
            if fate(function) == "unclear":
                raise LookupError("who knows")
            return fate(function) == "risky"

        asked = Asked(lambda function: True)
        ctx = place.context(confirm=[*place.names("send"), judge], on_confirm=asked.sync)
        story = place.tell(ctx, ("send", "ok"), ("aread", "risky"), ("read", "ok"), ("aread", "unclear"))

        assert place.each("ok", "ok", "ok", "denied") == story.statuses
        assert place.each(1, 1, 1, 0) == story.bodies
        asked.check(place, "sync", [ret.id for n, ret in enumerate(story.returns) if n % 4 < 2])
        assert "could not be decided" in str(story.returns[3].reason)

    @both_kinds
    def test_nobody_is_asked_about_a_call_that_could_not_run(self, place: Place, kind: str) -> None:
        asked = Asked(lambda function: True)
        ctx = place.context(confirm=lambda function: function.arguments["label"] != "", on_confirm=asked.as_(kind))
        records = place.calls(("send", "ok"), ("asend", "ok"))
        for record in records[::2]:
            del record["arguments"]["label"]
        returns = place.settle(ctx.receive([*records, {"id": "x", "name": "nobody", "arguments": {}}]).group)

        assert [*place.each("bad_arguments", "ok"), "unknown_tool"] == [ret.status for ret in returns]
        asked.check(place, kind, [record["id"] for record in records[1::2]])
        place.check_traces(returns)


class Watch(tx.Intercept):
    """Says of a call what its fate says, and keeps what it saw."""

    options: ClassVar = {"word": "changed"}
    asked: ClassVar[Asked]
    seen: ClassVar[list[tuple[str | None, str]]]

    @classmethod
    def call(cls, *, function: tx.Function, word: str) -> Any:
        return cls.asked.sync(function)

    @classmethod
    def after(cls, *, function: tx.Function, ret: tx.Return, word: str) -> Any:
        assert function.id == ret.id
        cls.seen.append((ret.id, ret.status))
        return None


class AsyncWatch(Watch):
    @classmethod
    async def call(cls, *, function: tx.Function, word: str) -> Any:
        return await cls.asked.async_(function)


def watching(kind: str, says: Callable[[tx.Function], Any]) -> type[Watch]:
    made: type[Watch] = type("Watching", (Watch if kind == "sync" else AsyncWatch,), {"asked": Asked(says), "seen": []})
    return made


class TestIntercept:
    @both_kinds
    def test_what_it_says_before_is_what_becomes_of_the_call(self, place: Place, kind: str) -> None:
        watch = watching(kind, lambda function: BY_INTERCEPT[fate(function)][0](function))
        story = place.tell(place.context(intercept=watch), *verse(BY_INTERCEPT))

        assert place.each(*(status for _, status, _ in BY_INTERCEPT.values())) == story.statuses
        assert place.each(*(bodies for *_, bodies in BY_INTERCEPT.values())) == story.bodies
        watch.asked.check(place, kind, [ret.id for ret in story.returns])
        told = story.returns[list(BY_INTERCEPT).index("raises")]
        assert "this call could not be checked (by 'Watching'), so it did not run" == told.reason

    @both_kinds
    def test_arguments_that_it_changes_are_validated_and_confirmed_as_changed(self, place: Place, kind: str) -> None:
        def change(function: tx.Function) -> None:
            wanted = fate(function)
            function.arguments = {**function.arguments, "fate": 3 if wanted == "wrong" else f"{wanted} changed"}

        watch, asked = watching(kind, change), Asked(lambda function: fate(function) == "well changed")
        ctx = place.context(intercept=watch, confirm=place.names("send", "asend"), on_confirm=asked.as_(kind))
        story = place.tell(ctx, ("send", "well"), ("asend", "wrong"), ("asend", "ill"), ("read", "well"))

        assert place.each("ok", "bad_arguments", "denied", "ok") == story.statuses
        assert place.each(1, 0, 0, 1) == story.bodies
        assert story.returns[0].value.endswith(": well changed")
        asked.check(place, kind, [ret.id for n, ret in enumerate(story.returns) if n % 4 in (0, 2)])

    @both_kinds
    def test_it_sees_each_return_once_but_those_that_are_deferred(self, place: Place, kind: str) -> None:
        watch = watching(kind, lambda function: tx.DEFER if fate(function) == "later" else None)
        ctx = place.context(intercept=watch, confirm=place.names("send"))
        story = place.tell(ctx, ("aread", "ok"), ("read", "fail"), ("aread", "later"), ("send", "ok"))

        assert place.each("ok", "raised", "deferred", "denied") == story.statuses
        assert sorted((str(ret.id), ret.status) for ret in story.returns if ret.status != "deferred") == sorted(
            watch.seen
        )

    @both_kinds
    def test_what_it_gives_after_is_what_everybody_sees(self, place: Place, kind: str) -> None:
        class Rewriting(watching(kind, lambda function: None)):  # type: ignore[misc]  # a class made anew
            @classmethod
            def after(cls, *, function: tx.Function, ret: tx.Return, word: str) -> Any:
                given = fate(function)
                if given == "failing":
                    raise LookupError("secret")
                if given == "late":  # its body has run: to approve it would run that once more
                    return dataclasses.replace(ret, status="deferred")
                return {"hidden": function.return_("hidden"), "fail": function.deny("no"), "odd": "hidden"}.get(given)

        ctx = place.context(intercept=Rewriting)
        story = place.tell(
            ctx, ("read", "hidden"), ("aread", "fail"), ("send", "odd"), ("asend", "failing"), ("read", "late")
        )

        assert place.each("ok", "denied", "raised", "raised", "raised") == story.statuses
        assert place.each(1, 1, 1, 1, 1) == story.bodies
        assert "hidden" == story.returns[0].value
        assert ctx.returns == story.returns
        assert not ctx.deferred
        for ret in story.returns[2::5] + story.returns[3::5] + story.returns[4::5]:
            assert "withheld" in ret.value["message"]
            assert "secret" not in str(ret.value)
