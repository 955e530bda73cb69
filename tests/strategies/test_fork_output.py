"""What forked tools print: where it goes, that captured text is all there, and that a flood of it harms nobody."""

# Descriptors are not what pathlib is for:
# ruff: noqa: PTH123, SIM115, RUF100

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import printing_tools as tools
import toolexec as tx
from toolexec.testing import Gate, assert_no_leftovers
from toolexec_strategies.fork import ForkStrategy
from toolexec_strategies.fork._capture import KEPT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def fork() -> Iterator[ForkStrategy]:
    with ForkStrategy(grace=1.0, stdout="capture", stderr="capture") as strategy:
        yield strategy


def run(tool: Any, strategy: tx.Strategy, **arguments: Any) -> tx.Return:
    return tx.run(tool, arguments, strategy)


def listen(tool: tx.Function, strategy: tx.Strategy, **arguments: Any) -> tuple[tx.Group, Iterator[str]]:
    """A group of one call, and what it prints, piece by piece."""
    ctx = tx.Context(tools=[tool], strategy=strategy)
    ctx.receive([{"name": tool.name, "arguments": arguments}])
    group = ctx.group()
    return group, (event.text for event in group.events() if isinstance(event, tx.Output))


# Captured


def test_both_streams_are_one_text_in_the_order_of_writing(fork: ForkStrategy) -> None:
    ret = run(tools.say_all_ways, fork)

    assert ret.output == "print, stderr, write, descriptor, process, shell\n"
    assert ret.to_record()["output"] == ret.output


def test_who_prints_nothing_has_an_empty_text(fork: ForkStrategy) -> None:
    assert run(tools.say, fork).output == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"stdout": "capture"}, "out"),
        ({"stderr": "capture", "stdout": "null"}, "err"),
        ({"stderr": "capture"}, "outerr"),  # stdout goes where stderr goes, unless it is said otherwise
        ({"stderr": "null", "stdout": "null"}, None),
    ],
    ids=str,
)
def test_either_stream_alone(options: dict[str, Any], expected: str | None, capfd: pytest.CaptureFixture[str]) -> None:
    with ForkStrategy(**options) as strategy:
        assert run(tools.say, strategy, text="out", err="err").output == expected

    shown = {(): "outerr", ("stdout",): "err"}.get(tuple(options), "")
    assert ("", shown) == capfd.readouterr()


def test_what_c_code_prints_is_not_lost(fork: ForkStrategy) -> None:
    assert run(tools.say_in_c, fork).output == "from C\n"


def test_a_text_that_is_no_utf8_is_shown_with_marks(fork: ForkStrategy) -> None:
    pieces = [b"caf\xe9 ", "né".encode(), b" \xf0\x9d\x84"]

    assert run(tools.say_bytes, fork, pieces=[list(piece) for piece in pieces]).output == "caf\ufffd né \ufffd"


def test_the_hosts_locale_does_not_change_the_text() -> None:
    with ForkStrategy(env={"PYTHONIOENCODING": "latin-1:namereplace"}, stdout="capture", stderr="capture") as strategy:
        assert run(tools.say, strategy, text="né €", err_code=0xDC80).output == "né €\\udc80"


def test_a_piece_is_an_event_as_soon_as_it_comes(fork: ForkStrategy, gate: Gate) -> None:
    """And a character that comes in two pieces is one."""
    euro = list("€".encode())
    group, texts = listen(tools.say_slowly, fork, gate=gate, pieces=[[97, *euro[:2]], [euro[2], 98]])

    assert next(texts) == "a"
    gate.wait_until_reached()
    assert group.alive
    gate.open()
    assert "".join(texts) == "€b"
    assert group.wait()[0].output == "a€b"


