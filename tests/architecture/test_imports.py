"""What importing the packages leaves alone, and what their modules promise about themselves."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import toolexec
import toolexec_pytest
import toolexec_strategies

MOST_LINES = 400

PACKAGES = (toolexec, toolexec_strategies, toolexec_pytest)


def _sources() -> list[tuple[str, Path]]:
    """The dotted name and the file of every module of all packages, none of them imported."""
    found: list[tuple[str, Path]] = []
    for package in PACKAGES:
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            parts = [package.__name__, *path.relative_to(root).with_suffix("").parts]
            found.append((".".join(part for part in parts if part != "__init__"), path))
    return found


SOURCES = _sources()
SOURCE_IDS = [name for name, _ in SOURCES]
PUBLIC = [name for name in SOURCE_IDS if not any(part.startswith("_") for part in name.split("."))]


def _isolated(code: str, *, cwd: Path) -> str:
    """Run `code` in a fresh interpreter, away from the checkout; give what it printed."""
    # -P and the folder: nothing may be imported from where the tests happen to be started.
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_of_the_strategies_loads_none_of_them(tmp_path: Path) -> None:
    """A strategy is loaded by its name, on first use."""
    code = "import sys, toolexec_strategies; print(*(m for m in sys.modules if m.startswith('toolexec_strategies.')))"

    assert _isolated(code, cwd=tmp_path).split() == []


def test_the_pytest_plugin_imports_nothing_of_ours(tmp_path: Path) -> None:
    """Pytest loads it before what measures coverage, and in everybody's runs."""
    code = "import sys, toolexec_pytest; print(*(m for m in sys.modules if m.startswith('toolexec')))"

    assert _isolated(code, cwd=tmp_path).split() == ["toolexec_pytest"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="subinterpreters are public from 3.14")
def test_import_works_in_a_subinterpreter(tmp_path: Path) -> None:
    """A tool that runs in an interpreter may import the library."""
    code = (
        "from concurrent import interpreters\n"
        "inside = interpreters.create()\n"
        "inside.exec('import toolexec')\n"
        "inside.close()\n"
        "print('imported')"
    )

    assert _isolated(code, cwd=tmp_path).strip() == "imported"


@pytest.mark.parametrize("name", PUBLIC)
def test_all_names_what_is_public(name: str) -> None:
    """`__all__` is sorted out by hand and kept by this test: no name missing, none invented."""
    module = importlib.import_module(name)
    stated = list(getattr(module, "__all__", ()))

    assert len(set(stated)) == len(stated), "a name is listed twice"
    assert set() == {listed for listed in stated if not hasattr(module, listed)}
    # The room of a strategy or provider is entered by its entry point: it need not list its one class.
    if stated or not name.startswith(("toolexec_strategies", "toolexec.providers.")):
        assert set() == _visible(module) - set(stated)


def _visible(module: ModuleType) -> set[str]:
    """The names that a reader takes for public: no underscore, no module, made in this room."""
    own = module.__name__
    rooms: tuple[str, ...] = ()
    if hasattr(module, "__path__"):
        rooms = (f"{own}.",)  # a package re-exports what stands below it
    elif own.startswith("toolexec."):
        rooms = ("toolexec._",)  # and so does a plain public module of the engine (toolexec.lowlevel)
    names: set[str] = set()
    for name, value in vars(module).items():
        home = getattr(value, "__module__", None)
        if name.startswith("_") or isinstance(value, ModuleType) or not isinstance(home, str):
            continue
        if home == own or home.startswith(rooms):
            names.add(name)
    return names


@pytest.mark.parametrize(("name", "path"), SOURCES, ids=SOURCE_IDS)
def test_docstring_says_the_idea_in_one_sentence(name: str, path: Path) -> None:
    """If the first line needs two sentences, the module holds two ideas."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))

    assert docstring, f"{name} has no docstring"
    first = docstring.splitlines()[0]
    assert re.fullmatch(r".*[^.][.?!]", first), f"{name}: the first line is no sentence: {first!r}"
    assert not re.search(r"[.?!] [A-Z]", first), f"{name}: more than one sentence: {first!r}"


@pytest.mark.parametrize(("name", "path"), SOURCES, ids=SOURCE_IDS)
def test_modules_stay_small(name: str, path: Path) -> None:
    """One file, one idea: what has grown past this has found a second one."""
    lines = len(path.read_text("utf-8").splitlines())

    assert lines <= MOST_LINES, f"{name} has {lines} lines"
