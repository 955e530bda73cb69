"""What the README says is so: its examples run, its tables are the code's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolexec as tx
from documents import as_responses, examples_in, run_example
from toolexec._return import STATUSES
from toolexec.lowlevel import usable_cpus

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(README)


def test_the_readme_has_examples() -> None:
    """The pattern above still finds them."""
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number: int, tmp_path: Path) -> None:
    """Each example is a script that runs by itself, without a warning, and whose assertions hold."""
    run_example(EXAMPLES[number], tmp_path)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_example_of_supervising_runs_for_the_responses_of_a_provider(provider: str, tmp_path: Path) -> None:
    (example,) = [example for example in EXAMPLES if "on_confirm=" in example]
    run_example(as_responses(example, provider), tmp_path)


def test_the_table_of_defaults_is_the_codes() -> None:
    """Window and grace of every strategy stand in the README as they are."""
    rows = {
        cells[0].strip(" `").split("`")[0]: [cell.strip() for cell in cells[1:]]
        for line in README.splitlines()
        if line.startswith(("| `window`", "| `grace`", "| option |"))
        for cells in [line.strip("|").split("|")]
    }
    for column, name in enumerate(rows["option"]):
        try:
            strategy = tx.strategy(name)
        except tx.StrategyUnavailable:
            continue  # the interpreter strategy, before Python 3.14
        with strategy:
            written = rows["window"][column]
            window = None if written == "none" else max(2, usable_cpus()) if "CPUs" in written else int(written)
            assert (name, window) == (name, strategy.window)
            assert float(rows["grace"][column]) == strategy.grace


def test_the_table_of_statuses_is_the_codes() -> None:
    """The README explains each status there is, and each has the flags it says."""
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (yes)? ?\| (yes)? ?\| (yes)? ?\|$", README, re.MULTILINE)
    assert sorted(STATUSES) == sorted(status for status, *_ in rows)
    for status, ok, error, cancelled in rows:
        ret = tx.Return(id=None, name="t", value=None, status=status)
        assert (ret.ok, ret.error, ret.cancelled) == (bool(ok), bool(error), bool(cancelled))
