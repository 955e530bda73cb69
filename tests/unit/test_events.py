"""Events of a Group, in the order in which the test makes things happen."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
import trio

import toolexec as tx
from toolexec.testing import FakeStrategy
from toolexec.testing import _tools as tools


class Fakes:
    """Calls in a fake strategy, through a window of two."""

    def __init__(self, count: int = 1) -> None:
        self.strategy = FakeStrategy()
        self.context = tx.Context([tools.add], strategy=self.strategy)
        calls = [{"id": f"c{n}", "name": "add", "arguments": {"a": n}} for n in range(count)]
        self.group = self.context.receive(calls).group(window=2)


def words(*events: tx.Event) -> list[str]:
    """The events as words."""
    found: list[str] = []
    for event in events:
        assert event.task is not None
        what = {
            tx.Started: "started",
            tx.Progress: f"progress {getattr(event, 'done', '')}",
            tx.Output: f"output {getattr(event, 'text', '')}",
            tx.Settled: "settled",
        }[type(event)]
        found.append(f"{event.task.function.id} {what}")
    return found


def test_what_happens_is_told_in_its_order() -> None:
    fakes = Fakes(2)
    events = fakes.group.events()
    first, second = fakes.strategy.next_job(), fakes.strategy.next_job()
    assert second.begin()
    second.progress(1)
    assert first.begin()
    second.job.printed("text")
    second.succeed()
    first.progress(2)
    first.stop()

    assert [
        "c1 started",
        "c1 progress 1",
        "c0 started",
        "c1 output text",
        "c1 settled",
        "c0 progress 2",
        "c0 settled",
    ] == words(*events)
    with pytest.raises(StopIteration):
        next(events)


def test_who_comes_later_hears_of_starts_and_ends_only() -> None:
    fakes = Fakes(3)
    first, second = fakes.strategy.next_job(), fakes.strategy.next_job()
    assert second.begin()
    assert first.begin()
    second.progress(1)
    second.succeed()
    third = fakes.strategy.next_job()
    late = fakes.group.events()
    assert third.begin()
    third.progress(2)
    first.succeed()
    third.succeed()
    heard, after = words(*late), words(*fakes.group.events())

    assert [
        "c1 started",
        "c0 started",
        "c1 settled",
        "c2 started",
        "c2 progress 2",
        "c0 settled",
        "c2 settled",
    ] == heard
    assert ["c1 started", "c0 started", "c2 started", "c1 settled", "c0 settled", "c2 settled"] == after


def test_one_that_never_begins_only_ends() -> None:
    fakes = Fakes(1)
    fakes.strategy.next_job()
    fakes.group.interrupt()

    assert ["c0 settled"] == words(*fakes.group.events())


def test_what_comes_after_the_return_is_dropped() -> None:
    fakes = Fakes(1)
    events = fakes.group.events()
    job = fakes.strategy.next_job()
    assert job.begin()
    job.succeed()
    job.progress(1)
    job.job.printed("late")

    assert ["c0 started", "c0 settled"] == words(*events)


def test_several_may_walk_along() -> None:
    fakes = Fakes(1)
    one, other = fakes.group.events(), fakes.group.events()
    job = fakes.strategy.next_job()
    assert job.begin()
    assert ["c0 started"] == words(next(one))
    job.succeed()

    assert ["c0 settled"] == words(*one)
    assert ["c0 started", "c0 settled"] == words(*other)


def test_who_leaves_early_is_forgotten() -> None:
    """A walk that nobody goes on with keeps neither itself nor its events."""
    fakes = Fakes(1)
    for _ in range(3):
        fakes.group.events()
    gc.collect()
    job = fakes.strategy.next_job()
    assert job.begin()

    assert [] == fakes.group._listeners
    job.succeed()


def test_no_calls_no_events() -> None:
    fakes = Fakes(0)

    assert [] == list(fakes.group.events())


def test_next_blocks_until_something_happens() -> None:
    fakes = Fakes(1)
    events = fakes.group.events()
    heard: list[str] = []
    walker = threading.Thread(target=lambda: heard.extend(words(*events)))
    walker.start()
    job = fakes.strategy.next_job()
    assert job.begin()
    job.progress(1)
    job.succeed()
    walker.join(10)

    assert ["c0 started", "c0 progress 1", "c0 settled"] == heard


def test_in_a_loop_they_are_awaited() -> None:
    async def main() -> None:
        fakes = Fakes(1)
        events = fakes.group.events()
        job = fakes.strategy.next_job()
        with pytest.raises(tx.WrongLoop, match="async for"):
            next(events)
        assert job.begin()
        assert ["c0 started"] == words(next(events))  # what is there needs no waiting
        threading.Thread(target=job.succeed).start()
        assert ["c0 settled"] == words(*[event async for event in events])

    asyncio.run(main())
    trio.run(main)


def test_a_task_knows_its_progress() -> None:
    seen: list[tx.Progress] = []
    with FakeStrategy() as strategy:
        task = tools.add.bind({"a": 1}).task(strategy, on_progress=seen.append)
        job = strategy.next_job()
        assert job.begin()
        job.progress(1, 2, "half", data=[1])
        job.succeed()

    assert [tx.Progress(1, 2, "half", [1], task)] == seen


def test_reports_from_several_threads_are_told_one_at_a_time() -> None:
    """1. the callback is at the first report, 2. another thread reports, 3. the first callback returns."""
    inside, go_on, seen = threading.Event(), threading.Event(), list[float]()

    def slow(progress: tx.Progress) -> None:
        if progress.done == 1:
            inside.set()
            assert go_on.wait(10)
        seen.append(progress.done)

    with FakeStrategy() as strategy:
        task = tools.add.bind({"a": 1}).task(strategy, on_progress=slow)
        job = strategy.next_job()
        assert job.begin()
        first = threading.Thread(target=job.progress, args=(1,))
        first.start()
        assert inside.wait(10)
        job.progress(2)  # does not block: the thread that is at it tells this one as well
        assert [] == seen
        go_on.set()
        first.join(10)
        job.succeed()
        task.wait()

    assert [1, 2] == seen


def test_a_callback_that_raises_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: tx.Progress) -> None:
        raise ValueError("broken")

    with FakeStrategy() as strategy:
        task = tools.add.bind({"a": 1}).task(strategy, on_progress=broken)
        job = strategy.next_job()
        assert job.begin()
        job.progress(1)
        job.succeed("fine")

    assert "fine" == task.wait().value
    assert any("callback" in message for message in caplog.messages)
