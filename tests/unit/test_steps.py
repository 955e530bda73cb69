"""The steps of a call: a decision that is awaited, further attempts, and what comes between them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec._control import CONTROL
from toolexec.testing import Gate, ManualClock


class Awaited(tx.Intercept):
    @classmethod
    async def call(cls, *, function: tx.Function, **options: Any) -> None:
        await asyncio.sleep(0)


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"c{place}", "name": name, "arguments": {}} for place, name in enumerate(names)]


@tx.tool
def fine() -> str:
    return "fine"


@pytest.mark.parametrize("strategy", [None, "thread", "sequential", "asyncio"])
@pytest.mark.parametrize("window", [None, 1])
def test_a_decision_may_be_awaited_about_a_tool_that_is_not_there(strategy: str | None, window: int | None) -> None:
    ctx = tx.Context(tools=[fine], intercept=Awaited)
    ctx.receive(calls("made_up", "fine", "made_up"))

    statuses = [ret.status for ret in ctx.wait(strategy, window=window)]

    assert ["unknown_tool", "ok", "unknown_tool"] == statuses


class LateClock(ManualClock):
    """Its timers are on their way already when they are cancelled, as those of a loop in another thread may be."""

    def __init__(self) -> None:
        super().__init__()
        self.set: list[Callable[[], object]] = []

    def call_at(self, when: float, call: Callable[[], object]) -> Callable[[], None]:
        self.set.append(call)
        return super().call_at(when, call)


def test_the_time_of_one_attempt_does_not_end_the_next() -> None:
    clock = LateClock()
    attempts: list[int] = []

    def body() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError
        first, *_ = clock.set
        clock.advance(4)
        first()  # over at 5 s after its own start, it comes at last
        CONTROL.catch_up()
        tx.checkpoint()
        return "kept its time"

    slow = tx.Function("slow", idempotent=True, timeout=5)
    slow.define(body)
    ctx = tx.Context(tools=[slow], clock=clock, retry=tx.Retry(backoff=0))
    ctx.receive(calls("slow"))

    (ret,) = ctx.wait("thread")

    assert ("ok", 2) == (ret.status, ret.attempts)


def test_what_hangs_between_two_attempts_is_left_behind_within_grace(tmp_path: Path) -> None:
    @tx.tool(idempotent=True)
    def bad() -> None:
        raise ValueError("no")

    with Gate(tmp_path / "gate") as gate, tx.strategy("thread", grace=0.05) as strategy:

        def backoff(made: int) -> float:
            Gate(gate.path).pass_through()
            return 0

        ctx = tx.Context(tools=[bad], retry=tx.Retry(backoff=backoff))
        ctx.receive(calls("bad"))
        group = ctx.group(strategy)
        gate.wait_until_reached()
        group.interrupt("enough")

        (ret,) = group.wait(20)

        assert ("cancelled", "enough", True, 1) == (ret.status, ret.reason, ret.abandoned, ret.attempts)
        gate.open()


def test_what_comes_between_two_attempts_blocks_no_loop() -> None:
    waiting, passed = threading.Event(), threading.Event()
    attempts: list[int] = []

    @tx.tool(idempotent=True)
    async def bad() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("no")
        return "fine"

    @tx.tool
    async def other() -> str:
        assert waiting.wait(20)
        passed.set()
        return "went on"

    def backoff(made: int) -> float:
        waiting.set()
        return 0 if passed.wait(20) else 1000

    async def main() -> list[tx.Return]:
        ctx = tx.Context(tools=[bad, other], retry=tx.Retry(backoff=backoff))
        ctx.receive(calls("bad", "other"))
        return list(await ctx.run("asyncio"))

    assert ["fine", "went on"] == [ret.value for ret in asyncio.run(main())]


def test_an_attempt_that_is_late_asks_nobody_about_another() -> None:
    asked: list[int] = []

    def backoff(made: int) -> float:
        asked.append(made)
        return 0

    clock = ManualClock()
    over = threading.Event()

    def stubborn() -> str:
        while not over.is_set():
            try:
                over.wait(20)
            except tx.Interrupt:
                continue
        return "late"

    fn = tx.Function("stubborn", idempotent=True, timeout=1)
    fn.define(stubborn)
    with tx.strategy("thread", grace=0.05) as strategy:
        ctx = tx.Context(tools=[fn], clock=clock, retry=tx.Retry(backoff=backoff))
        ctx.receive(calls("stubborn"))
        group = ctx.group(strategy)
        clock.wait_for_timers(1)
        clock.advance(1)
        clock.wait_for_timers(1)
        clock.advance(1)
        (ret,) = group.wait(20)
        over.set()
    CONTROL.catch_up()

    assert ("timeout", True, 1) == (ret.status, ret.abandoned, ret.attempts)
    assert not asked


def test_an_intercept_whose_after_cannot_even_be_read_withholds_the_result() -> None:
    class Odd:
        read = 0

        def call(self, *, function: tx.Function) -> None: ...

        @property
        def after(self) -> Any:
            self.read += 1
            if self.read > 1:  # the first time it is looked at, by the Context
                raise RuntimeError("not now")

    ctx = tx.Context(tools=[fine], intercept=Odd())
    ctx.receive(calls("fine"))

    (ret,) = ctx.wait("thread", timeout=20)

    assert "raised" == ret.status
    assert "RuntimeError" in str(ret.exception)
