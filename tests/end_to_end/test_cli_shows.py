"""`toolexec tools`, `toolexec strategies`, `--version` and `--help`: what there is."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

import toolexec as tx
from command import environment, toolexec

TOOLS = '''
from typing import Literal
import toolexec as tx

@tx.tool(strategy="fork")
def paint(colour: Literal["red", "blue"], coats: int = 2) -> None:
    """Paint the wall."""

class Rest(tx.Tool):
    """Do nothing."""

    name = "rest"

    def call(self) -> None: ...
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tools."""
    (tmp_path / "painter.py").write_text(TOOLS, "utf-8")
    return tmp_path


def test_tools_as_json(folder: Path) -> None:
    """The schemas that a model is sent; JSON by default where no person reads."""
    done = toolexec("tools", "painter.py", cwd=folder)

    paint, rest = json.loads(done.stdout)
    assert ("paint", "Paint the wall.", "fork") == (paint["name"], paint["description"], paint["strategy"])
    assert {"colour", "coats"} == set(paint["parameters"]["properties"])
    assert ["colour"] == paint["parameters"]["required"]
    assert ("rest", "Do nothing.", None) == (rest["name"], rest["description"], rest["strategy"])
    assert (0, "") == (done.returncode, done.stderr)


def test_tools_as_table(folder: Path) -> None:
    """What a person wants to know of them."""
    done = toolexec("tools", "painter", "--format", "table", cwd=folder, env=environment(COLUMNS="100"))

    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert [
        "tool parameters strategy description",
        "paint colour: 'red' | 'blue' fork Paint the wall.",
        "coats: integer = 2",
        "rest - - Do nothing.",
    ] == lines


def test_strategies_as_json(tmp_path: Path) -> None:
    """All that are installed, whether they run here or not."""
    done = toolexec("strategies", cwd=tmp_path)

    shown = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert {"asyncio", "fork", "interpreter", "sequential", "thread", "trio"} <= set(shown)
    assert (True, None, False, 64) == tuple(shown["thread"][key] for key in ("available", "why", "isolated", "window"))
    assert shown["fork"]["isolated"] is True
    for name, entry in shown.items():
        try:
            with tx.strategy(name) as made:
                assert (True, None, made.window) == (entry["available"], entry["why"], entry["window"])
        except tx.StrategyUnavailable:
            assert entry["available"] is False
            assert entry["why"]


def test_strategies_as_table(tmp_path: Path) -> None:
    """One line each."""
    done = toolexec("strategies", "--format", "table", cwd=tmp_path)

    head, *lines = done.stdout.splitlines()
    assert ["strategy", "isolated", "window", "runs", "here"] == head.split()
    assert "sequential no 1 yes" in [" ".join(line.split()) for line in lines]


def test_version(tmp_path: Path) -> None:
    """The installed one."""
    done = toolexec("--version", cwd=tmp_path)

    assert (0, f"toolexec {version('toolexec')}\n") == (done.returncode, done.stdout)


def test_help_tells_the_exit_codes(tmp_path: Path) -> None:
    """Line by line, as they are looked up."""
    done = toolexec("run", "--help", cwd=tmp_path)

    assert done.returncode == 0
    assert "    1    some calls are not\n" in done.stdout
