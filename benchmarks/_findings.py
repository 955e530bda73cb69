"""What one script has found: tables, and a figure for each of its targets; as text and as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _rounds import Samples, p99, ratio
from _targets import TARGETS, Target


@dataclass(frozen=True, slots=True)
class Cell:
    """One case: the median of its samples, in the table's unit.

    Attributes:
        median: Of all samples.
        p99: The 99th percentile; None where there are too few samples.
        ratio: To the row that this one stands beside, in the same column; the median of each round's.
        samples: How many rounds it was measured in.
    """

    median: float
    p99: float | None
    ratio: float | None
    samples: int


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured, in each of the columns that it has."""

    name: str
    cells: Mapping[str, Cell]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that are compared, in one unit."""

    title: str
    unit: str
    columns: Sequence[str]
    rows: Sequence[Row]


@dataclass(slots=True)
class Findings:
    """All that one script has found.

    Attributes:
        script: Its name.
        python: The label of the Python that ran it.
        head: The machine, the versions and the load.
        tables: What was measured.
        figures: One for each of the script's targets that could be measured, by key.
        missing: What could not be measured, and why.
        quick: Whether it only looked if it runs; then the figures say nothing.
    """

    script: str
    python: str
    head: dict[str, Any]
    tables: list[Table] = field(default_factory=list[Table])
    figures: dict[str, float] = field(default_factory=dict[str, float])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    quick: bool = False

    def add_table(
        self,
        title: str,
        unit: str,
        samples: Samples,
        *,
        beside: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
        scale: float = 1.0,
    ) -> None:
        """Summarise samples as a table, its rows and columns in the order of the cases.

        Args:
            title: What it is about.
            unit: What the cells are in, after scaling.
            samples: By row and column.
            beside: The row that each of these rows is compared to, where that has the same column.
            notes: What has to be known about a row.
            scale: What the samples are multiplied by.
        """
        rows: list[Row] = []
        for name in dict.fromkeys(row for row, _ in samples):
            reference = (beside or {}).get(name)
            cells: dict[str, Cell] = {}
            for row, column in samples:
                if row == name:
                    values = [value * scale for value in samples[row, column]]
                    against = (reference or "", column)
                    cells[column] = Cell(
                        statistics.median(values),
                        p99(values),
                        ratio(samples, (row, column), against) if against in samples else None,
                        len(values),
                    )
            rows.append(Row(name, cells, (notes or {}).get(name, "")))
        columns = list(dict.fromkeys(column for _, column in samples))
        self.tables.append(Table(title, unit, columns, rows))

    def as_text(self) -> str:
        """The tables, and whether the targets are met, as aligned plain text."""
        lines = [f"{self.script}, {heading(self.head)}"]
        for table in self.tables:
            width = 2 + max(len(row.name) for row in table.rows)
            lines += ["", f"{table.title} ({table.unit}, median; p99; ratio)"]
            lines.append(f"{'':{width}}" + "".join(f"{column:>26}" for column in table.columns))
            for row in table.rows:
                cells = "".join(f"{as_cell(row.cells.get(column)):>26}" for column in table.columns)
                lines.append(f"{row.name:{width}}{cells}{'  ' + row.note if row.note else ''}".rstrip())
        lines.append("")
        lines += [
            f"{target.what}: {verdict(target, self.figures[target.key], self.python)}"
            for target in TARGETS
            if target.key in self.figures
        ]
        lines += [f"not measured: {name}: {why}" for name, why in self.missing.items()]
        return "\n".join(lines)

    def write(self, folder: Path) -> None:
        """Keep it as ``folder/<python>/<script>.json``."""
        path = folder / self.python / f"{self.script}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Findings:
    """What ``write`` has kept."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    tables = [
        Table(
            table["title"],
            table["unit"],
            table["columns"],
            [
                Row(row["name"], {column: Cell(**cell) for column, cell in row["cells"].items()}, row["note"])
                for row in table["rows"]
            ],
        )
        for table in kept.pop("tables")
    ]
    return Findings(**kept, tables=tables)


def heading(head: Mapping[str, Any]) -> str:
    """The machine, in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    busy = f"load {head['load']} to {head.get('load_after', '?')}"
    return (
        f"{head['date']}, {head['python']}, {head['platform']}, {head['cpus']} CPUs, {busy}, "
        f"{head.get('rounds', '?')} rounds, {versions}"
    )


def verdict(target: Target, value: float, python: str) -> str:
    """The figure, and whether it is what it should be."""
    word = "met" if target.met(value, python) else "not met"
    sign = "≥" if target.at_least else "≤"
    limit = target.limit_under(python)
    return f"{word}: {as_figure(value, target.unit)}, target {sign} {as_figure(limit, target.unit)}"


def as_figure(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{as_number(value)}x" if unit == "x" else f"{as_number(value)} {unit}"


def as_number(value: float) -> str:
    """Three digits, as far as they tell something."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


def as_cell(cell: Cell | None) -> str:
    """A cell as it is shown: the median, the p99 where there is one, the ratio where there is one."""
    if cell is None:
        return ""
    high = f" / {as_number(cell.p99)}" if cell.p99 is not None else ""
    return f"{as_number(cell.median)}{high}" + (f" ({as_number(cell.ratio)}x)" if cell.ratio is not None else "")
