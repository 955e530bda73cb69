"""An interrupt of a sync body on a thread: its hook there, once it has ended; what will not end is left behind."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec.lowlevel import catch_up, running_loop

# Sync tools of loops run on the same threads.
each_strategy = pytest.mark.parametrize("strategy", ["thread", "asyncio", "trio"])

# Long enough that nothing here waits for it to be over, and short for a test that fails.
GRACE_S = 20.0

# For tests that are about what happens when the grace, or its half, is over.
SHORT_S = 0.2

LIMIT_S = 10.0


def until_interrupted() -> None:
    """Count, where an interrupt can come at any time."""
    while True:
        for _ in range(1000):
            pass


class Hooked(tx.Tool):
    """A tool that notes what happens to it, and where; all of it is the test's."""

    name = "hooked"
    resource = "test-thread-hooked"

    def __init__(self, body: Callable[[], object] = until_interrupted) -> None:
        self.body = body
        self.begun = threading.Event()
        self.log: list[str] = []
        self.threads: dict[str, threading.Thread] = {}
        self.hook: Callable[[], Any] = lambda: None

    def call(self) -> object:
        try:
            self.note("began")
            self.begun.set()
            return self.body()
        finally:
            self.note("ended")

    def on_cancel(self) -> Any:
        self.note("hook")
        return self.hook()

    def note(self, what: str) -> None:
        self.log.append(what)
        self.threads[what] = threading.current_thread()


def started(tool: Hooked, strategy: tx.Strategy) -> tx.Task:
    task = tx.Context([tool], strategy=strategy).submit({"id": "c", "name": "hooked"})
    assert tool.begun.wait(LIMIT_S)
    return task


def interrupted(tool: Hooked, strategy: tx.Strategy, reason: str = "enough") -> tx.Return:
    task = started(tool, strategy)
    task.interrupt(reason)
    return task.wait(LIMIT_S)


def ended(thread: threading.Thread) -> bool:
    """Whether it ends soon; a thread that serves other calls does not."""
    thread.join(LIMIT_S)
    return not thread.is_alive()


def thread_of_next_call(strategy: tx.Strategy) -> threading.Thread:
    ret = tx.run(tx.tool(name="where")(threading.current_thread), None, strategy)
    thread = ret.unwrap()
    assert isinstance(thread, threading.Thread)
    return thread


@contextlib.contextmanager
def told(name: str, grace: float = GRACE_S) -> Iterator[tx.Strategy]:
    with tx.strategy(name, grace=grace) as strategy:
        yield strategy


@each_strategy
def test_the_hook_runs_once_on_the_thread_after_the_body_and_before_the_return(strategy: str) -> None:
    tool = Hooked()
    with told(strategy) as place:
        task = started(tool, place)
        askers = [threading.Thread(target=task.interrupt, args=["enough"]) for _ in range(4)]
        for asker in askers:
            asker.start()
        ret = task.wait(LIMIT_S)
        log = list(tool.log)
        for asker in askers:
            asker.join()
        task.interrupt("again")
        catch_up()

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert ["began", "ended", "hook"] == log == tool.log
    assert 1 == len(set(tool.threads.values()))


@each_strategy
def test_an_async_hook_has_a_loop_of_its_own_there(strategy: str) -> None:
    kinds: list[str | None] = []

    async def hook() -> None:
        tool.note("async part")
        kinds.append(running_loop())

    tool = Hooked()
    tool.hook = hook
    with told(strategy) as place:
        assert "cancelled" == interrupted(tool, place).status

    assert ["began", "ended", "hook", "async part"] == tool.log
    assert 1 == len(set(tool.threads.values()))
    assert ["asyncio"] == kinds


@each_strategy
def test_a_body_that_answers_the_interrupt_counts_and_its_hook_ran(strategy: str) -> None:
    def body() -> str:
        try:
            until_interrupted()
        except tx.Interrupt as exc:
            return f"caught: {exc.reason}"
        return "never"

    tool = Hooked(body)
    with told(strategy) as place:
        ret = interrupted(tool, place)

    assert ("ok", "caught: enough") == (ret.status, ret.value)
    assert ["began", "ended", "hook"] == tool.log


@each_strategy
def test_nothing_is_told_of_an_interrupt_that_came_too_late_or_too_early(strategy: str) -> None:
    through, early = Hooked(lambda: "through"), Hooked()
    with told(strategy) as place:
        task = started(through, place)
        assert "ok" == task.wait(LIMIT_S).status
        task.interrupt()
        catch_up()

        ctx = tx.Context([early], strategy=place)
        ctx.interrupt("before it began")
        assert "cancelled" == ctx.submit({"id": "c", "name": "hooked"}).wait(LIMIT_S).status

    assert ["began", "ended"] == through.log
    assert [] == early.log


