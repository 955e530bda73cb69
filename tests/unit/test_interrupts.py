"""Asking calls to stop, and the ladder from there to their Returns, step by step."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from toolexec import _opening
from toolexec._call_state import Ask
from toolexec._control import CONTROL
from toolexec.lowlevel import Job, Outcome
from toolexec.testing import FakeStrategy, ManualClock
from toolexec.testing import _tools as tools

GRACE = 4.0


class Fakes:
    """A few calls in a fake strategy, by a clock that is moved by hand."""

    def __init__(
        self, count: int = 1, *, window: int | None = None, killable: bool = False, grace: float = GRACE
    ) -> None:
        self.clock = ManualClock()
        self.strategy = FakeStrategy(grace=grace, killable=killable)
        self.context = tx.Context([tools.add], strategy=self.strategy, clock=self.clock)
        self.functions = self.context.receive(
            [{"id": f"c{n}", "name": "add", "arguments": {"a": n}} for n in range(count)]
        )
        self.group = self.functions.group(window=window)
        self.tasks = self.group.tasks

    def signs(self, count: int) -> list[str]:
        return [f"{sign.kind} {sign.job.id}" for sign in (self.strategy.next_sign() for _ in range(count))]

    def no_sign(self) -> bool:
        """Whether nothing was said, once the control thread has done all it was given before."""
        reached = threading.Event()
        CONTROL.post(reached.set)
        assert reached.wait(10)
        return self.strategy._signs.empty()


def test_the_ladder_has_its_rungs_at_fixed_parts_of_the_grace() -> None:
    fakes = Fakes()
    assert fakes.strategy.next_job().begin()
    fakes.group.interrupt("enough")
    assert ["ask c0"] == fakes.signs(1)
    fakes.clock.wait_for_timers(3)

    fakes.clock.advance(GRACE * 0.75 - 0.01)
    assert fakes.no_sign()
    fakes.clock.advance(0.01)
    assert ["stop c0"] == fakes.signs(1)
    fakes.clock.advance(GRACE * 0.25 - 0.01)
    assert fakes.no_sign()
    assert fakes.group.alive
    fakes.clock.advance(0.01)
    assert ["kill c0", "leave c0"] == fakes.signs(2)

    (ret,) = fakes.group.wait()
    assert ("cancelled", "enough", True, GRACE) == (ret.status, ret.reason, ret.abandoned, ret.duration_s)
    assert {"cancelled": True, "reason": "enough", "abandoned": True} == ret.value
    assert 0 == fakes.clock.timers


def test_asking_again_never_restarts_the_grace() -> None:
    fakes = Fakes()
    assert fakes.strategy.next_job().begin()
    fakes.group.interrupt("first")
    fakes.clock.wait_for_timers(3)
    fakes.clock.advance(GRACE - 1)
    fakes.group.interrupt("second")
    fakes.tasks[0].interrupt("third")
    fakes.context.interrupt("fourth")
    fakes.clock.advance(1)

    assert ["ask c0", "stop c0", "kill c0", "leave c0"] == fakes.signs(4)
    assert "first" == fakes.group.wait()[0].reason
    assert fakes.no_sign()


def test_a_call_that_ends_leaves_the_ladder() -> None:
    fakes = Fakes()
    job = fakes.strategy.next_job()
    assert job.begin()
    fakes.group.interrupt("enough")
    assert ["ask c0"] == fakes.signs(1)
    fakes.clock.wait_for_timers(3)
    job.succeed("an answer")

    assert ("ok", "an answer", None) == (
        fakes.group.wait()[0].status,
        fakes.group.wait()[0].value,
        fakes.group.wait()[0].reason,
    )
    assert 0 == fakes.clock.timers
    fakes.clock.advance(GRACE)
    assert fakes.no_sign()


def test_what_is_killed_is_waited_for_a_moment_longer() -> None:
    """Its end is reported very soon; should it not be, nobody waits for ever."""
    fakes = Fakes(2, killable=True)
    first, second = fakes.strategy.next_job(), fakes.strategy.next_job()
    assert first.begin()
    assert second.begin()
    fakes.group.interrupt("enough")
    fakes.clock.wait_for_timers(6)
    fakes.clock.advance(GRACE)
    first.stop()
    assert not fakes.tasks[0].wait().abandoned

    fakes.clock.wait_for_timers(1)
    fakes.clock.advance(1)
    assert fakes.tasks[1].wait().abandoned
    assert first.kills == second.kills == 1
    assert [False, True] == [first.left, second.left]


def test_without_grace_it_is_stopped_at_once() -> None:
    fakes = Fakes(grace=0)
    assert fakes.strategy.next_job().begin()
    fakes.group.interrupt("enough")

    assert ["kill c0", "leave c0"] == fakes.signs(2)
    assert fakes.group.wait()[0].abandoned


def test_a_late_outcome_is_dropped() -> None:
    fakes = Fakes(grace=0)
    job = fakes.strategy.next_job()
    assert job.begin()
    fakes.group.interrupt("enough")
    (ret,) = fakes.group.wait()
    job.succeed("late")
    job.progress(1)

    assert fakes.group.wait() == (ret,)
    assert fakes.functions[0]._return is ret


def test_a_report_of_the_start_that_comes_after_the_end_changes_nothing() -> None:
    """A worker that was left behind may have begun just then."""
    fakes = Fakes()
    job = fakes.strategy.next_job()
    fakes.group.interrupt("enough")
    (ret,) = fakes.group.wait()
    job.job._owner._begun(job.job)

    assert (0, False) == (ret.attempts, fakes.functions[0].called)
    assert 0 == fakes.clock.timers


def test_all_are_asked_before_the_first_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what waits for the place of the first would begin before it is asked itself."""
    fakes = Fakes(3, window=1)
    assert fakes.strategy.next_job().begin()
    states = [task._job.call for task in fakes.tasks if task._job is not None]
    seen: list[list[bool]] = []
    post = CONTROL.post

    def watch(call: Callable[[], object]) -> None:
        seen.append([state.asked for state in states])
        post(call)

    monkeypatch.setattr(CONTROL, "post", watch)
    fakes.group.interrupt("enough")
    assert [True, True, True] == seen[0]

    monkeypatch.undo()
    fakes.strategy.jobs[0].stop()
    assert ["enough"] * 3 == [ret.reason for ret in fakes.group.wait()]
    assert 1 == len(fakes.strategy.jobs)


