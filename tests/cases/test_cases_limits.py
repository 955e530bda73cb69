"""Theme B: limits of time."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from cases import stopping_tools
from cases.case_steps import ENTRIES, LOOPS, interrupt_at, let_time_pass, run_in, steer
from cases.case_tools import ALL, IN_PROCESS, ISOLATED, PATIENCE_S, received
from toolexec.testing import Gate, ManualClock

every = pytest.mark.parametrize("strategy", ALL)
entries = pytest.mark.parametrize("entry", ENTRIES)


def asked(*calls: Any, **options: Any) -> tx.Context:
    return received(*calls, tools=stopping_tools.TOOLS, **options)


def wait_for(start: Callable[[], tx.Group], entry: str) -> tuple[tx.Return, ...]:
    """Start a Group in the entry's way, and wait for it."""

    async def main() -> tuple[tx.Return, ...]:
        return await start()

    returns: tuple[tx.Return, ...] = start().wait(PATIENCE_S) if entry == "plain" else run_in(entry, main)
    return returns


# B9: the tool's own TimeoutError is mistaken for the limit

OWN_LIMITS: dict[str, tuple[str, str, Sequence[str]]] = {
    "raises_timeout": ("TimeoutError", "db", ALL),
    "own_asyncio_timeout": ("TimeoutError", "", [name for name in ALL if name != "trio"]),
    "own_trio_timeout": ("TooSlowError", "", [name for name in ALL if name != "asyncio"]),
}


@entries
@pytest.mark.parametrize(
    ("strategy", "tool"),
    [pytest.param(name, tool, id=f"{name}-{tool}") for tool, (_, _, names) in OWN_LIMITS.items() for name in names],
)
def test_B9_a_tools_own_limit_is_its_own_error(strategy: str, tool: str, entry: str) -> None:
    """The engine has a limit too, which is far away."""
    if strategy == "sequential" and entry in LOOPS and tool.startswith("own_"):
        tool = f"own_{entry}_timeout"  # it awaits an async tool in its caller's own loop
    (ret,) = wait_for(lambda: asked((tool, {})).group(strategy, timeout=PATIENCE_S), entry)
    kind, text, _ = OWN_LIMITS[tool]

    assert ("raised", kind) == (ret.status, ret.value["type"])
    assert type(ret.exception).__name__ == kind
    assert not isinstance(ret.exception, tx.DeadlineExceeded)
    assert text in ret.value["message"]


@every
def test_B9_only_the_engines_limit_is_a_timeout(strategy: str, gate: Gate) -> None:
    """Whatever the tool raises when it is over; that is told as the cause."""
    clock = ManualClock()
    ctx = asked(("raises_when_stopped", {"gate": gate.path}), clock=clock)
    (ret,) = steer(lambda: ctx.group(strategy, timeout=0.5), let_time_pass(gate, clock, 0.5))

    assert ("timeout", "DeadlineExceeded") == (ret.status, ret.value["type"])
    assert "the group's time limit of 0.5 s is over" == ret.value["message"]
    assert isinstance(ret.exception, tx.DeadlineExceeded)
    assert isinstance(ret.exception.__cause__, TimeoutError)
    assert "db" == str(ret.exception.__cause__)


@every
def test_B9_what_it_raises_when_it_is_interrupted_is_its_own(strategy: str, gate: Gate) -> None:
    ctx = asked(("raises_when_stopped", {"gate": gate.path}))
    (ret,) = steer(lambda: ctx.group(strategy), interrupt_at(gate))

    assert ("raised", "TimeoutError", "db") == (ret.status, ret.value["type"], ret.value["message"])


# B11: limits only work in the main thread, or in whole seconds


def handlers() -> dict[int, Any]:
    """What is done about every signal."""
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


@entries
@every
def test_B11_a_limit_works_from_any_thread_and_by_no_signal(strategy: str, entry: str) -> None:
    """A tool that only ever sleeps is stopped near its limit; under sequential it has to end by itself first."""
    seconds = 0.4 if strategy == "sequential" else 2.0
    ctx = asked(("naps_within_a_limit", {"seconds": seconds}))
    box: list[tx.Return] = []

    def drive() -> None:
        box.extend(wait_for(lambda: ctx.group(strategy), entry))

    before = handlers()
    worker = threading.Thread(target=drive)
    worker.start()
    while worker.is_alive():
        assert before == handlers()
        worker.join(0.02)
    (ret,) = box

    assert before == handlers()
    assert ("timeout", False) == (ret.status, ret.abandoned)
    assert "0.25 s" in ret.value["message"]
    if strategy != "sequential":
        assert 0.2 < ret.duration_s < 1.0, "neither at once nor after whole seconds"


