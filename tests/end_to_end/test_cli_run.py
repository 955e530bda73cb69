"""`toolexec run`: from a file of calls to the Returns on standard output."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from command import COMMAND, TIMEOUT_S, environment, essence, read_terminal, records, toolexec

TOOLS = '''
import toolexec as tx

@tx.tool
def double(text: str) -> str:
    """Say it twice."""
    return text + text

@tx.tool
def fail() -> None:
    """Fail."""
    raise ValueError("as [bold]asked\\x1b[31m")
'''
CALLS = [{"id": "a", "name": "double", "arguments": {"text": "ß"}}, {"id": "b", "name": "fail", "arguments": "{}"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tools and with calls of them."""
    (tmp_path / "mytools.py").write_text(TOOLS, "utf-8")
    (tmp_path / "calls.json").write_text(json.dumps(CALLS), "utf-8")
    (tmp_path / "good.json").write_text(json.dumps(CALLS[:1]), "utf-8")
    return tmp_path


def test_returns_are_records_in_call_order(folder: Path) -> None:
    """Each object is a Return's whole record; standard error is quiet where nobody looks on."""
    done = toolexec("run", "calls.json", "--tools", "mytools.py", cwd=folder)

    first, second = records(done)
    assert [("double", "ok", "ßß"), ("fail", "raised", "ValueError")] == [essence(first), essence(second)]
    assert ("a", "thread", 1) == (first["id"], first["strategy"], first["attempts"])
    assert done.returncode == 1
    assert done.stderr == ""
    assert "ßß" in done.stdout, "what JSON can show it shows"


def test_all_ok_is_exit_code_0(folder: Path) -> None:
    """A script can go by it."""
    done = toolexec("run", "good.json", "--tools", "mytools.py", "--window", "1", cwd=folder)

    assert [("double", "ok", "ßß")] == [essence(record) for record in records(done)]
    assert done.returncode == 0


@pytest.mark.parametrize("content", ["[]", json.dumps({"choices": [{"message": {"content": "Hi."}}]})])
def test_no_calls_are_no_error(folder: Path, content: str) -> None:
    """A model that only talks gets an empty list."""
    done = toolexec("run", "-", "--tools", "mytools.py", cwd=folder, stdin=content)

    assert ("[]\n", 0) == (done.stdout, done.returncode)


def test_a_dash_reads_standard_input_and_a_dotted_name_is_a_module(folder: Path) -> None:
    """The module is found in the working folder, under the name a worker finds it by."""
    done = toolexec("run", "-", "--tools", "mytools", "--strategy", "fork", cwd=folder, stdin=json.dumps(CALLS[:1]))

    assert [("double", "ok", "ßß")] == [essence(record) for record in records(done)]


def test_forked_children_import_a_file_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its folder comes to the front of the import path."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    done = toolexec("run", folder / "good.json", "--tools", folder / "mytools.py", "--strategy", "fork", cwd=elsewhere)

    assert [("double", "ok", "ßß")] == [essence(record) for record in records(done)]


def test_a_lone_surrogate_is_written_as_an_escape(folder: Path) -> None:
    """A made-up tool name may hold one; UTF-8 may not."""
    done = toolexec("run", "-", "--tools", "mytools.py", cwd=folder, stdin='[{"name": "\\ud800"}]')

    assert "\ud800" == records(done)[0]["name"]


def test_table(folder: Path) -> None:
    """One line a call; what tools wrote is shown, not obeyed."""
    done = toolexec(
        "run", "calls.json", "--tools", "mytools.py", "--format", "table", cwd=folder, env=environment(COLUMNS="100")
    )

    head, first, second = (line.split() for line in done.stdout.splitlines())
    assert ["tool", "status", "strategy", "time", "answer"] == head
    assert (["double", "ok", "thread"], "ßß") == (first[:3], first[-1])
    assert ["fail", "raised", "thread"] == second[:3]
    assert "ValueError: as [bold]asked\N{REPLACEMENT CHARACTER}[31m" in " ".join(second)
    assert done.returncode == 1


def test_progress_goes_to_a_terminal(folder: Path) -> None:
    """Whoever looks on sees each call settle; standard output still has the JSON alone."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "run", "calls.json", "--tools", "mytools.py"],
        cwd=folder,
        env=environment(TERM="dumb"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = read_terminal(ours)
        assert process.stdout is not None
        stdout = process.stdout.read()
        assert process.wait(TIMEOUT_S) == 1

    begin, *lines, end = shown.splitlines()
    assert begin == "2 calls, strategy auto"
    assert end.startswith("2 calls in ")
    assert end.endswith((": 1 ok, 1 raised", ": 1 raised, 1 ok"))
    assert {("ok", "double"), ("raised", "fail")} == {tuple(line.split()[:2]) for line in lines}
    assert ["a", "b"] == [record["id"] for record in json.loads(stdout)]


def test_python_m(folder: Path) -> None:
    """The same command, for who has no scripts folder on the PATH."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "toolexec", "run", "good.json", "--tools", "mytools.py"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )

    assert [("double", "ok", "ßß")] == [essence(record) for record in records(done)]
    assert done.returncode == 0
