"""What is loaded at the import, by declaring a tool, by a first call and in a worker: counted, not timed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

# Frameworks, and what of the standard library takes long to load and is in few programs anyway.
HEAVY = (
    "anyio",
    "asyncio",
    "cloudpickle",
    "concurrent",
    "docstring_parser",
    "hashlib",
    "multiprocessing",
    "opentelemetry",
    "secrets",
    "ssl",
    "subprocess",
    "tblib",
    "trio",
)
DECLARED = "import toolexec as tx\n@tx.tool\ndef add(a: int, b: int) -> int: return a + b\n"
CALLED = DECLARED + (
    "context = tx.Context(tools=[add])\n"
    "context.receive([{'id': '1', 'name': 'add', 'arguments': {'a': 1, 'b': 2}}])\n"
    "assert context.wait('sequential')[0].value == 3\n"
)


def _loaded(code: str, tmp_path: Path) -> set[str]:
    """The modules that `code` loads in a fresh Python."""
    # The difference, not the whole: a measuring tool in the child may have loaded some before us.
    code = f"import sys; before = set(sys.modules)\n{code}\nprint(*set(sys.modules) - before)"
    # -P and the folder: nothing may be imported from where the tests happen to be started.
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def _own(modules: Collection[str]) -> set[str]:
    return {name for name in modules if name.startswith("toolexec")}


def test_the_import_loads_nearly_nothing(tmp_path: Path) -> None:
    """Who never calls a tool pays for no engine either."""
    loaded = _loaded("import toolexec", tmp_path)

    assert {"toolexec", "toolexec._lazy_names"} == _own(loaded)
    assert 40 >= len(loaded), sorted(loaded)
    assert set() == loaded & {*HEAVY, "dataclasses", "inspect", "json", "logging", "pathlib", "pydantic", "traceback"}


def test_declaring_a_tool_loads_nothing_that_runs_one(tmp_path: Path) -> None:
    loaded = _loaded(DECLARED, tmp_path)

    assert 25 >= len(_own(loaded)), sorted(_own(loaded))
    assert 90 >= len(loaded), sorted(loaded)
    assert set() == loaded & {*HEAVY, "logging", "pathlib", "pydantic", "queue", "traceback"}


def test_a_first_call_loads_what_it_needs(tmp_path: Path) -> None:
    """No provider, no stream, no dump, no supervision; and of what is not ours, what validation brings along."""
    loaded = _loaded(CALLED, tmp_path)
    brought = _loaded("from pydantic import Field, TypeAdapter; TypeAdapter(int).json_schema()", tmp_path)

    assert 105 >= len(_own(loaded)), sorted(_own(loaded))
    assert 25 >= len(loaded - brought - _own(loaded)), sorted(loaded - brought - _own(loaded))
    assert set() == (loaded - brought) & set(HEAVY)
    unused = (
        "_assembling",
        "_dumping",
        "_otel_tracer",
        "_repair",
        "_restoring",
        "_stream",
        "_supervision",
        "providers",
    )
    assert set() == loaded & {f"toolexec.{name}" for name in unused}


@pytest.mark.parametrize("module", ["fork._server", "interpreter._inside"])
def test_a_worker_loads_nothing_that_only_its_host_needs(module: str, tmp_path: Path) -> None:
    """The time until a first isolated call is mostly this."""
    if module == "interpreter._inside" and sys.version_info < (3, 14):
        pytest.skip("subinterpreters are public from 3.14")
    loaded = _loaded(f"import toolexec_strategies.{module}", tmp_path)

    assert 60 >= len(_own(loaded)), sorted(_own(loaded))
    assert 150 >= len(loaded), sorted(loaded)
    host = ("_context", "_function", "_group", "_launch", "_lifecycle", "_strategy")
    assert set() == loaded & {f"toolexec.{name}" for name in host}
    assert set() == loaded & {"asyncio", "pydantic", "subprocess", "toolexec_strategies.fork._strategy", "trio"}
