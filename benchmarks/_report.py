"""The report: what the samples say, as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from _cases import Case
from toolexec import Strategy
from toolexec.lowlevel import usable_cpus

# Of fewer samples the 99th percentile is their maximum by another name.
_ENOUGH_FOR_P99 = 100

# Microseconds per call, one per round, of each case at each number of calls.
Samples = Mapping[tuple[str, int], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One case at one number of calls.

    Attributes:
        median_us: Microseconds per call.
        p99_us: The same at the 99th percentile, of batches; None where there are too few.
        ratio: To the group's first case: the median of the ratios of each round; None for that case itself.
        samples: How many rounds it was measured in.
    """

    median_us: float
    p99_us: float | None
    ratio: float | None
    samples: int


@dataclass(frozen=True, slots=True)
class Row:
    """One case at every number of calls it was measured with."""

    group: str
    name: str
    strategy: str | None
    cells: Mapping[int, Cell]


def summarise(cases: Sequence[Case], samples: Samples) -> list[Row]:
    """One row per case, in their order."""
    first: dict[str, Case] = {}
    rows: list[Row] = []
    for case in cases:
        reference = first.setdefault(case.group, case)
        cells: dict[int, Cell] = {}
        for name, count in samples:
            if name == case.name:
                beside = None if reference is case else samples[reference.name, count]
                cells[count] = _cell(samples[name, count], beside)
        rows.append(Row(case.group, case.name, case.strategy, dict(sorted(cells.items()))))
    return rows


def _cell(own: Sequence[float], reference: Sequence[float] | None) -> Cell:
    return Cell(
        median_us=statistics.median(own),
        p99_us=statistics.quantiles(own, n=100, method="inclusive")[98] if len(own) >= _ENOUGH_FOR_P99 else None,
        ratio=None if reference is None else statistics.median(a / b for a, b in zip(own, reference, strict=True)),
        samples=len(own),
    )


def header(strategies: Mapping[str, Strategy], missing: Mapping[str, str], rounds: int) -> dict[str, Any]:
    """What one has to know to compare the figures with others."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}, {_build()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "cpus": usable_cpus(),
        "load": load(),
        "rounds": rounds,
        "versions": {name: version(name) for name in ("toolexec", "pydantic", "trio")},
        "strategies": {name: {"window": one.window, "grace": one.grace} for name, one in strategies.items()},
        "not_measured": dict(missing),
    }


def load() -> float:
    """What else this machine does, and this program: how many processes ran or waited, over a minute."""
    return round(os.getloadavg()[0], 1)


def _build() -> str:
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    debug = hasattr(sys, "gettotalrefcount")
    return ", ".join(
        [
            platform.python_compiler(),
            "free-threaded" if free_threaded else "with GIL",
            *(["debug build"] if debug else []),
        ]
    )


def to_json(head: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """The report as plain data."""
    return {"header": dict(head), "rows": [asdict(row) for row in rows]}


def table(head: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The report as aligned plain text."""
    counts = sorted({count for row in rows for count in row.cells})
    width = 2 + max(len(row.name) for row in rows)
    block = 9 * len(counts)
    lines = [
        *_head_lines(head),
        "",
        f"{'':{width}}{'us per call, median':^{block}}  {'ratio to the first of the group':^{block}}  {'p99':>9}",
        f"{'calls in the batch':{width}}{_line(counts)}  {_line(counts)}  {counts[0]:>9}",
    ]
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            lines += ["", group]
        cells = [row.cells.get(count) for count in counts]
        medians = _line([_us(cell.median_us) if cell else "-" for cell in cells])
        ratios = _line([as_ratio(cell) for cell in cells])
        one = cells[0]
        p99 = _us(one.p99_us) if one is not None and one.p99_us is not None else "-"
        lines.append(f"{'  ' + row.name:{width}}{medians}  {ratios}  {p99:>9}".rstrip())
    return "\n".join(lines)


def _head_lines(head: Mapping[str, Any]) -> list[str]:
    options = (f"{name} (window {one['window']}, grace {one['grace']} s)" for name, one in head["strategies"].items())
    busy = f"load {head['load']} to {head['load_after']}"
    return [
        f"{head['date']}, {head['python']}",
        f"{head['platform']}, {head['cpus']} CPUs, {busy}, {head['rounds']} rounds",
        ", ".join(f"{name} {number}" for name, number in head["versions"].items()),
        f"strategies: {', '.join(options)}",
        *(f"not measured: {name}: {why}" for name, why in head["not_measured"].items()),
    ]


def _line(cells: Sequence[object]) -> str:
    return "".join(f"{cell:>9}" for cell in cells)


def _us(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def as_ratio(cell: Cell | None) -> str:
    """The ratio as it is shown."""
    if cell is None:
        return "-"
    return "1" if cell.ratio is None else _us(cell.ratio)
