"""What has gone wrong for others with calls in subinterpreters: the E cases, end to end."""

# Pipes, /proc and descriptors are not what pathlib is for, and here everything is caught:
# ruff: noqa: PTH112, PTH116, PTH123, PTH208, BLE001, ASYNC110, ASYNC230, SIM115, SIM117, RUF100

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remote_tools as tools
import toolexec as tx

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters are public from 3.14")


@pytest.fixture(scope="module")
def inside() -> Iterator[tx.Strategy]:
    with tx.strategy("interpreter") as strategy:
        yield strategy


def run(tool: Any, strategy: tx.Strategy, **arguments: Any) -> tx.Return:
    return tx.run(tool, arguments, strategy)


def program(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(code))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", str(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=40,
        check=False,
    )


@pytest.mark.parametrize("guard", [True, False], ids=["guarded", "unguarded"])
def test_E1_a_tool_of_the_main_script_runs_and_the_script_does_not_run_again(tmp_path: Path, guard: bool) -> None:
    body = textwrap.dedent(
        """
        print("top level")
        FACTOR = 3

        def helper(n):
            return n * FACTOR

        @tx.tool
        def triple(n: int) -> int:
            return helper(n)

        class Doubler(tx.Tool):
            name = "doubler"
            description = "Doubles"
            def call(self, n: int) -> int:
                return n * 2

        class Adder:
            def __init__(self, amount):
                self.amount = amount
            @tx.tool
            def add(self, n: int) -> int:
                return n + self.amount
        """
    )
    calls = textwrap.dedent(
        """
        for tool in (triple, Doubler, Adder(10).add):
            print(tx.run(tool, {"n": 5}, "interpreter").unwrap())
        """
    )
    if guard:
        calls = 'if __name__ == "__main__":\n' + textwrap.indent(calls, "    ")
    done = program("import toolexec as tx\n" + body + calls, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["top level", "15", "10", "15", ""]
    assert done.stderr == ""


def test_E1_a_tool_of_a_module_that_no_file_backs(inside: tx.Strategy) -> None:
    session = types.ModuleType("a_session")
    exec("BASE = 40\ndef typed(n: int) -> int:\n    return BASE + n\n", session.__dict__)
    tool = tx.tool(session.typed)

    assert run(tool, inside, n=2).value == 42


def test_E1_a_module_that_only_the_host_knows(inside: tx.Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    session = types.ModuleType("a_hidden_session")
    exec("def typed(n: int) -> int:\n    return n\n", session.__dict__)
    monkeypatch.setitem(sys.modules, "a_hidden_session", session)

    ret = run(tx.tool(session.typed), inside, n=2)

    assert ret.status in ("ok", "raised")
    if ret.status == "raised":
        assert "a_hidden_session" in str(ret.exception)


def test_E1_closures_lambdas_and_methods_run(inside: tx.Strategy) -> None:
    captured = [1, 2]

    @tx.tool
    def closure(n: int) -> list[int]:
        return [*captured, n]

    unnamed = tx.tool(name="double", description="Doubles")(lambda n: n * 2)

    assert run(closure, inside, n=3).value == [1, 2, 3]
    assert run(unnamed, inside, n=3).value == 6
    assert run(tools.Greeter("hi").greet, inside, name="you").value == "hi, you"
    assert run(tools.ClassTool, inside, x=1).value == {"x": 1, "made_in": os.getpid(), "ran_in": os.getpid()}


EXTENSIONS = [name for name in ("pydantic", "numpy") if importlib.util.find_spec(name) is not None]


@pytest.mark.parametrize("module", EXTENSIONS)
def test_E2_an_extension_that_refuses_is_an_error_with_advice_each_time(inside: tx.Strategy, module: str) -> None:
    @tx.tool
    def imports(module: str) -> str:
        return str(__import__(module).__version__)

    returns = [run(imports, inside, module=module) for _ in range(2)]

    for ret in returns:
        assert ret.status == "raised"
        assert isinstance(ret.exception, ImportError)
        assert "fork strategy" in ret.value["message"].split("\n")[0]
        assert any("fork strategy" in note for note in ret.exception.__notes__)
    assert returns[0].value["message"] == returns[1].value["message"]
    assert run(tools.add, inside, a=1).value == 2


@pytest.mark.skipif("numpy" not in EXTENSIONS, reason="numpy is not installed")
def test_E2_an_argument_whose_extension_refuses(inside: tx.Strategy) -> None:
    numpy = importlib.import_module("numpy")

    for _ in range(2):
        ret = run(tools.echo, inside, value=numpy.zeros(3))

        assert ret.status == "raised"
        assert "fork strategy" in ret.value["message"]
    assert run(tools.add, inside, a=1).value == 2


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("two arguments", "TwoArguments", "42: the answer"),
        ("keyword only", "KeywordOnly", "code 7"),
        ("exits on load", "ExitsOnLoad", "ouch"),
        ("holds a lock", "HoldsLock", "locked in"),
        ("local class", "Local", "nobody knows my class"),
        ("exit code", "SystemExit", "17"),
    ],
)
def test_E3_an_exception_comes_with_its_name(inside: tx.Strategy, kind: str, name: str, message: str) -> None:
    ret = run(tools.raise_kind, inside, kind=kind)

    assert ret.status == "raised"
    assert (name, message) == (ret.value["type"], ret.value["message"])
    assert "in raise_kind" in "\n".join(ret.value["backtrace"])
    assert run(tools.add, inside, a=1).value == 2


