"""Theme E: what has gone wrong for others in subinterpreters, under interrupts and limits of time.

Forked processes are held to the same, where it concerns them.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remote_tools
import toolexec as tx
from cases import stopping_tools
from cases.case_steps import let_time_pass, steer
from cases.case_tools import ISOLATED, received
from toolexec.testing import Gate, ManualClock

isolated = pytest.mark.parametrize("strategy", ISOLATED)
in_interpreter = pytest.mark.skipif("interpreter" not in ISOLATED, reason="subinterpreters are public from 3.14")

# How a call of a tool that is at its gate comes to its end
ENDS = {"interrupted": "cancelled", "out of time": "timeout"}
ends = pytest.mark.parametrize("how", ENDS)


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, tx.Strategy]]:
    strategies: dict[str, tx.Strategy] = {name: tx.strategy(name, window=2) for name in ISOLATED}
    yield strategies
    for strategy in strategies.values():
        strategy.close()


def ended(strategy: tx.Strategy, tool: Any, how: str, gate: Gate, **arguments: Any) -> tx.Return:
    """One call of a tool, ended once it is at the gate."""
    clock = ManualClock()
    ctx = received((tool.name, {"gate": gate.path, **arguments}), tools=[tool], clock=clock)

    def act(group: tx.Group) -> None:
        if how == "out of time":
            let_time_pass(gate, clock, 5)(group)
        else:
            gate.wait_until_reached()
            group.interrupt("enough")

    return steer(lambda: ctx.group(strategy, timeout=5), act)[0]


def assert_serves(strategy: tx.Strategy) -> None:
    assert 2 == tx.run(remote_tools.add, {"a": 1}, strategy).unwrap()


# E1: the function cannot be found on the other side


def _closure() -> tx.Function:
    limit = stopping_tools.LONG_S

    @tx.tool(name="closure")
    def stands(gate: str) -> None:
        Gate(gate).arrive()
        stopping_tools.current().wait_interrupted(limit)
        tx.checkpoint()

    return stands


class _Holder:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def stand(self, gate: str) -> None:
        Gate(gate).arrive()
        stopping_tools.current().wait_interrupted(self.seconds)
        tx.checkpoint()


SOURCES: dict[str, Callable[[], tx.Function]] = {
    "closure": _closure,
    "lambda": lambda: tx.tool(name="lambda", description="Stands")(
        lambda gate: _Holder(stopping_tools.LONG_S).stand(gate)
    ),
    "method": lambda: tx.tool(name="method")(_Holder(stopping_tools.LONG_S).stand),
}


@ends
@pytest.mark.parametrize("source", SOURCES)
@isolated
def test_E1_a_tool_that_no_name_leads_to_is_stopped_as_well(
    made: dict[str, tx.Strategy], strategy: str, source: str, how: str, gate: Gate
) -> None:
    ret = ended(made[strategy], SOURCES[source](), how, gate)

    assert (ENDS[how], False) == (ret.status, ret.abandoned)
    assert_serves(made[strategy])


@pytest.mark.parametrize("guard", [True, False], ids=["guarded", "unguarded"])
@isolated
def test_E1_a_tool_of_the_main_script_is_stopped_and_the_script_runs_once(
    strategy: str, guard: bool, tmp_path: Path
) -> None:
    body = """
        import sys
        import toolexec as tx
        from toolexec.testing import Gate

        print("top level")

        def stand(gate):
            Gate(gate).arrive()
            tx.current_call().wait_interrupted(20)
            tx.checkpoint()

        @tx.tool
        def function(gate: str) -> None:
            stand(gate)

        class Class(tx.Tool):
            name = "class"
            description = "Stands"

            def call(self, gate: str) -> None:
                stand(gate)

            def on_interrupt(self) -> None:
                print("hook", file=sys.stderr)
    """
    calls = """
        for number, tool in enumerate([function, Class, function]):
            with Gate(f"{sys.argv[2]}/{number}") as gate:
                task = tx.Context([tool], strategy=sys.argv[1]).submit(
                    {"name": getattr(tool, "name"), "arguments": {"gate": gate.path}},
                    timeout=1.0 if number == 2 else None,
                )
                gate.wait_until_reached()
                if number < 2:
                    task.interrupt("enough")
                print(task.wait(20).status)
    """
    calls = textwrap.dedent(calls)
    if guard:
        calls = 'if __name__ == "__main__":\n' + textwrap.indent(calls, "    ")
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(body) + calls)
    done = subprocess.run(
        [sys.executable, "-P", str(script), strategy, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=40,
        check=False,
    )

    assert (0, ["top level", "cancelled", "cancelled", "timeout"]) == (done.returncode, done.stdout.split("\n")[:-1]), (
        done.stderr
    )
    assert 1 == done.stderr.count("hook")


# E2: an extension module refuses

EXTENSIONS = [name for name in ("pydantic_core", "numpy") if importlib.util.find_spec(name) is not None]


@in_interpreter
@pytest.mark.parametrize("module", EXTENSIONS)
def test_E2_an_extension_that_refuses_a_stopped_tool_is_an_error_with_advice_each_time(
    made: dict[str, tx.Strategy], module: str, tmp_path: Path
) -> None:
    inside = made["interpreter"]
    messages = set()
    for number in range(2):
        with Gate(tmp_path / f"{number}") as gate:
            ret = ended(inside, stopping_tools.answers_oddly, "interrupted", gate, answer=f"import {module}")
        assert "raised" == ret.status
        assert isinstance(ret.exception, ImportError)
        assert "fork strategy" in ret.value["message"].split("\n")[0]
        messages.add(ret.value["message"])
        assert_serves(inside)

    assert 1 == len(messages)


@in_interpreter
@pytest.mark.parametrize("module", EXTENSIONS)
def test_E2_when_its_time_is_over_that_is_told_as_the_cause(
    made: dict[str, tx.Strategy], module: str, gate: Gate
) -> None:
    ret = ended(made["interpreter"], stopping_tools.answers_oddly, "out of time", gate, answer=f"import {module}")

    assert ("timeout", "DeadlineExceeded") == (ret.status, ret.value["type"])
    assert ret.exception is not None
    assert isinstance(ret.exception.__cause__, ImportError)
    assert_serves(made["interpreter"])


# E3: exceptions and values do not cross


@pytest.mark.parametrize("answer", ["lock", "lambda"])
@isolated
def test_E3_an_answer_to_an_interrupt_that_cannot_cross_is_unsendable(
    made: dict[str, tx.Strategy], strategy: str, answer: str, gate: Gate
) -> None:
    ret = ended(made[strategy], stopping_tools.answers_oddly, "interrupted", gate, answer=answer)

    assert "unsendable" == ret.status
    assert "answers_oddly" in str(ret.exception)
    assert_serves(made[strategy])


@isolated
def test_E3_an_exception_raised_for_an_interrupt_comes_with_its_name(
    made: dict[str, tx.Strategy], strategy: str, gate: Gate
) -> None:
    ret = ended(made[strategy], stopping_tools.answers_oddly, "interrupted", gate, answer="two arguments")

    assert ("raised", "TwoArguments", "42: the answer") == (ret.status, ret.value["type"], ret.value["message"])
    assert "in answers_oddly" in "\n".join(ret.value["backtrace"])


@pytest.mark.parametrize("answer", ["lock", "lambda", "two arguments"])
@isolated
def test_E3_once_the_time_is_over_nothing_of_it_matters(
    made: dict[str, tx.Strategy], strategy: str, answer: str, gate: Gate
) -> None:
    ret = ended(made[strategy], stopping_tools.answers_oddly, "out of time", gate, answer=answer)

    assert ("timeout", "DeadlineExceeded", False) == (ret.status, ret.value["type"], ret.abandoned)
    assert_serves(made[strategy])


@ends
@isolated
def test_E3_a_closure_that_is_passed_can_be_stopped(
    made: dict[str, tx.Strategy], strategy: str, how: str, gate: Gate
) -> None:
    label = "from a closure"

    @tx.tool
    def applies(gate: str, function: Any) -> None:
        function(gate)

    def stand(path: str) -> None:
        Gate(path).pass_through(label)

    ret = ended(made[strategy], applies, how, gate, function=stand)

    assert (ENDS[how], False) == (ret.status, ret.abandoned)
    assert ("from a closure",) == gate.reached
