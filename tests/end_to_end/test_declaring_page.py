"""What the page on declaring tools says is so: its examples run, and each row of its tables is what happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import toolexec as tx
from documents import examples_in, run_example, table_after
from toolexec._tool import ToolOptions

PAGE = (Path(__file__).parents[2] / "docs" / "declaring-tools.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)
ROWS = table_after(PAGE, "<!-- table: conversions -->")
OPTIONS = {row["option"].strip("`"): row["default"].strip("`") for row in table_after(PAGE, "<!-- table: options -->")}
TYPES: dict[str, Any] = {str(kind).removeprefix("typing."): kind for kind in (list[int], dict[str, int], Literal[1])}
TYPES.update({kind.__name__: kind for kind in (int, float, bool, str)})


@pytest.mark.parametrize("number", range(10))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 10 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row.values()))
def test_F11_a_row_of_the_table_is_what_happens(row: dict[str, str]) -> None:
    kind, sent, becomes = (cell.strip("`") for cell in row.values())
    fn = tx.Function("f")
    fn.param("a", TYPES[kind])
    fn.define(lambda a: a)

    ret = tx.run(fn, f'{{"a": {sent}}}')

    if becomes == "refused":
        assert "bad_arguments" == ret.status
    else:
        meant = json.loads(becomes)
        assert (meant, type(meant)) == (ret.value, type(ret.value))


def test_the_table_of_options_has_all_of_them_with_their_defaults() -> None:
    said = {"the Context's": None, "none": None, "True": True, "False": False, "tx.Json()": tx.Json()}

    assert {name: getattr(tx.Tool, name) for name in ToolOptions.__annotations__} == {
        name: said.get(default, default.strip('"')) for name, default in OPTIONS.items()
    }