def test_E3_cause_note_and_lines_come_back(inside: tx.Strategy) -> None:
    ret = run(tools.raise_chain, inside)

    text = "\n".join(ret.value["backtrace"])
    for part in ("inner text", "outer text", "a note on it", "in _inner", "raise outer from first"):
        assert part in text
    assert isinstance(ret.exception, ValueError)
    assert isinstance(ret.exception.__cause__, KeyError)
    assert ret.exception.__traceback__ is not None


@pytest.mark.parametrize(
    "kind", ["lock", "nested lock", "lambda", "generator", "file", "refuses state", "refuses to load", "local class"]
)
def test_E3_a_result_that_cannot_cross_is_unsendable(inside: tx.Strategy, kind: str) -> None:
    ret = run(tools.return_odd, inside, kind=kind)

    assert ret.status == "unsendable"
    assert "return_odd" in str(ret.exception)


def test_E3_an_argument_that_cannot_cross_is_unsendable(inside: tx.Strategy) -> None:
    ret = run(tools.echo, inside, value=threading.Lock())

    assert ret.status == "unsendable"
    assert ret.attempts == 0
    assert "interpreter strategy" in str(ret.exception)


def test_E3_a_lambda_as_an_argument_crosses(inside: tx.Strategy) -> None:
    @tx.tool
    def applies(function: Any) -> Any:
        return function(20)

    assert run(applies, inside, function=lambda n: n + 1).value == 21


SIZE = 200_000_000


def test_a_large_result_and_argument_arrive_whole(inside: tx.Strategy) -> None:
    assert run(tools.sized, inside, count=SIZE).value == b"x" * SIZE
    assert run(tools.length, inside, data=b"x" * SIZE).value == SIZE


def test_classes_keep_their_identity(inside: tx.Strategy) -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    @tx.tool
    def makes(x: int) -> Any:
        return Point(x)

    # Twice in one interpreter: the second time the class is known there.
    for x in range(3):
        point = run(makes, inside, x=x).value
        assert type(point) is Point
        assert point.x == x


def test_what_a_tool_prints_comes_out(tmp_path: Path) -> None:
    done = program(
        """
        import sys
        import toolexec as tx

        @tx.tool
        def speaks(n: int) -> int:
            print("<out>", end="")
            print("<err>", end="", file=sys.stderr)
            return n

        if __name__ == "__main__":
            tx.run(speaks, {"n": 1}, "interpreter").unwrap()
            tx.run(speaks, {"n": 1}, "interpreter").unwrap()
        """,
        tmp_path,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "<out><out>", "<err><err>")


def test_the_text_on_older_pythons_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolexec_strategies.interpreter import InterpreterStrategy

    with contextlib.suppress(AttributeError):
        monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))

    assert InterpreterStrategy.unavailable() == "needs Python 3.14 or newer (this is 3.11)"
