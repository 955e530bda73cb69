"""A Ctrl-C anywhere in the engine: every claimed call is answered, and nothing stays held."""

from __future__ import annotations

import itertools
import sys
import types
from typing import Any

import pytest

import toolexec as tx
from toolexec._group import LIVE
from toolexec.lowlevel import Job, Outcome, Strategy


@tx.tool(max_in_flight=1, resource="test-ctrl-c")
def one() -> int:
    return 1


class Pressed(tx.Tracer):
    """Somebody presses Ctrl-C while this is told of a call; once."""

    def __init__(self, moment: str) -> None:
        self.moment = moment

    def _press(self, moment: str) -> None:
        if moment == self.moment:
            self.moment = "never again"
            raise KeyboardInterrupt

    def on_tool_start(self, function: tx.Function) -> None:
        self._press("start")

    def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
        self._press("finish")

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        self._press("error")


def received(tracer: tx.Tracer | None, *names: str) -> tuple[tx.Context, tx.Functions]:
    ctx = tx.Context([one], tracer=tracer)
    return ctx, ctx.receive([{"id": f"{name}-{place}", "name": name} for place, name in enumerate(names)])


def tasks_of(fns: tx.Functions) -> list[tx.Task]:
    return [fn._task for fn in fns if fn._task is not None]


def check_nothing_is_held() -> None:
    """The tool's limit is free again, and no Group is kept."""
    for strategy in ("sequential", "thread"):
        assert [1, 1] == [ret.value for ret in received(None, "one", "one")[0].wait(strategy, timeout=5)]


@pytest.mark.parametrize("moment", ["start", "finish"])
def test_while_a_call_settles_on_the_waiters_thread(moment: str) -> None:
    ctx, fns = received(Pressed(moment), "one", "one")
    with pytest.raises(KeyboardInterrupt):
        ctx.wait("sequential")

    tasks = tasks_of(fns)
    assert 2 == len(tasks)
    for task in tasks:
        task.wait(5)
    assert tasks[0]._group not in LIVE
    check_nothing_is_held()


class Lets(tx.Intercept):
    """Has no objection."""

    @classmethod
    def call(cls, *args: Any, **kwargs: Any) -> None:
        pass


@pytest.mark.parametrize("intercept", [None, Lets])
def test_after_any_step_of_settling_a_call(intercept: type[tx.Intercept] | None) -> None:
    """A signal's handler runs after a call from one function to another, and what came out of it is gone then."""
    for number in itertools.count():
        steps, pressed = itertools.count(), []

        def press(frame: types.FrameType, event: str, _: object) -> None:
            if event not in ("return", "c_return") or frame.f_globals["__name__"] != "toolexec._task":
                return
            if frame.f_code.co_name in ("_come_to", "_last_word", "_publish") and next(steps) == number:  # noqa: B023 - of this round
                pressed.append(event)  # noqa: B023 - likewise
                raise KeyboardInterrupt

        ctx = tx.Context([one], intercept=intercept)
        fns = ctx.receive([{"name": "one"}] * 2)
        sys.setprofile(press)
        try:
            ctx.wait("sequential")
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)

        assert 2 == len([task.wait(5) for task in tasks_of(fns)])
        if not pressed:
            break
    assert number > 4


def test_while_refused_calls_are_answered_at_the_launch() -> None:
    ctx, fns = received(Pressed("error"), "gone", "gone", "one")
    with pytest.raises(KeyboardInterrupt):
        ctx.group("thread")

    assert ["unknown_tool", "unknown_tool", "cancelled"] == [task.wait(5).status for task in tasks_of(fns)]
    check_nothing_is_held()


class PressedInStart(Strategy):
    """Runs calls inline; at the second somebody presses Ctrl-C."""

    name = "pressed"
    default_window = None

    def __init__(self) -> None:
        super().__init__()
        self.started = 0

    def start(self, job: Job) -> None:
        self.started += 1
        if self.started == 2:
            raise KeyboardInterrupt
        job.begin()
        outcome = job.body()
        assert isinstance(outcome, Outcome)
        job.deliver(outcome)


@tx.tool
def free() -> int:
    return 1


@pytest.mark.parametrize("window", [None, 3])
def test_while_calls_are_started(window: int | None) -> None:
    ctx = tx.Context([free])
    fns = ctx.receive([{"name": "free"}] * 4)
    mine = PressedInStart()
    with pytest.raises(KeyboardInterrupt):
        ctx.group(mine, window=window)

    returns = [task.wait(5) for task in tasks_of(fns)]
    assert "ok" == returns[0].status
    assert ["cancelled"] * 3 == [ret.status for ret in returns[1:]]
    assert not mine._owners()
    assert 2 == mine.started
