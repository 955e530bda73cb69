"""When an interrupted thread is raised into: never where it could leave a lock taken."""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import Gate
from toolexec_strategies._workers import _gate, _one_shot

ROUNDS = 25


def standing_in(frame_of: Callable[[], Any]) -> bool:
    """Whether the gate is closed for a thread that is inside ``frame_of``."""
    thread = threading.Thread(target=frame_of, daemon=True)
    thread.start()
    assert thread.ident is not None
    while thread.ident not in sys._current_frames():
        pass
    return _gate.is_closed(thread.ident)


def taken(lock: Any) -> bool:
    """Whether another thread finds the lock taken."""
    found: list[bool] = []

    def look() -> None:
        got = lock.acquire(timeout=0.2)
        found.append(not got)
        if got:
            lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def waiting_for(kind: str) -> tuple[Any, Callable[[], object]]:
    """A lock, and what waits for it."""
    if kind == "logging":
        handler = _Silent()
        return handler.lock, partial(handler.handle, logging.makeLogRecord({"msg": "text"}))
    if kind == "condition":
        condition = threading.Condition()

        def notify() -> None:
            with condition:
                condition.notify_all()

        return condition, notify
    if kind == "queue":
        line: queue.Queue[int] = queue.Queue()
        return line.mutex, partial(line.put, 1)
    lock = threading.Lock()

    def take() -> None:
        with lock:
            pass

    return lock, take


class _Silent(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None: ...


@pytest.mark.parametrize("kind", ["logging", "condition", "with", "queue"])
def test_a_thread_that_waits_for_a_lock_gives_it_back(kind: str) -> None:
    for _ in range(ROUNDS):
        lock, wait = waiting_for(kind)
        inside = threading.Event()

        def body(inside: Any = inside, wait: Any = wait) -> None:
            inside.set()
            wait()

        lock.acquire()
        task = tx.tool(name="waits")(body).bind().task("thread")
        assert inside.wait(10)
        job: Any = task._job
        while not _gate.is_closed(job.slot.ident):  # until it stands in the code that takes the lock
            pass
        task.interrupt()
        while not job.asked:
            pass
        lock.release()

        assert task.wait(10).status in ("cancelled", "ok")
        assert not taken(lock)


def test_the_gate_is_closed_at_a_with_entry_and_open_elsewhere() -> None:
    lock, other = threading.Lock(), threading.Lock()
    lock.acquire()
    other.acquire()

    def at_with() -> None:
        with lock:
            pass

    def blocked() -> None:
        other.acquire()

    try:
        assert standing_in(at_with)
        assert not standing_in(blocked)
        assert not standing_in(threading.Event().wait)
    finally:
        lock.release()
        other.release()


def test_an_interrupt_comes_once_the_gate_opens() -> None:
    """It is not lost: what closed the gate comes to an end, and the body is interrupted right after."""
    lock, after = threading.Lock(), threading.Event()
    lock.acquire()

    @tx.tool
    def waits() -> str:
        with lock:
            after.set()
        while True:
            for _ in range(1000):
                pass

    task = waits.bind().task("thread")
    job: Any = task._job
    while not (job.slot.ident and _gate.is_closed(job.slot.ident) and task.function.called):
        pass
    task.interrupt("enough")
    assert not after.is_set()
    lock.release()

    assert ("cancelled", "enough") == (task.wait(10).status, task.wait().reason)
    assert not task.wait().abandoned


@pytest.mark.parametrize("kind", ["event", "queue", "condition"])
def test_a_loop_that_waits_in_slices_is_interrupted_and_leaves_no_lock(kind: str) -> None:
    for _ in range(ROUNDS):
        lock, wait = waiting_in_slices(kind)
        inside = threading.Event()

        def body(inside: Any = inside, wait: Any = wait) -> None:
            inside.set()
            while True:
                wait()

        task = tx.tool(name="waits")(body).bind().task("thread")
        assert inside.wait(10)
        task.interrupt()

        ret = task.wait(10)
        assert ("cancelled", False) == (ret.status, ret.abandoned)
        assert not taken(lock)


def waiting_in_slices(kind: str) -> tuple[Any, Callable[[], object]]:
    """A lock, and what waits for a moment by means of it."""
    if kind == "event":
        event = threading.Event()
        return event._cond, partial(event.wait, 0.002)  # type: ignore[attr-defined]  # the lock is what is looked at
    if kind == "queue":
        line: queue.Queue[int] = queue.Queue()

        def get() -> None:
            with contextlib.suppress(queue.Empty):
                line.get(timeout=0.002)

        return line.mutex, get
    condition = threading.Condition()

    def wait() -> None:
        with condition:
            condition.wait(0.002)

    return condition, wait


@pytest.mark.parametrize("chosen", ["tool", "strategy"])
def test_poll_raises_nothing(chosen: str, tmp_path: Any) -> None:
    with Gate(tmp_path / "gate") as gate:

        def body() -> list[Any]:
            call = tx.current_call()
            assert call is not None
            told = threading.Event()
            with call.on_interrupt(told.set):
                gate.arrive()
                seen = call.wait_interrupted(10)
                assert told.wait(10)
                turns = 0
                for _ in range(20000):  # much for an Interrupt to land in
                    turns += 1
            return [seen, turns]

        options: dict[str, Any] = {"deliver": "poll"} if chosen == "tool" else {}
        polls = tx.tool(name="polls", **options)(body)
        with tx.strategy("thread", deliver="raise" if chosen == "tool" else "poll") as strategy:
            task = polls.bind().task(strategy)
            gate.wait_until_reached()
            task.interrupt()
            ret = task.wait(10)

    assert ("ok", [True, 20000]) == (ret.status, ret.value)


def test_deliver_takes_two_words() -> None:
    with pytest.raises(ValueError, match="deliver is 'maybe'"):
        tx.strategy("thread", deliver="maybe")
    with pytest.raises(tx.DeclarationError, match="tool 'f': deliver is 'maybe'"):
        tx.tool(name="f", deliver="maybe")(lambda: 1)  # type: ignore[call-overload]  # what is refused


def test_affected_pythons_warn_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(_one_shot, "LOCKS_MAY_STAY", True)
    monkeypatch.setattr(_one_shot, "_warned", [])
    for _ in range(2):
        _one_shot.warn_once()

    assert 1 == len([record for record in caplog.records if "deliver='poll'" in record.message])
