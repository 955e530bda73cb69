"""What the command is given and cannot use: exit code 2, and a text that says what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import toolexec as tx
from command import TIMEOUT_S, toolexec

GOOD = "import toolexec\n@toolexec.tool\ndef fine() -> int:\n    return 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good file of tools and no calls."""
    (tmp_path / "good.py").write_text(GOOD, "utf-8")
    (tmp_path / "none.json").write_text("[]", "utf-8")
    return tmp_path


def _refused(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    assert (2, "") == (done.returncode, done.stdout)
    for text in texts:
        assert text in done.stderr
    assert "_cli" not in done.stderr, "our own frames tell a user nothing"


def test_calls_that_are_none(folder: Path) -> None:
    """The text shows what was seen."""
    done = toolexec("run", "-", "--tools", "good.py", cwd=folder, stdin='{"a": 1}')

    _refused(done, "no list of call dicts: dict {'a': 1}")


def test_a_file_that_is_no_json(folder: Path) -> None:
    """It is read before any tool's code is loaded."""
    done = toolexec("run", "good.py", "--tools", "absent.py", cwd=folder)

    _refused(done, "Error: good.py is no JSON: Expecting value, line 1 column 1")


def test_tools_that_raise_at_import(folder: Path) -> None:
    """What they raised is shown from their own line on."""
    (folder / "failing.py").write_text("1 / 0\n", "utf-8")

    done = toolexec("run", "none.json", "--tools", "failing.py", cwd=folder)

    _refused(done, "failing.py failed:", "line 1, in <module>", "ZeroDivisionError: division by zero")


def test_a_module_without_tools(folder: Path) -> None:
    """The text says what would be taken for one."""
    _refused(toolexec("tools", "json", cwd=folder), "there are no tools in", "@toolexec.tool")


def test_two_tools_of_one_name(folder: Path) -> None:
    """An error of declaration that shows only when all are together."""
    (folder / "good.py").write_text(f"{GOOD}again = toolexec.Function('fine')\nagain.define(print)\n", "utf-8")

    _refused(toolexec("tools", "good.py", cwd=folder), "Error: two tools are named 'fine'")


def test_unknown_strategy(folder: Path) -> None:
    """The text lists those there are."""
    done = toolexec("run", "none.json", "--tools", "good.py", "--strategy", "warp", cwd=folder)

    _refused(done, "no strategy named 'warp'", "asyncio", "fork", "interpreter", "sequential", "thread", "trio")


def test_unavailable_strategy(folder: Path) -> None:
    """The text says why, and what does run here; nothing ran."""
    try:
        tx.strategy("interpreter").close()
    except tx.StrategyUnavailable:
        done = toolexec("run", "none.json", "--tools", "good.py", "--strategy", "interpreter", cwd=folder)

        _refused(done, "the interpreter strategy cannot run here", "these can: asyncio")
    else:
        pytest.skip("every strategy can run here")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "none.json"], "Missing option '--tools'"),
        (["run", "none.json", "--tools", "good.py", "--window", "0"], "Invalid value for '--window'"),
        (["run", "none.json", "--tools", "good.py", "--format", "xml"], "'xml' is not one of 'json', 'table'"),
        (["frobnicate"], "No such command 'frobnicate'"),
    ],
)
def test_usage(folder: Path, args: list[str], said: str) -> None:
    """What stands on the command line."""
    _refused(toolexec(*args, cwd=folder), "Usage: toolexec", said)


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra(folder: Path, missing: str) -> None:
    """The library is complete without the command's two dependencies; the command says how to get them."""
    code = f"import sys; sys.modules[{missing!r}] = None; from toolexec._cli import main; sys.exit(main())"

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (2, "") == (done.returncode, done.stdout)
    assert "python -m pip install 'toolexec[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
