"""Who stands outside the engine uses what everybody may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolexec
import toolexec_pytest
import toolexec_strategies

ENGINE = Path(toolexec.__path__[0])
CHECKOUT = Path(__file__).parents[2]

# The strategies and the testing tools have no more rights than a third party's, and what the
# examples and the user code show must be what a user can write.
OUTSIDERS = {
    "strategies": Path(toolexec_strategies.__path__[0]),
    "testing": ENGINE / "testing",
    "pytest plugin": Path(toolexec_pytest.__path__[0]),
    "providers": ENGINE / "providers",
    "examples": CHECKOUT / "examples",
    "typing": CHECKOUT / "tests" / "typing",
    "plugin_dist": CHECKOUT / "tests" / "plugin_dist",
    "provider_dist": CHECKOUT / "tests" / "provider_dist",
}


def _private_imports(path: Path) -> Iterator[str]:
    """What the file takes from a private module of the engine, or by a private name of it."""
    inside_testing = OUTSIDERS["testing"] in path.parents
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue  # a relative import stays in its own room, which a test below asks for
        for name in names:
            if inside_testing and name.startswith("toolexec.testing."):
                continue
            top, *rest = name.split(".")
            if top == "toolexec" and any(part.startswith("_") for part in rest):
                yield f"{path.name}:{node.lineno} imports {name}"


@pytest.mark.parametrize("where", OUTSIDERS)
def test_outsiders_use_public_names(where: str) -> None:
    """Nothing outside the engine reaches into it."""
    reached = [found for path in sorted(OUTSIDERS[where].rglob("*.py")) for found in _private_imports(path)]

    assert [] == reached


def test_imports_are_absolute() -> None:
    """A reader, and the test above, see from the line alone what is imported."""
    relative = [
        f"{path}:{node.lineno}"
        for root in (ENGINE, OUTSIDERS["strategies"])
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert [] == relative