def test_half_a_megabyte_is_kept_in_part(fork: ForkStrategy) -> None:
    group, texts = listen(tools.say_much, fork, count=16_000)
    whole = "".join(texts)
    kept = group.wait()[0].output

    assert len(whole.encode()) > 500_000
    assert kept is not None
    head, cut, tail = re.split(r"\n\[\.\.\. (\d+) characters left out \.\.\.]\n", kept)
    assert (KEPT // 2, KEPT // 2, len(whole) - KEPT) == (len(head), len(tail), int(cut))
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert head.startswith("the beginning\n")
    assert tail.endswith("the end\n")
    assert "\ufffd" not in whole


def test_what_fits_is_kept_whole(fork: ForkStrategy) -> None:
    text = "é" * KEPT

    assert run(tools.say, fork, text=text).output == text
    longer = run(tools.say, fork, text=text + "x").output
    assert longer is not None
    assert "[... 1 characters left out ...]" in longer


def test_a_flood_neither_blocks_nor_fills_the_memory(fork: ForkStrategy) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = tools.flood.bind({}).task(fork, timeout=1.0)
    ret = task.wait(timeout=20)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    assert ret.status == "timeout"
    assert ret.output is not None
    assert len(ret.output) < KEPT + 100
    assert grown < 64 * 1024, "kibibytes; it has printed gigabytes"


@pytest.mark.parametrize("number", [0, signal.SIGKILL, signal.SIGSEGV], ids=["exit", "SIGKILL", "SIGSEGV"])
def test_a_crashed_call_keeps_its_output(fork: ForkStrategy, number: int) -> None:
    ret = run(tools.say_and_die, fork, number=int(number))

    assert (ret.status, ret.output) == ("lost", "last words and a complaint")


def test_a_call_out_of_time_keeps_its_output(fork: ForkStrategy) -> None:
    ret = run(tools.say_and_run_out, fork)

    assert (ret.status, ret.output) == ("timeout", "so far")


def test_an_interrupted_call_keeps_its_output(fork: ForkStrategy, gate: Gate) -> None:
    task = tools.say_and_wait.bind({"gate": gate}).task(fork)
    gate.wait_until_reached()
    task.interrupt()
    ret = task.wait(timeout=10)

    assert (ret.status, ret.output) == ("cancelled", "waiting, asked")


def test_a_killed_call_keeps_its_output(gate: Gate) -> None:
    with ForkStrategy(grace=0.2, stdout="capture") as strategy:
        task = tools.say_and_wait.bind({"gate": gate, "stubborn": True}).task(strategy)
        gate.wait_until_reached()
        task.interrupt()
        ret = task.wait(timeout=10)

    assert ret.status == "cancelled"
    assert not ret.abandoned
    assert ret.output is not None
    assert ret.output.startswith("waiting, asked")


def test_a_process_that_holds_the_output_open_delays_nothing(fork: ForkStrategy, gate: Gate) -> None:
    """One that left the process group, and writes without end: it is told that nobody reads any more."""
    ret = run(tools.leave_a_writer, fork, gate=gate)
    gate.wait_until_reached()

    assert ret.value == "done"
    assert ret.output is not None
    assert "done" in ret.output
    assert run(tools.say, fork, text="next").output == "next"


def test_calls_of_one_child_have_each_their_own() -> None:
    with ForkStrategy(window=1, stdout="capture", calls_per_child=None) as strategy:
        outputs = [run(tools.say, strategy, text=f"{number} ").output for number in range(10)]

    assert [f"{number} " for number in range(10)] == outputs


def test_capturing_leaves_no_descriptors() -> None:
    with assert_no_leftovers(), ForkStrategy(stdout="capture") as strategy:
        for number in range(20):
            assert run(tools.say, strategy, text=str(number)).output == str(number)
            run(tools.say_and_die, strategy, number=0)


# Not captured: programs of their own, whose output is looked at


def host(code: str, tmp_path: Path, redirect: str = "") -> tuple[str, str]:
    """Run a program, with redirections as a shell has them; what it wrote to stdout and to stderr."""
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys\nimport toolexec as tx\n"
        "from toolexec_strategies.fork import ForkStrategy\nimport printing_tools as tools\n" + textwrap.dedent(code)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" "$1" {redirect}', sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=40,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


SAY = """
with ForkStrategy({options}) as fork:
    ret = tx.run(tools.say, {{"text": "tool out ", "err": "tool err "}}, fork)
assert ret.value == "said", ret
note = os.open("note", os.O_WRONLY | os.O_CREAT)
os.write(note, repr(ret.output).encode())
"""


@pytest.mark.parametrize(
    ("options", "out", "err"),
    [
        ("", "", "tool out tool err "),
        ("stdout='inherit'", "tool out ", "tool err "),
        ("stdout='inherit', stderr='null'", "tool out ", ""),
        ("stdout='null'", "", "tool err "),
        ("stderr='null'", "", ""),
    ],
)
def test_where_the_output_goes(options: str, out: str, err: str, tmp_path: Path) -> None:
    assert (out, err) == host(SAY.format(options=options).replace('"note"', f'"{tmp_path}/note"'), tmp_path)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("options", ["", "stdout='inherit'", "stdout='capture', stderr='capture'"])
def test_a_host_without_standard_streams(closed: str, options: str, tmp_path: Path) -> None:
    host(SAY.format(options=options).replace('"note"', f'"{tmp_path}/note"'), tmp_path, closed)

    assert (tmp_path / "note").read_text() == repr("tool out tool err " if "capture" in options else None)


def test_a_file_in_the_place_of_a_closed_stream_is_not_written_to(tmp_path: Path) -> None:
    code = f"""
    os.close(1)
    assert os.open({str(tmp_path / "data")!r}, os.O_WRONLY | os.O_CREAT) == 1
    with ForkStrategy(stdout="inherit") as fork:
        assert tx.run(tools.say, {{"text": "tool out"}}, fork).value == "said"
    """
    host(code, tmp_path)

    assert (tmp_path / "data").read_text() == ""


def test_what_a_module_prints_at_import_is_printed_once(tmp_path: Path) -> None:
    (tmp_path / "prints_at_import.py").write_text(
        "import sys\nsys.stdout.write('<import>')\ndef nothing():\n    pass\n"
    )
    code = """
    import prints_at_import
    tool = tx.tool(prints_at_import.nothing)
    for _ in range(3):
        assert tx.run(tool, {}, "fork").ok
    """

    assert ("<import>", "<import>") == host(code, tmp_path)


# Refused


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"stdout": "pipe"}, "stdout is 'pipe': it takes one of 'stderr', 'inherit', 'capture', 'null'"),
        ({"stderr": "stderr"}, "stderr is 'stderr': it takes one of 'inherit', 'capture', 'null'"),
        ({"stdout": None}, "stdout is None"),
        ({"stderr": subprocess.DEVNULL}, "stderr is -3"),
    ],
)
def test_words_that_are_none_of_these_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        ForkStrategy(**options)