@each_strategy
def test_a_body_that_is_blocked_has_its_hook_told_at_half_the_grace_on_a_helper_thread(strategy: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        tool = Hooked(lambda: ours.recv(1))
        tool.hook = lambda: ours.shutdown(socket.SHUT_RDWR)
        with told(strategy, grace=4 * SHORT_S) as place:
            ret = interrupted(tool, place)

    assert not ret.abandoned
    assert ["began", "hook", "ended"] == tool.log
    assert tool.threads["began"] is tool.threads["ended"] is not tool.threads["hook"]
    assert ended(tool.threads["hook"])


@each_strategy
@pytest.mark.parametrize("fault", [ValueError, SystemExit, KeyboardInterrupt, tx.Interrupt])
def test_a_hook_that_raises_harms_nothing(
    strategy: str, fault: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def hook() -> None:
        raise fault("of the hook")

    tool = Hooked()
    tool.hook = hook
    with told(strategy) as place:
        ret = interrupted(tool, place)

    assert ("cancelled", "enough", False) == (ret.status, ret.reason, ret.abandoned)
    assert ["toolexec: the hook of tool 'hooked' raised"] == of_the_call(caplog)


@each_strategy
@pytest.mark.parametrize("answers", [False, True])
def test_a_hook_that_hangs_is_waited_for_within_the_grace_and_its_thread_retired(
    strategy: str, answers: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The body has ended: so its own outcome counts, and nobody was left behind."""

    def body() -> str:
        try:
            until_interrupted()
        except tx.Interrupt:
            if not answers:
                raise
        return "tidied up"

    go = threading.Event()
    tool = Hooked(body)
    tool.hook = go.wait
    with told(strategy, grace=SHORT_S) as place:
        ret = interrupted(tool, place)
        other = thread_of_next_call(place)
        go.set()

        assert ("ok" if answers else "cancelled", False) == (ret.status, ret.abandoned)
        assert "tidied up" == ret.value or not answers
        assert ["began", "ended", "hook"] == tool.log
        assert ["toolexec: the hook of tool 'hooked' did not return within its grace"] == of_the_call(caplog)
        assert other is not tool.threads["hook"]
        assert ended(tool.threads["hook"])


@each_strategy
def test_what_does_not_end_is_left_behind_and_harms_nobody(strategy: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is answered within grace and told of once; its places are given back, and what it returns late is dropped."""
    go = threading.Event()

    def body() -> str:
        while not go.is_set():
            with contextlib.suppress(tx.Interrupt):
                go.wait()
        return "late"

    tool = Hooked(body)
    tool.hook = go.wait  # on a helper thread, at half the grace
    waits = tx.tool(name="waits", resource=Hooked.resource)(lambda: "next")
    with told(strategy, grace=SHORT_S) as place:
        ctx = tx.Context([tool, waits], strategy=place)
        ctx.receive([{"id": "1", "name": "hooked"}, {"id": "2", "name": "waits"}])
        group = ctx.group(window=1)
        assert tool.begun.wait(LIMIT_S)
        group.tasks[0].interrupt("enough")
        first, second = group.wait(LIMIT_S)
        other = thread_of_next_call(place)
        go.set()

        assert ("cancelled", "enough", True) == (first.status, first.reason, first.abandoned)
        assert ("ok", "next") == (second.status, second.value)
        assert other is not tool.threads["began"]
        assert ended(tool.threads["began"])

    assert ["began", "hook", "ended"] == tool.log
    assert (first, second) == group.wait(0)
    assert ["toolexec: tool 'hooked' did not stop within its grace and was left behind"] == of_the_call(caplog)


@pytest.mark.parametrize("leave", ["checkpoint", "late"])
def test_a_tool_that_polls_has_its_hook_told_all_the_same(leave: str) -> None:
    go = threading.Event()

    def body() -> str:
        call = tx.current_call()
        assert call is not None
        assert call.wait_interrupted(LIMIT_S)
        if leave == "checkpoint":
            tx.checkpoint()
        assert go.wait(LIMIT_S)  # until its hook lets it go, at half the grace
        return "let go"

    tool = Hooked(body)
    tool.hook = go.set
    with tx.strategy("thread", grace=4 * SHORT_S, deliver="poll") as place:
        ret = interrupted(tool, place)

    if leave == "checkpoint":
        assert ("cancelled", ["began", "ended", "hook"]) == (ret.status, tool.log)
        assert tool.threads["hook"] is tool.threads["began"]
    else:
        assert ("ok", ["began", "hook", "ended"]) == (ret.status, tool.log)
        assert tool.threads["hook"] is not tool.threads["began"]


def of_the_call(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the engine has warned of, but for the one word about Python 3.14."""
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return [message for message in messages if "deliver='poll'" not in message]


PROFILED = """
import toolexec as tx

@tx.tool(timeout=0.01)
def spin() -> None:
    while True:
        pass

print([tx.run(spin, {}, "thread").status for _ in range(3)])
"""


def test_a_profiled_program_goes_on_after_an_interrupt(tmp_path: Path) -> None:
    """On CPython 3.11 an interrupt that was taken back let every profiled, traced or debugged thread stand still."""
    script = tmp_path / "profiled.py"
    script.write_text(PROFILED, "utf-8")
    profile = [sys.executable, "-m", "cProfile", str(script)]

    done = subprocess.run(profile, capture_output=True, text=True, timeout=40, check=False)

    assert "['timeout', 'timeout', 'timeout']" == done.stdout.partition("\n")[0], done.stderr
