"""What a call needs is imported in the server: a child that imported it would do so for every call anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import importing_tools as tools
import toolexec as tx
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def told(tool: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """How two calls ended, and what their children imported, from their start to their end."""
    monkeypatch.setenv("TOOLEXEC_TESTS_TOLD", str(path))
    path.touch()
    with ForkStrategy(window=1) as fork:
        ended = [tx.run(tool, {"a": 1, "b": 2}, fork).status for _ in range(2)]
    return list(ended), path.read_text().split()


@pytest.mark.parametrize(
    ("tool", "status"),
    [(tools.add, "ok"), (tools.add_async, "ok"), (tools.ask_for_the_call, "ok"), (tools.fail, "raised")],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_child_imports_nothing(tool: Any, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ([status, status], []) == told(tool, tmp_path / "told", monkeypatch)


def test_what_a_child_imports_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, imported = told(tools.import_one, tmp_path / "told", monkeypatch)

    assert ["raised", "raised"] == ended
    assert 2 == imported.count("this_module_is_nowhere")
