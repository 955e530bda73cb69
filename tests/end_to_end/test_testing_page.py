"""What the page on testing says is so: its examples run, and its table is of what a ScriptedModel has."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import examples_in, run_example, table_after
from toolexec.testing import ScriptedModel

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)


@pytest.mark.parametrize("number", range(6))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 6 == len(EXAMPLES)
    assert "\ndef test_" in EXAMPLES[number], "which is called"
    run_example(EXAMPLES[number], tmp_path)


def test_every_call_form_is_there() -> None:
    rows = table_after(PAGE, "numbered on through")
    forms = {row["the model is"].strip("`") for row in rows}

    assert {"model", "model.acall", "model.stream", "model.astream"} == forms
    assert all(callable(getattr(ScriptedModel, form.partition(".")[2] or "__call__")) for form in forms)
