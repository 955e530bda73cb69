"""Log records of workers: they come to the host's loggers, once, and harm no call."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

import logging_tools as tools
import toolexec as tx
from toolexec.testing import Gate
from toolexec_strategies._remote import _hear, _logs

FORK = pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"))
NAMES = [
    FORK,
    pytest.param("interpreter", marks=pytest.mark.skipif(sys.version_info < (3, 14), reason="needs Python 3.14")),
]
INNER = "logging_tools.inner"


@pytest.fixture(params=NAMES, scope="module")
def strategy(request: pytest.FixtureRequest) -> Iterator[tx.Strategy]:
    with tx.strategy(request.param, grace=2.0, window=1) as made:
        yield made


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every record that came over, whether anybody wanted it or not."""
    came: list[Any] = []

    def note(payload: Any) -> None:
        came.append(payload)
        _logs.handle_record(payload)

    monkeypatch.setattr(_hear, "handle_record", note)
    return came


def run(tool: Any, strategy: tx.Strategy, **arguments: Any) -> Any:
    return tx.run(tool, arguments, strategy).unwrap()


def of(caplog: pytest.LogCaptureFixture, name: str = INNER) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == name]


def test_a_record_comes_to_the_hosts_logger(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    pid = run(tools.log, strategy)

    (record,) = of(caplog)
    assert (record.levelno, record.levelname, record.getMessage()) == (logging.WARNING, "WARNING", "hello, 42")
    assert (record.funcName, record.module, record.process) == ("log", "logging_tools", pid)
    assert Path(record.pathname).samefile(str(tools.__file__))


def test_an_async_tools_records_come_too(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    run(tools.log_async, strategy)

    assert [record.getMessage() for record in of(caplog)] == ["from a coroutine"]


def test_a_traceback_comes_as_text(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    run(tools.log_error, strategy)

    (record,) = of(caplog)
    shown = logging.Formatter().format(record)
    for part in ("it failed", "Traceback", "in log_error", "KeyError: 'MISSING'", "Stack (most recent call last)"):
        assert part in shown


def test_what_cannot_travel_comes_as_its_text(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    run(tools.log_odd, strategy)

    (record,) = of(caplog)
    assert (record.levelno, record.getMessage()) == (25, "an unpicklable one")
    assert {"held": "an unpicklable one", "data": {"a": [1, 2.5, None]}, "marked": "text", "flag": True} == {
        name: getattr(record, name) for name in ("held", "data", "marked", "flag")
    }


def test_arguments_that_do_not_fit_cost_the_record_and_not_the_call(
    strategy: tx.Strategy, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(tools.log_badly, strategy) == "went on"
    assert of(caplog) == []


def test_what_nobody_wants_is_not_sent(
    strategy: tx.Strategy, caplog: pytest.LogCaptureFixture, sent: list[Any]
) -> None:
    def count(name: str) -> tuple[list[str], int]:
        caplog.clear()
        sent.clear()
        run(tools.log_at_all_levels, strategy, names=[name])
        return [record.getMessage() for record in of(caplog, name)], len(sent)

    assert count("levels") == (["WARNING", "ERROR"], 2)
    caplog.set_level(logging.ERROR)
    assert count("levels") == (["ERROR"], 1)
    caplog.set_level(logging.INFO)
    assert count("levels") == (["INFO", "WARNING", "ERROR"], 3)
    logging.disable(logging.WARNING)
    try:
        assert count("levels") == (["ERROR"], 1)
    finally:
        logging.disable(logging.NOTSET)
    caplog.set_level(logging.WARNING)
    caplog.set_level(logging.DEBUG, logger="levels.deep")
    assert count("levels.deep.deeper")[0] == ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert count("levels")[0] == ["WARNING", "ERROR"], "one logger's level is no other's"


def test_levels_that_are_set_and_lowered_are_seen() -> None:
    """The lowest one is remembered until any is set."""
    names = [logging.getLogger(f"toolexec_test.level_{number}") for number in range(3)]
    try:
        before = _logs.wanted_level()
        names[0].setLevel(7)
        assert (7, 7) == (_logs.wanted_level(), _logs.wanted_level())
        names[1].setLevel(5)
        assert _logs.wanted_level() == 5
        names[1].setLevel(logging.NOTSET)
        assert _logs.wanted_level() == 7
    finally:
        for logger in names:
            logger.setLevel(logging.NOTSET)

    assert _logs.wanted_level() == before


def test_records_of_many_threads_come_whole(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    run(tools.log_much, strategy, count=100, threads=4)

    came = [record.getMessage().split() for record in of(caplog)]
    for number in range(4):
        assert [str(step) for step in range(100)] == [step for one, step, _ in came if one == str(number)]
    assert {"x" * 1000} == {text for _, _, text in came}


def test_records_and_progress_come_in_order(strategy: tx.Strategy) -> None:
    order: list[str] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            order.append(f"log {record.getMessage()}")

    handler = Noting()
    tools.LOG.addHandler(handler)
    try:
        ctx = tx.Context(tools=[tools.log_and_report], strategy=strategy)
        call = {"name": "log_and_report", "arguments": {}}
        ctx.submit(call, on_progress=lambda report: order.append(f"progress {report.done}")).wait()
    finally:
        tools.LOG.removeHandler(handler)

    assert [f"{what} {number}" for number in range(3) for what in ("log", "progress")] == order


def test_the_hosts_handlers_see_the_submitters_context(strategy: tx.Strategy) -> None:
    seen: list[tuple[str, bool]] = []
    here = threading.get_ident()

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((tools.REQUEST.get(), threading.get_ident() == here))
            tools.REQUEST.set("left by a handler")

    handler = Noting()
    tools.LOG.addHandler(handler)

    def submit() -> str:
        tools.REQUEST.set("r7")
        run(tools.log, strategy)
        run(tools.log, strategy)
        return tools.REQUEST.get()

    try:
        assert Context().run(submit) == "r7"
    finally:
        tools.LOG.removeHandler(handler)

    assert [("r7", False), ("r7", False)] == seen


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_handler_that_fails_harms_no_call(
    strategy: tx.Strategy, error: type[BaseException], capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(record: logging.LogRecord) -> bool:
        raise error("a broken filter")

    tools.LOG.addFilter(refuse)
    try:
        assert run(tools.log, strategy) > 0
    finally:
        tools.LOG.removeFilter(refuse)

    assert "a broken filter" in capfd.readouterr().err


def test_a_handler_that_logs_and_runs_tools_itself_is_no_endless_loop(
    strategy: tx.Strategy, caplog: pytest.LogCaptureFixture
) -> None:
    class Busy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logging.getLogger("logging_tools.other").warning("about %s", record.getMessage())
            tx.run(tools.log, {"level": logging.DEBUG}, strategy)

    handler = Busy()
    tools.LOG.addHandler(handler)
    try:
        run(tools.log, strategy)
    finally:
        tools.LOG.removeHandler(handler)

    assert len(of(caplog)) == len(of(caplog, "logging_tools.other")) == 1


def test_what_the_hook_logs_comes_too(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with Gate(tmp_path / "gate") as gate:
        ctx = tx.Context(tools=[tools.LogsWhenStopped], strategy=strategy)
        task = ctx.submit({"name": "logs-when-stopped", "arguments": {"gate": gate}})
        gate.wait_until_reached()
        task.interrupt()
        task.wait(timeout=10)

    assert "told to stop" in [record.getMessage() for record in of(caplog)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_records_come_up_through_nested_calls(strategy: tx.Strategy, caplog: pytest.LogCaptureFixture) -> None:
    if strategy.name == "interpreter":
        pytest.skip("an interpreter cannot fork")

    assert run(tools.log_from_inside, strategy, where="fork") == "ok"
    assert [record.getMessage() for record in of(caplog)] == ["outer", "inner, 42"]


# In programs of their own, whose stderr is looked at


SETS_UP = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="[root] %(message)s", level=logging.INFO)
own = logging.getLogger("own")
own.addHandler(logging.StreamHandler())
own.handlers[0].setFormatter(logging.Formatter("[own] %(message)s"))
apart = logging.getLogger("apart")
apart.addHandler(logging.StreamHandler())
apart.handlers[0].setFormatter(logging.Formatter("[apart] %(message)s"))
apart.propagate = False

def speak():
    logging.getLogger("any").info("one")
    own.info("two")
    apart.info("three")
"""


def program(code: str, tmp_path: Path) -> list[str]:
    """Run it; the lines it wrote to stderr."""
    script = tmp_path / "program.py"
    script.write_text("import logging, sys\nimport toolexec as tx\n" + textwrap.dedent(code))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=40, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_twice(name: str, tmp_path: Path) -> None:
    """The tool's module sets handlers up when it is imported: in the host, and in the worker again."""
    (tmp_path / "sets_up.py").write_text(SETS_UP)
    lines = program(
        f"""
        import sets_up
        with tx.strategy({name!r}, window=1) as strategy:
            for _ in range(2):
                tx.run(tx.tool(sets_up.speak), {{}}, strategy).unwrap()
        """,
        tmp_path,
    )

    once = ["[apart] three", "[own] two", "[root] one", "[root] two"]
    assert sorted(once * 2) == sorted(lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_that_configures_logging_does_not_change_that(name: str, tmp_path: Path) -> None:
    lines = program(
        f"""
        import logging_tools
        logging.basicConfig(format="[host] %(message)s")
        with tx.strategy({name!r}, window=1) as strategy:
            tx.run(logging_tools.configure_and_log, {{}}, strategy).unwrap()
        """,
        tmp_path,
    )

    assert ["[host] configured by the tool"] == lines


@pytest.mark.parametrize("name", NAMES)
def test_a_host_that_never_configured_logging_shows_warnings_as_ever(name: str, tmp_path: Path) -> None:
    lines = program(
        f"""
        import logging_tools
        with tx.strategy({name!r}) as strategy:
            tx.run(logging_tools.log_at_all_levels, {{"names": ["any"]}}, strategy).unwrap()
        """,
        tmp_path,
    )

    assert ["WARNING", "ERROR"] == lines


@pytest.mark.parametrize("name", [FORK])
def test_a_process_of_the_tools_own_writes_for_itself(name: str, tmp_path: Path) -> None:
    """The wire to the host is its parent's; what it logs is not lost all the same."""
    lines = program(
        f"""
        import logging_tools
        logging.basicConfig(format="[host] %(message)s")
        assert tx.run(logging_tools.log_in_a_fork, {{}}, {name!r}).value == 0
        """,
        tmp_path,
    )

    assert ["from a fork of the tool"] == lines
