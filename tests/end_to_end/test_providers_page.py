"""What the page on providers says is so: its examples run, and its table has every provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import examples_in, run_example
from provider_formats import PROVIDERS

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)


@pytest.mark.parametrize("number", range(6))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 6 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


def test_every_provider_has_a_row() -> None:
    assert all(f"\n| `{provider}` |" in PAGE for provider in PROVIDERS)
