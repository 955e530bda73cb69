"""When an interrupted thread is raised into: never where it could leave a lock taken."""

from __future__ import annotations

import contextlib
import importlib
import logging
import queue
import sys
import threading
import time
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec.lowlevel import MONOTONIC, catch_up
from toolexec.testing import Gate
from toolexec_strategies._workers import AGAIN_S, _gate, _one_shot

ROUNDS = 25


def comes_to_stand(body: Callable[[], object], *, closed: bool) -> None:
    """Run ``body`` on a thread until the gate is closed, or open, for it there; ends the test if it never is.

    A thread that begins or ends stands in ``threading``, so that it is to be asked while its body waits.
    """
    reached = threading.Event()

    def run() -> None:
        reached.set()
        body()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert reached.wait(10)
    until(lambda: _gate.is_closed(thread.ident or 0) is closed)
    assert thread.is_alive()


def until(what: Callable[[], bool]) -> None:
    """Look until it is so, which another thread brings about."""
    limit = time.monotonic() + 10
    while not what():
        assert time.monotonic() < limit
        time.sleep(0)


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


def interrupt_in(wait: Callable[[], object], strategy: str | tx.Strategy = "thread") -> tx.Task:
    """A call that was asked to stop, and looked at by the engine, where it waits in ``wait``."""
    inside: list[int] = []  # not an Event: to set one is to stand in ``threading``

    def body() -> None:
        inside.append(1)
        wait()

    task = tx.tool(name="waits")(body).bind().task(strategy)
    job: Any = task._job
    until(lambda: bool(inside) and _gate.is_closed(job.slot.ident))
    task.interrupt()
    catch_up()  # the engine has looked at it once at least
    assert not job.call.delivered
    return task


class _Silent(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None: ...


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
    if kind == "put":
        line: queue.Queue[int] = queue.Queue()
        return line.mutex, partial(line.put, 1)
    lock = threading.Lock()

    def take() -> None:
        with lock:
            pass

    return lock, take


@pytest.mark.parametrize("kind", ["logging", "condition", "with", "put"])
def test_a_thread_that_waits_for_a_lock_gives_it_back(kind: str) -> None:
    for _ in range(ROUNDS):
        lock, wait = waiting_for(kind)
        lock.acquire()
        task = interrupt_in(wait)
        lock.release()

        assert task.wait(10).status in ("cancelled", "ok")
        assert not taken(lock)


def test_a_thread_that_waits_for_another_that_imports_can_import_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for number in range(ROUNDS):
        name = f"slow_module_{number}"
        (tmp_path / f"{name}.py").write_text("import stopped_at\nstopped_at.begun.set(); stopped_at.go.wait(10)")
        shared: Any = types.ModuleType("stopped_at")
        shared.begun, shared.go = threading.Event(), threading.Event()
        monkeypatch.setitem(sys.modules, "stopped_at", shared)
        first = threading.Thread(target=importlib.import_module, args=(name,))
        first.start()
        assert shared.begun.wait(10)
        task = interrupt_in(partial(importlib.import_module, name))
        shared.go.set()

        assert task.wait(10).status in ("cancelled", "ok")
        first.join(10)
        assert not first.is_alive()
        again = threading.Thread(target=importlib.reload, args=(sys.modules[name],))
        again.start()
        again.join(10)
        assert not again.is_alive()


def test_the_gate_is_closed_at_a_with_entry_and_open_elsewhere() -> None:
    lock, event = threading.Lock(), threading.Event()
    lock.acquire()

    def at_with() -> None:
        with lock:
            pass

    def at_acquire() -> None:
        lock.acquire()
        lock.release()

    def inside_with() -> None:
        with contextlib.nullcontext():
            at_acquire()
            time.sleep(0)

    condition = threading.Condition(lock)

    def in_threading() -> None:
        with condition:
            pass

    try:
        comes_to_stand(at_with, closed=True)
        comes_to_stand(at_acquire, closed=False)
        comes_to_stand(inside_with, closed=False)
        comes_to_stand(in_threading, closed=True)
        comes_to_stand(event.wait, closed=False)
    finally:
        lock.release()
        event.set()


def test_an_interrupt_comes_once_the_gate_opens() -> None:
    """It is not lost: what closed the gate comes to an end, and the body is interrupted right after."""
    lock, take = waiting_for("with")

    def waits() -> None:
        take()
        while True:
            for _ in range(1000):
                pass

    lock.acquire()
    task = interrupt_in(waits)
    lock.release()

    assert ("cancelled", False) == (task.wait(10).status, task.wait().abandoned)


def test_an_interrupt_is_tried_no_longer_than_the_call_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread may block for hours yet; nobody looks at it any more."""
    looks: list[int] = []

    def look(ident: int) -> bool:
        looks.append(ident)
        return True

    monkeypatch.setattr(_gate, "is_closed", look)
    begun, blocked = threading.Event(), threading.Event()

    def blocks() -> None:
        begun.set()
        blocked.wait()

    try:
        with tx.strategy("thread", grace=0.1) as strategy:
            task = tx.tool(name="blocks")(blocks).bind().task(strategy)
            assert begun.wait(10)
            task.interrupt()
            assert task.wait(10).abandoned
            seen, over = len(looks), threading.Event()
            MONOTONIC.call_at(MONOTONIC.now() + 5 * AGAIN_S, over.set)
            assert over.wait(10)
    finally:
        blocked.set()

    assert seen > 1
    assert seen == len(looks)


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


def test_a_thread_that_starts_another_is_left_alone_where_the_two_are_still_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
    start: Callable[..., object] = getattr(threading, name)
    held: list[Callable[[], object]] = []

    def starts_another() -> None:
        monkeypatch.setattr(threading, name, lambda *args, **kwargs: held.append(partial(start, *args, **kwargs)))
        threading.Thread(target=int).start()

    comes_to_stand(starts_another, closed=sys.version_info[:2] == (3, 11))
    until(lambda: bool(held))
    held.pop()()