@every
def test_B11_nor_is_a_signal_handled_by_the_engine_in_the_main_thread(strategy: str) -> None:
    before = handlers()
    (ret,) = asked(("naps", {"seconds": 0.1})).group(strategy, timeout=0.05).wait(PATIENCE_S)

    assert "timeout" == ret.status
    assert before == handlers()


# B16: progress keeps a call alive, within a ceiling


class Telling:
    """A call of ``tells``: the test lets each report be made, and knows when it has arrived."""

    def __init__(self, folder: Path, count: int) -> None:
        self.reports: queue.SimpleQueue[tx.Progress] = queue.SimpleQueue()
        self.clock = ManualClock()
        self._when = [folder / f"report {number}" for number in range(count)]
        self._told = 0

    def start(self, strategy: str, tool: str, timeout: float | None = None) -> tx.Task:
        ctx = asked(clock=self.clock)
        call = ctx.functions[tool].bind({"when": [str(path) for path in self._when]}, "c1")
        return ctx.submit(call, strategy=strategy, timeout=timeout, on_progress=self.reports.put)

    def let_tell(self) -> None:
        self._when[self._told].touch()
        self._told += 1
        assert self._told == self.reports.get(timeout=PATIENCE_S).done


@entries
@every
def test_B16_progress_resets_the_idle_limit_and_never_the_total(strategy: str, entry: str, tmp_path: Path) -> None:
    telling = Telling(tmp_path, 10)

    def act(task: tx.Task) -> None:
        telling.let_tell()
        for _ in range(2):
            telling.clock.advance(0.2)
            telling.let_tell()
        assert task.alive  # 0.4 s, with an idle limit of 0.3 s
        telling.clock.advance(0.2)

    ret = steer(lambda: telling.start(strategy, "tells_or_is_idle", timeout=0.6), act, entry)

    assert "timeout" == ret.status
    assert "the call's time limit of 0.6 s is over" == ret.value["message"]
    assert telling.reports.empty()


@every
def test_B16_silence_ends_it(strategy: str, tmp_path: Path) -> None:
    telling = Telling(tmp_path, 10)

    def act(task: tx.Task) -> None:
        telling.let_tell()
        telling.clock.advance(0.2)
        telling.let_tell()
        telling.clock.advance(0.3)

    ret = steer(lambda: telling.start(strategy, "tells_or_is_idle", timeout=0.6), act)

    assert "timeout" == ret.status
    assert ret.value["message"].startswith("the tool's idle limit of 0.3 s is over")


@pytest.mark.parametrize("strategy", IN_PROCESS)
def test_B16_a_report_after_the_return_is_dropped(strategy: str) -> None:
    reports: list[tx.Progress] = []
    ctx = asked()
    ret = ctx.submit(
        {"name": "keeps_its_call", "arguments": {"key": "late"}}, strategy=strategy, on_progress=reports.append
    ).wait(PATIENCE_S)
    call = stopping_tools.kept("late")
    call.progress(1)

    assert "late" == ret.unwrap()
    assert [] == reports
    assert not call.interrupted


@pytest.mark.parametrize("strategy", ISOLATED)
def test_B16_nor_is_it_taken_for_another_calls(strategy: str) -> None:
    """In a worker that serves several calls, what is said to the first comes through the wire of the second."""
    reports: list[tx.Progress] = []
    options = {"calls_per_child": 10} if strategy == "fork" else {}
    with tx.strategy(strategy, window=1, **options) as one:
        ctx = asked(strategy=one)
        found = 0
        for number in range(20):  # several workers may take turns
            keeps = {"name": "keeps_its_call", "arguments": {"key": str(number)}}
            ctx.submit(keeps, on_progress=reports.append).wait(PATIENCE_S)
            call = {"name": "reports_for_others", "arguments": {}}
            found += ctx.submit(call, on_progress=reports.append).wait(PATIENCE_S).unwrap()

    assert found
    assert [] == reports
