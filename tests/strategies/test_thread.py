"""What the thread strategy alone promises: reuse, no starvation, and an Interrupt that hits its own call only."""

from __future__ import annotations

import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

import toolexec as tx
from stand_in import job_of
from toolexec.lowlevel import Ask, Job, Outcome
from toolexec_strategies._workers import _shot, interrupt_thread, retire_idle, run_in_thread, start_in_thread


def test_bodies_run_on_daemon_threads_that_are_used_again() -> None:
    @tx.tool
    def where() -> tuple[int, bool]:
        return threading.get_ident(), threading.current_thread().daemon

    seen = set()
    for _ in range(20):
        seen.add(tx.run(where, None, "thread").unwrap())
        time.sleep(0.001)  # the worker lies down after its Return is seen

    assert {True} == {daemon for _, daemon in seen}
    assert threading.get_ident() not in {ident for ident, _ in seen}
    assert len(seen) < 20


def test_calls_overlap_up_to_the_window() -> None:
    meeting = threading.Barrier(64)

    @tx.tool
    def meet() -> None:
        meeting.wait(20)

    ctx = tx.Context([meet])
    ctx.receive([{"name": "meet"}] * 64)

    assert {"ok"} == {ret.status for ret in ctx.wait("thread")}


def test_nested_groups_do_not_starve_each_other() -> None:
    """With a pool of any fixed size, parents would hold all workers and wait for children that get none."""

    @tx.tool
    def fan(depth: int) -> int:
        if depth == 0:
            return 1
        ctx = tx.Context([fan])
        ctx.receive([{"name": "fan", "arguments": {"depth": depth - 1}}] * 3)
        return sum(ret.unwrap() for ret in ctx.wait("thread"))

    assert 81 == tx.run(fan, {"depth": 4}, "thread").unwrap()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_that_was_left_to_a_thread_whose_start_failed_is_done_all_the_same(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has work while a thread is on its way leaves it to that one."""
    start = threading.Thread.start
    done = threading.Event()
    failures = iter([error, RuntimeError])

    def starts(self: threading.Thread) -> None:
        if self.name != "toolexec-worker" or (failure := next(failures, None)) is None:
            start(self)
            return
        if failure is error:
            run_in_thread(done.set)
        raise failure("can't start new thread")

    retire_idle()
    monkeypatch.setattr(threading.Thread, "start", starts)
    with pytest.raises(error):
        run_in_thread(lambda: None)

    assert done.wait(20)


def test_a_call_inside_a_call_is_exempt_from_what_its_ancestor_holds() -> None:
    @tx.tool(max_in_flight=1, resource="test-thread")
    def outer(depth: int) -> int:
        return depth if depth == 0 else tx.run(outer, {"depth": depth - 1}, "thread").unwrap()

    assert 0 == tx.run(outer, {"depth": 3}, "thread").unwrap()


def test_an_exception_in_the_block_interrupts_and_comes_out_within_grace() -> None:
    began, went_on = threading.Event(), threading.Event()

    @tx.tool
    def spin() -> None:
        began.set()
        for _ in range(3000):
            time.sleep(0.01)
        went_on.set()

    ctx = tx.Context([spin])
    ctx.receive([{"name": "spin"}])
    original = ValueError("mine")
    start = time.monotonic()
    with pytest.raises(ValueError, match="mine") as caught, ctx.group("thread") as group:
        assert began.wait(10)
        raise original

    assert original is caught.value
    assert time.monotonic() - start < 2.5
    assert "cancelled" == group.wait()[0].status
    assert not went_on.is_set()


def test_a_blocking_wait_that_is_cut_by_ctrl_c_stops_the_calls_and_raises_it() -> None:
    main = threading.main_thread().ident
    assert main is not None

    @tx.tool
    def spin() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        for _ in range(3000):
            time.sleep(0.01)

    ctx = tx.Context([spin])
    ctx.receive([{"id": "1", "name": "spin"}])
    with pytest.raises(KeyboardInterrupt):
        ctx.wait("thread")

    assert ["cancelled"] == [ret.status for ret in ctx.returns]


def test_ctrl_c_in_a_constructor_leaves_the_calls_pending() -> None:
    """Nothing has begun: so nothing is lost, and the calls can be started again."""
    presses = [1]

    class Slow(tx.Tool):
        name = "thread-slow"

        def __init__(self) -> None:
            if presses:
                presses.pop()
                raise KeyboardInterrupt

        def call(self) -> int:
            return 1

    ctx = tx.Context([tx.tool(name="fine")(lambda: 0), Slow])
    fns = ctx.receive([{"name": "fine"}, {"name": "thread-slow"}])
    with tx.strategy("thread") as mine:
        with pytest.raises(KeyboardInterrupt):
            ctx.wait(mine)
        assert [True, True] == [fn.pending for fn in fns]
        assert not mine._owners()
        assert [0, 1] == [ret.value for ret in ctx.wait(mine)]


def interrupt(job: Job) -> None:
    """As the engine does it: first the flag, then the delivery."""
    job.call.ask(Ask("stop"))
    interrupt_thread(job)


def test_an_interrupt_of_a_job_that_is_not_open_is_no_shot() -> None:
    owner, job = job_of(lambda: 1)
    interrupt_thread(job)

    start_in_thread(job)
    assert "ok" == owner.outcomes.get(timeout=10).status
    interrupt(job)
    assert not job.call.delivered


def test_an_interrupt_of_a_running_job_is_raised_once() -> None:
    began, caught = threading.Event(), list[int]()

    def body() -> str:
        began.set()
        for _ in range(3000):
            try:
                time.sleep(0.005)
            except tx.Interrupt:
                caught.append(1)
                return "cleaned up"
        return "never told"

    owner, job = job_of(body)
    start_in_thread(job)
    assert began.wait(10)

    interrupt(job)
    interrupt(job)
    outcome = owner.outcomes.get(timeout=10)
    assert ("ok", "cleaned up", [1]) == (outcome.status, outcome.value, caught)


class OneThread:
    """Runs jobs by the thread strategy's protocol, all on one thread."""

    def __init__(self) -> None:
        self.work: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def start(self, job: Job) -> None:
        job.slot = _shot._Seat(job)
        self.work.put(job)

    def _loop(self) -> None:
        while (job := self.work.get()) is not None:
            outcome = _shot._run(job, job.slot, hand_over=False)
            assert isinstance(outcome, Outcome)
            job.deliver(outcome)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let threads take turns every few bytecodes, not every 5 ms: else a short body is never met half-way."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def count(steps: int) -> int:
    total = 0
    for step in range(steps):
        total += step
    return total


def turns(number: int) -> None:
    for _ in range(number):
        time.sleep(0)  # lets the other thread run


@pytest.mark.usefixtures("quick_switches")
# One that lands in a weakref or gc callback is dropped there, and Python says so: a fact of CPython.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_never_reaches_the_next_job_on_the_thread() -> None:
    """Thousands of shots at random moments around a job's end; the job after it must not feel one.

    One thread runs victim, witness, victim, witness...  A shot that outlived its victim would land in a
    witness, or kill the thread.
    """
    rounds, rng, line = 3000, random.Random(7), OneThread()
    shots = landed = 0
    for number in range(rounds):
        # Half of them give way often, so that shots meet them; half only where they are cut, as at their ends.
        body = partial(turns, rng.randrange(8)) if number % 2 else partial(count, rng.randrange(6000))
        victims, job = job_of(body)
        line.start(job)
        witnesses, witness = job_of(partial(count, 60))
        line.start(witness)
        while not (job.slot.ident or victims._done()):  # until its body is about to begin
            time.sleep(0)
        turns(rng.randrange(8) * (number % 2))
        count(rng.randrange(3000))
        interrupt(job)
        outcome, after = victims.outcomes.get(timeout=10), witnesses.outcomes.get(timeout=10)
        shots += job.call.delivered
        landed += outcome.status == "cancelled"
        assert outcome.status in ("ok", "cancelled"), (number, outcome.exception)
        assert ("ok", 1770) == (after.status, after.value), (number, after.exception)
    line.work.put(None)
    line.thread.join(10)

    assert not line.thread.is_alive()
    assert shots > rounds / 20  # or this has shown nothing
    assert landed


def test_idle_threads_can_be_retired_and_new_work_still_runs() -> None:
    ran: queue.SimpleQueue[int] = queue.SimpleQueue()
    run_in_thread(lambda: ran.put(threading.get_ident()))
    ran.get(timeout=10)
    retire_idle()
    run_in_thread(lambda: ran.put(threading.get_ident()))

    assert ran.get(timeout=10)
