"""The names of `toolexec` and its `lowlevel` are imported when they are asked for, and are there all the same."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolexec
import toolexec as tx
import toolexec.lowlevel


def _child(code: str, tmp_path: Path) -> list[str]:
    """What a fresh Python prints, line by line."""
    command = [sys.executable, "-P", "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", tx.__all__)
def test_a_name_is_what_its_module_has_under_it(name: str) -> None:
    module = importlib.import_module(f"toolexec.{toolexec._MODULES[name]}")

    assert getattr(module, name) is getattr(toolexec, name)


@pytest.mark.parametrize("module", [toolexec, toolexec.lowlevel], ids=["toolexec", "lowlevel"])
def test_what_type_checkers_read_is_what_is_found(module: Any) -> None:
    """Three lists name the names: for type checkers, for `import *`, and for finding them."""
    read: dict[str, str] = {}
    for statement in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
        if isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("toolexec."):
            read |= {alias.name: str(statement.module).removeprefix("toolexec.") for alias in statement.names}

    assert module._MODULES == read
    assert module.__all__ == list(module._MODULES)


def test_names_are_listed_and_starred_before_one_was_asked_for(tmp_path: Path) -> None:
    code = (
        "import sys, toolexec; print(*dir(toolexec)); print('toolexec._context' in sys.modules)\n"
        "from toolexec import *; print(*globals())"
    )
    listed, loaded, starred = _child(code, tmp_path)

    assert set(tx.__all__) <= set(listed.split())
    assert "False" == loaded
    assert set(tx.__all__) <= set(starred.split())


def test_each_module_of_a_name_can_be_the_first_that_is_imported(tmp_path: Path) -> None:
    """None relies on what another has imported before it."""
    code = (
        "import sys, toolexec\n"
        "for name in list({module: name for name, module in toolexec._MODULES.items()}.values()):\n"
        "    for own in [own for own in sys.modules if own.startswith('toolexec')]: del sys.modules[own]\n"
        "    import toolexec\n"
        "    print(name in vars(toolexec), getattr(toolexec, name) is vars(toolexec)[name])"
    )

    assert {"False True"} == set(_child(code, tmp_path))


def test_threads_that_ask_for_names_at_the_same_time_all_get_them(tmp_path: Path) -> None:
    """Python hands one of two threads a half-made module where imports go in circles."""
    code = (
        "import sys, threading, toolexec\n"
        "sys.setswitchinterval(1e-5)\n"
        "names = toolexec.__all__ * 2\n"
        "start, got = threading.Barrier(len(names)), []\n"
        "def ask(name):\n"
        "    start.wait()\n"
        "    got.append((name, getattr(toolexec, name)))\n"
        "threads = [threading.Thread(target=ask, args=(name,)) for name in names]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print(len(got) == len(names), all(found is getattr(toolexec, name) for name, found in got))"
    )

    assert ["True True"] == _child(code, tmp_path)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'toolexec' has no attribute 'Contxt'$"):
        toolexec.Contxt  # type: ignore[attr-defined]  # noqa: B018 - type checkers see it too, which is the point
