"""carry: context variables that go along to workers."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from contextvars import Context, ContextVar
from pathlib import Path
from typing import Any

import pytest

import carried_vars as tools
import toolexec as tx
from toolexec.testing import Gate

ALL = [tools.USER, tools.TENANT, tools.LOCALE]
NAMES = [
    pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")),
    pytest.param("interpreter", marks=pytest.mark.skipif(sys.version_info < (3, 14), reason="needs Python 3.14")),
]

NOWHERE: list[ContextVar[str]] = [ContextVar("nowhere")]  # no global has it for its value


@pytest.fixture(params=NAMES, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def strategy(name: str) -> Iterator[tx.Strategy]:
    with tx.strategy(name, grace=2.0, window=1, carry=ALL) as made:
        yield made


def run(tool: Any, strategy: tx.Strategy, values: dict[ContextVar[Any], Any], **arguments: Any) -> tx.Return:
    """Run a call where these variables are set, and no other."""

    def submit() -> tx.Return:
        for var, value in values.items():
            var.set(value)
        return tx.run(tool, arguments, strategy)

    return Context().run(submit)


@pytest.mark.parametrize("tool", [tools.seen, tools.seen_async], ids=["sync", "async"])
def test_what_is_set_goes_along(strategy: tx.Strategy, tool: Any) -> None:
    ret = run(tool, strategy, {tools.USER: "ann", tools.TENANT: {"id": 3}, tools.LOCALE: "de"})

    assert ret.value == ["ann", {"id": 3}, "de"]


def test_what_is_unset_stays_unset_also_after_a_call_that_had_it(strategy: tx.Strategy) -> None:
    assert run(tools.seen, strategy, {tools.USER: "ann"}).value == ["ann", "nobody", "C"]
    assert run(tools.seen, strategy, {}).value == ["unset", "nobody", "C"]


def test_what_a_tool_sets_stays_with_its_call(strategy: tx.Strategy) -> None:
    assert run(tools.change, strategy, {tools.USER: "ann"}).value == "changed by the tool"
    assert run(tools.seen, strategy, {}).value[0] == "unset"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_that_serves_several_calls_keeps_none_of_it() -> None:
    with tx.strategy("fork", window=1, calls_per_child=None, carry=ALL) as reusing:
        users = [run(tools.seen, reusing, {tools.USER: "ann"} if n % 2 else {}).value[0] for n in range(10)]

    assert ["unset", "ann"] * 5 == users


def test_calls_at_once_have_each_their_own(name: str) -> None:
    """The value is that of the moment when the call was submitted."""
    with tx.strategy(name, carry=ALL) as several:
        tasks = []
        for number in range(6):
            tools.TENANT.set(number)
            tasks.append(tools.seen.bind({}).task(several))
        tools.TENANT.set("later")

        assert [task.wait().value[1] for task in tasks] == list(range(6))


def test_a_value_keeps_its_class_and_identity(strategy: tx.Strategy) -> None:
    setting = tools.Setting(3)

    assert run(tools.same, strategy, {tools.TENANT: setting}, argument=setting).value is True


def test_the_hook_sees_it_too(strategy: tx.Strategy, tmp_path: Path) -> None:
    ctx = tx.Context(tools=[tools.SaysWho], strategy=strategy)

    def submit() -> tx.Task:
        tools.USER.set("ann")
        return ctx.submit({"name": "says-who", "arguments": {"gate": gate}})

    with Gate(tmp_path / "gate") as gate:
        task = Context().run(submit)
        gate.wait_until_reached()
        task.interrupt()

        assert task.wait(timeout=10).value == "ann"


def test_without_carry_nothing_goes_along(name: str) -> None:
    with tx.strategy(name) as plain:
        assert run(tools.seen, plain, {tools.USER: "ann"}).value[0] == "unset"


def test_a_value_that_cannot_travel_is_named(strategy: tx.Strategy) -> None:
    ret = run(tools.seen, strategy, {tools.TENANT: (n for n in range(3))})

    assert (ret.status, ret.attempts) == ("unsendable", 0)
    for part in ("context variable carried_vars.TENANT", "generator", "tool 'seen'"):
        assert part in str(ret.exception)
    assert run(tools.seen, strategy, {}).ok


# What cannot be carried is refused when the strategy is made


def made_by_hand() -> ContextVar[str]:
    """One of a module that no file is behind, and no worker can import."""
    module: Any = types.ModuleType("made_by_hand")
    module.VAR = ContextVar("by_hand")
    sys.modules["made_by_hand"] = module
    found: ContextVar[str] = module.VAR
    return found


def test_a_variable_that_no_worker_finds_is_refused(name: str) -> None:
    try:
        for var in (NOWHERE[0], made_by_hand()):
            with pytest.raises(ValueError, match=f"carry: .*'{var.name}'.*top level of a module"):
                tx.strategy(name, carry=[tools.USER, var])
    finally:
        del sys.modules["made_by_hand"]


@pytest.mark.parametrize(
    "carry", [tools.USER, "user", ["user"], [None], 3], ids=["no list", "text", "names", "None", "number"]
)
def test_what_is_no_list_of_variables_is_refused(name: str, carry: Any) -> None:
    with pytest.raises(TypeError, match=r"carry .* it takes a list of ContextVars"):
        tx.strategy(name, carry=carry)


def test_a_variable_of_the_program_itself_is_refused(name: str, tmp_path: Path) -> None:
    """A worker must not run the program again, to find it."""
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import contextvars
            import toolexec as tx

            USER = contextvars.ContextVar("user")
            try:
                tx.strategy({name!r}, carry=[USER])
            except ValueError as exc:
                print(exc)
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=40, check=False
    )

    for part in ("carry", "'user'", "__main__", "a module of its own"):
        assert part in done.stdout, done.stderr
