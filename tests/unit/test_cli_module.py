"""Importing the module of tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolexec._cli._module import load_module
from toolexec._cli._refusal import Refusal

pytestmark = pytest.mark.usefixtures("imports_undone")


@pytest.fixture
def imports_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is imported from the test's own folder is forgotten after it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_file_is_imported_under_its_stem(tmp_path: Path) -> None:
    """So that a worker finds it by that name on the import path that travels with each call."""
    folder = tmp_path / "deeper"
    folder.mkdir()
    (folder / "tools-of-mine.py").write_text("import beside\n", "utf-8")
    (folder / "beside.py").touch()

    module = load_module("deeper/tools-of-mine.py")

    assert "tools-of-mine" == module.__name__
    assert sys.modules["tools-of-mine"] is module
    assert str(folder) == sys.path[0]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("absent.py", "absent.py does not exist"),
        ("absent/", "absent does not exist"),
        (".", ". is no file"),
        ("data.json", "data.json cannot be imported as a module"),
        ("dotted.name.py", "dotted.name.py cannot be imported as a module"),
        ("absent.module", "no module named 'absent' can be found from here"),
        ("json.absent", "no module named 'json.absent' can be found from here"),
        ("pytest.py", "would be imported as 'pytest', and that name is taken by"),
        ("sys.py", "would be imported as 'sys', and that name is taken by a built-in module"),
    ],
)
def test_a_place_without_a_module_is_refused(tmp_path: Path, where: str, said: str) -> None:
    for name in ("data.json", "dotted.name.py", "pytest.py", "sys.py"):
        (tmp_path / name).touch()

    with pytest.raises(Refusal) as caught:
        load_module(where)

    assert said in caught.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import nowhere_to_be_found\n", ["line 1, in <module>", "No module named 'nowhere_to_be_found'"]),
        ("raise SystemExit(0)\n", ["SystemExit: 0"]),
        ("x = (\n", ["SyntaxError: '(' was never closed"]),
        ("import toolexec\ntoolexec.factory(1)\n", ["line 2, in <module>", "DeclarationError: factory takes"]),
    ],
    ids=["raises", "exits", "no Python", "misdeclares"],
)
def test_what_an_import_raised_is_told_from_the_modules_own_line_on(
    tmp_path: Path, content: str, said: list[str]
) -> None:
    (tmp_path / "failing.py").write_text(content, "utf-8")

    with pytest.raises(Refusal) as caught:
        load_module("failing.py")

    message = caught.value.message
    assert message.startswith(f"importing {tmp_path / 'failing.py'} failed:\n")
    for text in said:
        assert text in message
    for file in ("_module.py", "_tool.py", "importlib"):
        assert file not in message


def test_of_a_long_story_the_last_lines_are_told(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("def f():\n    f()\nf()\n", "utf-8")

    with pytest.raises(Refusal) as caught:
        load_module("endless.py")

    lines = caught.value.message.splitlines()
    assert len(lines) == 12
    assert lines[-1].startswith("RecursionError: ")
