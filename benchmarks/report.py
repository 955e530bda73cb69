"""Write RESULTS.md, with its plots, of what the scripts have found and kept.

python benchmarks/report.py [--results FOLDER] [--to FILE.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from _command import RESULTS
from _findings import Findings, Table, as_cell, heading, read, verdict
from _targets import TARGETS, Target, minor

# In the order of the report; what is not among them comes last.
_SCRIPTS = (
    "overhead",
    "validation",
    "makespan",
    "processes",
    "transfer",
    "interpreters",
    "interrupt_latency",
    "deadlines",
    "cold_start",
    "scaling",
    "memory",
    "peers",
)

# What one script found, by the label of its Python and its name.
All = Mapping[tuple[str, str], Findings]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="See the first lines of report.py.")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--to", type=Path, default=RESULTS.with_name("RESULTS.md"), metavar="FILE.md")
    options = parser.parse_args(arguments)
    found = collect(options.results)
    if not found:
        parser.error(f"nothing is kept in {options.results}; run the other scripts first")
    pictures = _draw(found, options.to.parent)
    options.to.write_text(as_markdown(found, pictures), encoding="utf-8")
    for python in pythons(found):
        met, measured, all_ = _score(found, python)
        print(f"CPython {python}: {met} targets of {measured} that were measured are met, of {all_}")
        for target in TARGETS:
            print(f"  {target.what}, beside {target.beside or 'nothing'}: {_judged(found, target, python)}")


def collect(folder: Path) -> All:
    """All that is kept there."""
    kept = [read(path) for path in sorted(folder.glob("*/*.json"))]
    return {(one.python, one.script): one for one in kept}


def pythons(found: All) -> list[str]:
    """Their labels, oldest first."""
    return sorted({python for python, _ in found}, key=lambda label: (minor(label), label))


def as_markdown(found: All, pictures: Sequence[str]) -> str:
    """The whole report."""
    lines = [
        "# Results",
        "",
        "Written by `report.py` of what the scripts kept in `results/`; [README](README.md) has the method.",
        "",
    ]
    for python in pythons(found):
        met, measured, all_ = _score(found, python)
        quick = " **A quick run: these figures say nothing.**" if any(one.quick for one in found.values()) else ""
        lines.append(f"- CPython {python}: {met} of {measured} measured targets met, of {all_}.{quick}")
    lines += ["", *(f"![]({picture})\n" for picture in pictures), "## Targets", "", *_targets(found), ""]
    names = {script for _, script in found}
    for script in [name for name in _SCRIPTS if name in names] + sorted(names.difference(_SCRIPTS)):
        lines += [f"## {script}", ""]
        for python in pythons(found):
            if (python, script) in found:
                lines += _section(found[python, script])
    return "\n".join(lines).rstrip() + "\n"


def _targets(found: All) -> list[str]:
    labels = pythons(found)
    lines = [
        f"| what | beside | {' | '.join(labels)} |",
        f"| --- | --- |{' --- |' * len(labels)}",
    ]
    for target in TARGETS:
        judged = " | ".join(_judged(found, target, label) for label in labels)
        lines.append(f"| {target.what} | {target.beside} | {judged} |")
    return lines


def _judged(found: All, target: Target, python: str) -> str:
    if minor(python) < target.since:
        return f"needs 3.{target.since}"
    one = found.get((python, target.script))
    if one is None:
        return f"not measured: {target.script}.py has not run"
    if target.key not in one.figures:
        reasons = "; ".join(f"{name}: {why}" for name, why in one.missing.items())
        return f"not measured: {reasons or 'no reason was kept'}"
    return verdict(target, one.figures[target.key], python)


def _score(found: All, python: str) -> tuple[int, int, int]:
    """How many targets are met, were measured, and are there."""
    there = [target for target in TARGETS if minor(python) >= target.since]
    figures = {key: value for (label, _), one in found.items() if label == python for key, value in one.figures.items()}
    measured = [target for target in there if target.key in figures]
    return sum(target.met(figures[target.key], python) for target in measured), len(measured), len(there)


def _section(one: Findings) -> list[str]:
    lines = [f"CPython {one.python}: {heading(one.head)}.", ""]
    for table in one.tables:
        lines += [*_as_table(table), ""]
    lines += [f"- not measured: {name}: {why}" for name, why in one.missing.items()]
    return [*lines, ""] if one.missing else lines


def _as_table(table: Table) -> list[str]:
    high = " / p99" if any(cell.p99 is not None for row in table.rows for cell in row.cells.values()) else ""
    notes = any(row.note for row in table.rows)
    lines = [
        f"| {table.title} ({table.unit}{high}) | {' | '.join(table.columns)} |{' |' if notes else ''}",
        f"| --- |{' --- |' * (len(table.columns) + notes)}",
    ]
    for row in table.rows:
        cells = " | ".join(as_cell(row.cells.get(column)) for column in table.columns)
        lines.append(f"| {row.name} | {cells} |{f' {row.note} |' if notes else ''}")
    return lines


def _draw(found: All, folder: Path) -> list[str]:
    try:
        import matplotlib as _  # noqa: F401, ICN001 - only whether it is there
    except ImportError:
        print("no plots: matplotlib is not installed")
        return []
    from _plot import draw

    return draw(found, folder)


if __name__ == "__main__":
    main()