def test_a_ctrl_c_in_the_middle_of_asking_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """1. the calls are asked, 2. Ctrl-C before the control thread is told of the first."""
    fakes = Fakes(2)
    for _ in range(2):
        assert fakes.strategy.next_job().begin()
    post, presses = CONTROL.post, [1]

    def press(call: Callable[[], object]) -> None:
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        post(call)

    monkeypatch.setattr(CONTROL, "post", press)
    with pytest.raises(KeyboardInterrupt):
        fakes.group.interrupt("enough")

    assert ["ask c0", "ask c1"] == fakes.signs(2)


def test_interrupting_takes_only_words_for_a_reason() -> None:
    fakes = Fakes()
    wrong: Any = ValueError("stop")
    for interrupt in (fakes.tasks[0].interrupt, fakes.group.interrupt, fakes.context.interrupt):
        with pytest.raises(TypeError, match=r"reason is ValueError.*words"):
            interrupt(wrong)

    assert not fakes.context.interrupted
    assert fakes.no_sign()


def test_cancel_is_another_name_of_interrupt() -> None:
    for kind in (tx.Task, tx.Group, tx.Context):
        assert kind.cancel is kind.interrupt


def test_an_interrupt_made_without_words_takes_those_of_its_call() -> None:
    """Python itself makes the one that it raises in another thread."""
    began = threading.Event()

    @tx.tool(deliver="poll")
    def made() -> str:
        began.set()
        call = tx.current_call()
        assert call is not None
        call.wait_interrupted()
        return tx.Interrupt().reason

    task = made.bind().task("thread")
    assert began.wait(10)
    task.interrupt("enough")

    assert "enough" == task.wait().value
    assert ("interrupted", "else") == (tx.Interrupt().reason, tx.Interrupt("else").reason)


# What runs may finish


def test_after_running_bars_what_has_not_begun() -> None:
    fakes = Fakes(3, window=2)
    first, second = fakes.strategy.next_job(), fakes.strategy.next_job()
    assert first.begin()
    fakes.group.interrupt("enough", after_running=True)
    rets = [fakes.tasks[number].wait(timeout=10) for number in (1, 2)]

    assert [("cancelled", "enough", 0)] * 2 == [(ret.status, ret.reason, ret.attempts) for ret in rets]
    assert not second.begin()
    assert fakes.no_sign()
    first.succeed("through")
    assert "through" == fakes.tasks[0].wait().value


