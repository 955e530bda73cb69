"""The fake strategy: every step is the test's."""

from __future__ import annotations

import pytest

from toolexec import Context, Progress, Task
from toolexec.lowlevel import Outcome
from toolexec.testing import FakeStrategy, RecordingTracer
from toolexec.testing import _tools as tools


def _start(strategy: FakeStrategy, tracer: RecordingTracer | None = None, **options: object) -> Task:
    context = Context([tools.add], strategy=strategy, tracer=tracer)
    return context.submit({"id": "c", "name": "add", "arguments": {"a": 1}}, **options)  # type: ignore[arg-type]


def test_nothing_happens_by_itself() -> None:
    """A call begins, reports and settles when the test says so; later deliveries are dropped."""
    seen: list[Progress] = []
    tracer = RecordingTracer()
    with FakeStrategy() as strategy:
        task = _start(strategy, tracer, on_progress=seen.append)
        job = strategy.next_job()

        assert (True, [], "c") == (task.alive, tracer.events, job.id)
        assert job.begin()
        assert ["start"] == tracer.of("c")
        job.progress(1, 2, "half")
        assert [Progress(1, 2, "half", task=task)] == seen
        job.succeed("value")
        job.fail(ValueError("late"))
        job.deliver(Outcome("ok", "later"))

        assert ("ok", "value") == (task.wait().status, task.wait().value)
        assert ["start", "progress", "finish"] == tracer.of("c")


def test_a_failure_is_delivered() -> None:
    with FakeStrategy() as strategy:
        task = _start(strategy)
        strategy.next_job().fail(ValueError("no luck"))

        assert ("raised", "no luck") == (task.wait().status, task.wait().value["message"])


def test_closing_shows_what_the_engine_asks() -> None:
    """A call that will not stop is asked, stopped, killed and left, in this order."""
    strategy = FakeStrategy(grace=0.01)
    task = _start(strategy)
    assert strategy.next_job().begin()
    strategy.close()

    assert ["ask", "stop", "kill", "leave"] == [strategy.next_sign().kind for _ in range(4)]
    assert ("cancelled", True) == (task.wait().status, task.wait().abandoned)
    (job,) = strategy.jobs
    assert (1, 1, 1, True) == (job.asks, job.stops, job.kills, job.left)


def test_waiting_for_what_does_not_come_fails_with_words() -> None:
    with FakeStrategy() as strategy:
        with pytest.raises(TimeoutError, match="no further call was started"):
            strategy.next_job(timeout=0.01)
        with pytest.raises(TimeoutError, match="asked nothing"):
            strategy.next_sign(timeout=0.01)
