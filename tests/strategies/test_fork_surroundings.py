"""The options of fork that say where its tools find themselves: env and cwd."""

# Pipes and descriptors are not what pathlib is for:
# ruff: noqa: PTH109, RUF100

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import remote_tools as tools
import toolexec as tx
from toolexec_strategies.fork import ForkStrategy

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def where(fork: ForkStrategy) -> Any:
    return tx.run(tools.where, {}, fork).unwrap()


def test_env_adds_replaces_and_removes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEXEC_REPLACED", "the host's")
    monkeypatch.setenv("TOOLEXEC_REMOVED", "a secret")
    given: dict[str, str | None] = {"TOOLEXEC_ADDED": "new", "TOOLEXEC_REPLACED": "ours", "TOOLEXEC_REMOVED": None}
    expected = {**os.environ, "TOOLEXEC_ADDED": "new", "TOOLEXEC_REPLACED": "ours"}
    del expected["TOOLEXEC_REMOVED"]
    with ForkStrategy(env=given) as fork:
        given.clear()  # a copy was made
        first = where(fork)["environment"]
        monkeypatch.setenv("TOOLEXEC_REPLACED", "changed")
        monkeypatch.setenv("TOOLEXEC_REMOVED", "changed")
        monkeypatch.setenv("TOOLEXEC_LATER", "changed")
        second = where(fork)["environment"]

    assert expected == first
    assert {**expected, "TOOLEXEC_LATER": "changed"} == second, "what it does not name still follows the host"
    assert os.environ["TOOLEXEC_REPLACED"] == "changed"


def test_env_is_there_when_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reads_environment.py").write_text(
        "import os\nSEEN = os.environ.get('TOOLEXEC_SEEN')\ndef seen():\n    return SEEN\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    tool = tx.tool(__import__("reads_environment").seen)
    try:
        with ForkStrategy(env={"TOOLEXEC_SEEN": "yes"}) as fork:
            assert tx.run(tool, {}, fork).value == "yes"
    finally:
        del sys.modules["reads_environment"]


@pytest.mark.parametrize("kind", [str, Path])
def test_cwd_is_where_tools_run(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Path.cwd()
    with ForkStrategy(cwd=kind(tmp_path)) as fork:
        assert where(fork)["cwd"] == str(tmp_path)
        monkeypatch.chdir(tmp_path.parent)
        assert where(fork)["cwd"] == str(tmp_path)
        monkeypatch.chdir(before)


def test_cwd_is_taken_from_where_the_host_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    fork = ForkStrategy(cwd="inner")
    monkeypatch.chdir("/")
    with fork:
        assert where(fork)["cwd"] == str(tmp_path / "inner")


def test_with_cwd_the_hosts_folder_is_still_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program started by ``python -c`` or ``-m`` has "" on its path: the folder that it is in."""
    (tmp_path / "beside_the_host.py").write_text("def answer():\n    return 42\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    tool = tx.tool(__import__("beside_the_host").answer)
    try:
        with ForkStrategy(cwd="elsewhere") as fork:
            assert tx.run(tool, {}, fork).value == 42
    finally:
        del sys.modules["beside_the_host"]


def test_a_cwd_that_went_away_loses_the_call(tmp_path: Path) -> None:
    """Not anywhere else: a tool that deletes what it finds was meant to find something else."""
    folder = tmp_path / "gone"
    folder.mkdir()
    with ForkStrategy(cwd=folder) as fork:
        folder.rmdir()
        ret = tx.run(tools.where, {}, fork)
        folder.mkdir()
        again = tx.run(tools.where, {}, fork)

    assert (ret.status, ret.attempts) == ("lost", 0)
    assert isinstance(ret.exception, tx.WorkerLost)
    assert ret.exception.pid not in (None, os.getpid())
    for part in (str(folder), "cwd", "No such file"):
        assert part in str(ret.exception)
    assert again.ok


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"env": ["A=b"]}, TypeError, "env is of type list"),
        ({"env": {"A": 3}}, TypeError, r"env\['A'\] is of type int"),
        ({"env": {"A=B": "c"}}, ValueError, "'A=B'"),
        ({"env": {"": "c"}}, ValueError, "''"),
        ({"env": {3: "c"}}, ValueError, "name 3"),
        ({"env": {"A": "b\0c"}}, ValueError, r"env\['A'\] has a NUL"),
        ({"cwd": 3}, TypeError, "cwd is 3"),
        ({"cwd": "/nowhere/at/all"}, ValueError, "cwd is '/nowhere/at/all': there is no such folder"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        ForkStrategy(**options)


def test_a_refusal_does_not_show_values() -> None:
    with pytest.raises(ValueError, match="NUL") as caught:
        ForkStrategy(env={"TOKEN": "hunter2\0"})

    assert "hunter2" not in str(caught.value)