def test_one_that_runs_on_may_still_be_interrupted() -> None:
    fakes = Fakes()
    assert fakes.strategy.next_job().begin()
    fakes.group.interrupt("not now", after_running=True)
    fakes.group.interrupt("now")

    assert ["ask c0"] == fakes.signs(1)
    fakes.strategy.jobs[0].stop()
    assert "now" == fakes.group.wait()[0].reason


def test_a_worker_says_that_a_body_runs_though_it_was_asked_to_stop() -> None:
    """Its report comes late: that the body has begun is a fact, and the call was called."""

    class Elsewhere(FakeStrategy):
        isolated = True

    with Elsewhere(grace=0) as strategy:
        function = tools.add.bind({"a": 1})
        task = function.task(strategy)
        job = strategy.next_job()
        task.interrupt("enough")
        assert not job.begin()
        assert function.called
        job.stop()

    assert 1 == task.wait().attempts


# Hooks


class Hooked(tx.Tool):
    name = "interrupts-hooked"

    def __init__(self) -> None:
        self.told: list[int] = []
        self.ran = threading.Event()

    def call(self) -> None: ...

    def on_cancel(self) -> None:
        self.told.append(threading.get_ident())
        self.ran.set()


def test_a_hook_runs_beside_a_body_that_still_runs_at_half_grace() -> None:
    clock, shared = ManualClock(), Hooked()
    with FakeStrategy(grace=GRACE) as strategy:
        context = tx.Context([shared], strategy=strategy, clock=clock)
        task = context.submit({"name": Hooked.name})
        job = strategy.next_job()
        assert job.begin()
        task.interrupt()
        clock.wait_for_timers(3)
        clock.advance(GRACE / 2 - 0.01)
        assert [] == shared.told
        clock.advance(0.01)
        assert shared.ran.wait(10)
        job.stop()

    assert 1 == len(shared.told)
    assert threading.get_ident() not in shared.told


def test_a_hook_that_hangs_holds_up_its_return_for_half_the_grace_at_most(caplog: pytest.LogCaptureFixture) -> None:
    clock, entered, release = ManualClock(), threading.Event(), threading.Event()

    class Hangs(tx.Tool):
        name = "interrupts-hangs"

        def call(self) -> None: ...

        def on_interrupt(self) -> None:
            entered.set()
            release.wait(20)

    class Finishes(FakeStrategy):
        def ask(self, job: Job) -> None:
            assert job.call.deliver_once()
            threading.Thread(target=job.finish, args=(Outcome("ok", "an answer"),), daemon=True).start()

    with Finishes(grace=GRACE) as strategy, caplog.at_level(logging.WARNING, "toolexec"):
        task = tx.Context([Hangs], strategy=strategy, clock=clock).submit({"name": Hangs.name})
        assert strategy.next_job().begin()
        task.interrupt()
        assert entered.wait(10)
        clock.wait_for_timers(4)
        clock.advance(GRACE / 2)
        ret = task.wait()
        release.set()

    assert ("ok", "an answer", False) == (ret.status, ret.value, ret.abandoned)
    assert ["toolexec: the hook of tool 'interrupts-hangs' did not return within its grace"] == caplog.messages


class Lazy(tx.Tool):
    """Runs on its waiter's thread; what it does is in the test's hands."""

    name = "interrupts-lazy"
    timeout = 10.0

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()
        self.hooked, self.release = threading.Event(), threading.Event()

    def call(self) -> None:
        call = tx.current_call()
        assert call is not None
        self.began.set()
        call.wait_interrupted()
        self.ended.set()
        call.checkpoint()

    def on_cancel(self) -> None:
        self.hooked.set()
        assert self.release.wait(20)


