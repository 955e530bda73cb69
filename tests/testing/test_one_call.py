"""One call of a tool, for a test that looks at what it came to, or stops it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import FakeStrategy, Gate, _started, run, started

STRATEGIES = ["auto", "sequential", "thread", "asyncio", "trio", "fork", "interpreter"]


@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tx.tool
async def aadd(a: int, b: int = 1) -> int:
    return a + b


@tx.tool
def odd(tool: str, strategy: str, call: tx.CurrentCall) -> str:
    return f"{tool} {strategy} {call.name}"


@tx.tool(strategy="sequential")
def stand(path: str) -> None:
    Gate(path).pass_through()


class Stand(tx.Tool):
    """Stand at a gate, until told to leave."""

    name = "stand-class"

    def call(self, path: str) -> str:
        Gate(path).arrive()
        while True:
            tx.checkpoint()


def needs(strategy: str) -> str:
    if strategy != "auto":
        try:
            tx.strategy(strategy).close()
        except tx.StrategyUnavailable as exc:
            pytest.skip(str(exc))
    return strategy


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tool", [add, aadd], ids=lambda tool: tool.name)
def test_a_run_gives_the_return_of_a_validated_call(tool: Any, strategy: str) -> None:
    assert 5 == run(tool, needs(strategy), a=2, b=3).value
    assert 3 == run(tool, strategy, a=2.0, b=None).value
    refused = run(tool, strategy, a="two")
    assert "bad_arguments" == refused.status
    assert 'the text "two"' in refused.value["message"]


def test_every_name_is_the_tools_to_use() -> None:
    ret = run(odd, tool="t", strategy="s")

    assert "t s odd" == ret.value
    assert "thread" == ret.strategy


def test_what_raises_is_in_the_return() -> None:
    def fail() -> None:
        raise LookupError("nothing")

    ret = run(tx.as_tool(fail))

    assert ("raised", "nothing") == (ret.status, str(ret.exception))


def test_a_running_loop_is_not_blocked() -> None:
    async def main() -> None:
        with pytest.raises(tx.WrongLoop, match=r"await toolexec\.arun"):
            run(add, a=1)
        with pytest.raises(tx.WrongLoop, match="to_thread"), started(add, a=1):
            raise AssertionError

    asyncio.run(main())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_block_is_entered_when_the_body_runs(strategy: str, tmp_path: Path) -> None:
    needs(strategy)
    with Gate(tmp_path / "gate") as gate, started(Stand, strategy, path=gate.path) as task:
        assert task.function.called
        gate.wait_until_reached()
        task.interrupt("enough")
        assert ("cancelled", "enough") == (task.wait().status, task.wait().reason)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_still_runs_at_the_end_is_stopped(strategy: str, tmp_path: Path) -> None:
    needs(strategy)
    with Gate(tmp_path / "gate") as gate, pytest.raises(KeyError), started(Stand, strategy, path=gate.path) as task:
        assert task.alive
        raise KeyError
    assert not task.alive
    assert "the test is over" == task.wait().reason


def test_it_may_go_on_and_end_by_itself(tmp_path: Path) -> None:
    """Under sequential, too, where the body runs on the thread that waits."""
    with Gate(tmp_path / "gate") as gate, started(stand, path=gate.path) as task:
        gate.open()
        ret = task.wait()

    assert ("ok", "sequential") == (ret.status, ret.strategy)


def test_a_body_that_never_begins_says_why() -> None:
    never = pytest.raises(AssertionError, match=r"""'add' never began; the call is 'bad_arguments': a: .*"two".""")
    with never, started(add, a="two"):
        raise KeyError


def test_a_body_that_does_not_begin_in_time_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_started, "_BEGINS_WITHIN_S", 0.01)
    late = pytest.raises(TimeoutError, match=r"'add' has not begun after 0\.01 s; the call was stopped")
    with FakeStrategy(grace=0.01) as strategy, late, started(add, strategy, a=1):
        raise KeyError
