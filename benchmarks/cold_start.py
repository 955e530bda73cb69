"""What comes before the first call: the import, a declaration, and a first call in a new program under each strategy.

python benchmarks/cold_start.py [--quick] [--rounds N] [--results FOLDER]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from _command import open_strategies, run
from _findings import Findings
from _rounds import Case, Plan, Samples, difference, interleave

ROUNDS = 25
BARE, IMPORT = "bare Python", "import toolexec"
_HERE = Path(__file__).parent
# Containers often ask for no bytecode to be kept; then each import would compile anew.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_TIME, _MODULES = "time", "modules"
_COUNT = "import sys; print(len(sys.modules))"

# The same program for each: an import, a declaration, and one call to its Return.
_FIRST_CALL = """
import toolexec as tx
from _tools import ADD
if __name__ == "__main__":
    assert tx.run(ADD, {{"a": 1, "b": 1}}, "{strategy}").value == 2
"""

_DECLARED = """
import toolexec as tx

@tx.tool
def add(a: int, b: int) -> int:
    return a + b
"""

_IMPORTS = {
    BARE: "pass",
    IMPORT: "import toolexec",
    "a tool declared": _DECLARED,
    "a Context of it": f"{_DECLARED}\ntx.Context(tools=[add])",
    "import concurrent.futures.thread": "import concurrent.futures.thread",
    "import asyncio": "import asyncio",
    "import pydantic": "import pydantic; pydantic.TypeAdapter",
    "import trio": "import trio",
}


def measure(plan: Plan, findings: Findings, stack: ExitStack) -> None:
    """Whole programs, from their start to their end."""
    programs = dict(_IMPORTS)
    for strategy in ("sequential",) if plan.quick else open_strategies(stack, findings):
        programs[f"a first call, {strategy}"] = _FIRST_CALL.format(strategy=strategy)
    samples = interleave([Case(row, _TIME, _program(code)) for row, code in programs.items()], plan)
    over: Samples = {
        (row, "over bare Python"): [a - b for a, b in zip(samples[row, _TIME], samples[BARE, _TIME], strict=True)]
        for row in programs
    }
    findings.add_table("A program, from its start to its end", "ms", {**samples, **over}, scale=1e3)
    modules: Samples = {(row, _MODULES): [float(_modules(code))] for row, code in _IMPORTS.items()}
    findings.add_table("Modules that are loaded then", "modules", modules)
    findings.figures["import-ms"] = 1e3 * difference(samples, (IMPORT, _TIME), (BARE, _TIME))
    findings.figures["import-modules"] = difference(modules, (IMPORT, _MODULES), (BARE, _MODULES))


def _program(code: str) -> Callable[[], float]:
    def run_once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=_HERE, env=_ENVIRONMENT)
        return time.perf_counter() - started

    return run_once


def _modules(code: str) -> int:
    command = [sys.executable, "-c", f"{code}\n{_COUNT}"]
    done = subprocess.run(command, check=True, cwd=_HERE, env=_ENVIRONMENT, capture_output=True, text=True)
    return int(done.stdout)


if __name__ == "__main__":
    run("cold_start", measure, rounds=ROUNDS)