def test_a_hook_beside_a_call_on_its_waiters_thread_is_waited_for() -> None:
    """A limit of time is nobody's thread to run the hook on; so it runs beside, and the Return comes after it."""
    clock, tool = ManualClock(), Lazy()
    context = tx.Context([tool], strategy="sequential", clock=clock)
    task = context.submit({"name": Lazy.name})
    waiter = threading.Thread(target=task.wait)
    waiter.start()
    assert tool.began.wait(10)
    clock.advance(10)
    assert tool.hooked.wait(10)
    assert tool.ended.wait(10)
    clock.wait_for_timers()  # the body is through, and its hook has its share of the grace from now on
    assert task.alive
    tool.release.set()
    waiter.join(10)

    assert "timeout" == task.wait().status
    assert 0 == clock.timers


def test_a_hook_beside_such_a_call_holds_up_its_return_for_half_the_grace_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, tool = ManualClock(), Lazy()
    with tx.strategy("sequential", grace=GRACE) as strategy, caplog.at_level(logging.WARNING, "toolexec"):
        task = tx.Context([tool], strategy=strategy, clock=clock).submit({"name": Lazy.name})
        waiter = threading.Thread(target=task.wait)
        waiter.start()
        assert tool.began.wait(10)
        clock.advance(10)
        assert tool.hooked.wait(10)
        assert tool.ended.wait(10)
        clock.wait_for_timers()
        clock.advance(GRACE / 2)
        waiter.join(10)
        assert "timeout" == task.wait().status
        tool.release.set()

    assert ["toolexec: the hook of tool 'interrupts-lazy' did not return within its grace"] == caplog.messages


def test_a_direct_interrupt_tells_an_instance_and_builds_none() -> None:
    shared, made = Hooked(), list[Hooked]()

    def make() -> Hooked:
        made.append(Hooked())
        return made[-1]

    tx.Context([shared]).receive([{"name": Hooked.name}])[0].interrupt()
    assert [threading.get_ident()] == shared.told

    for declared in (Hooked, tx.factory(make, tool=Hooked), tx.Function("interrupts-none")):
        function = declared if isinstance(declared, tx.Function) else tx.Context([declared]).functions[Hooked.name]
        function.bind().interrupt()
    assert [] == made

    call = tx.Context([Hooked]).functions[Hooked.name].bind()
    runner: Hooked = call.runner
    call.interrupt()
    assert [threading.get_ident()] == runner.told


def test_function_cancel_stops_a_call_in_flight() -> None:
    fakes = Fakes()
    assert fakes.strategy.next_job().begin()
    answer = fakes.functions[0].cancel("not needed")

    assert ["ask c0"] == fakes.signs(1)
    fakes.strategy.jobs[0].stop()
    assert "not needed" == answer.reason == fakes.group.wait()[0].reason
    assert fakes.functions[0].cancelled


@pytest.mark.parametrize("asked", [True, False])
def test_what_leaves_a_block_with_a_callback_is_the_interrupts_doing_though_the_callback_is_still_to_be_told(
    asked: bool,
) -> None:
    task: tx.Task
    told: list[str] = []

    def stops_by_itself() -> None:
        call = tx.current_call()
        assert call is not None
        with call.on_interrupt(lambda: told.append("told")):
            if asked:  # as far as the engine gets before it has told anybody
                assert task._job is not None
                task._job.call.ask(Ask("enough"))
            raise OSError("stopped half-way")

    task = tx.tool(stops_by_itself).bind().task("sequential")
    ret = task.wait()

    assert ("cancelled" if asked else "raised") == ret.status
    assert "stopped half-way" == str(ret.exception.__cause__ if asked and ret.exception else ret.exception)
    assert told == (["told"] if asked else [])


@pytest.mark.parametrize("window", [None, 1])
def test_a_call_that_settles_before_it_has_its_place_keeps_none(
    window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked to stop from the start, it may be answered while its Group still looks for places."""
    entry_of = _opening._entry

    def late(*args: Any) -> Any:
        CONTROL.catch_up()
        return entry_of(*args)

    monkeypatch.setattr(_opening, "_entry", late)
    limited = tx.tool(name="limited", max_in_flight=1)(lambda: "ran")
    with tx.strategy("thread") as strategy:
        ctx = tx.Context([limited], strategy=strategy)
        ctx.interrupt("too early")
        calls = [{"id": f"c{n}", "name": "limited"} for n in range(2)]
        assert ["cancelled", "cancelled"] == [ret.status for ret in ctx.receive(calls).group(window=window).wait(10)]

        assert "ran" == tx.run(limited, {}, strategy, timeout=10).value
