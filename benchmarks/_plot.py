"""The report as pictures: how far each target is, what a call costs by the batch, and the peers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")  # a file is all that is wanted; a display need not be there
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from _findings import Findings, Table, as_figure, as_number
from _targets import TARGETS, minor

# Told apart by lightness and by line too: not everybody sees colours, or prints them.
_MET, _MISSED, _BARE = "#0b5fa5", "#d9822b", "#8a8f98"
_MARKERS = "osD^v"


def draw(found: Mapping[tuple[str, str], Findings], folder: Path) -> list[str]:
    """Draw what there is; gives the names of the files in ``folder``."""
    labels = sorted({python for python, _ in found}, key=minor)
    pictures = {"results/targets.png": _targets(found, labels)}
    for script, title, picture in (
        ("overhead", "What a call costs, in this process", _lines),
        ("peers", "toolexec beside its peers", _bars),
    ):
        newest = next((python for python in reversed(labels) if (python, script) in found), None)
        if newest is not None:
            table = found[newest, script].tables[0]
            pictures[f"results/{script}.png"] = picture(table, f"{title} (CPython {newest})")
    for name, figure in pictures.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=100, metadata={"Software": None})
        plt.close(figure)
    return list(pictures)


def _targets(found: Mapping[tuple[str, str], Findings], labels: list[str]) -> Any:
    """Each figure over its target, so that 1 is met by all of them, and less is better."""
    shown = [target for target in TARGETS if any((label, target.script) in found for label in labels)]
    figure, axes = plt.subplots(figsize=(11, 0.26 * len(shown) + 1.6))
    for number, target in enumerate(shown):
        for place, label in enumerate(labels):
            one = found.get((label, target.script))
            value = None if one is None else one.figures.get(target.key)
            if value is None:
                continue
            part = value / target.limit_under(label)
            # A difference may be nothing or less; on this axis that is as far left as it goes.
            part = max(1 / part if target.at_least and part else part, 0.01)
            axes.plot(
                part,
                number,
                _MARKERS[place],
                color=_MET if part <= 1 else _MISSED,
                markersize=6,
                label=label if number == 0 else None,
            )
            if label == labels[-1]:
                axes.annotate(
                    as_figure(value, target.unit),
                    (part, number),
                    xytext=(7, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7.5,
                )
    axes.set_yticks(range(len(shown)), [f"{one.what} / {one.beside}"[:95] for one in shown], fontsize=7.5)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.axvline(1, color="#333333", linewidth=1)
    axes.set_xlabel("times the target, on a logarithmic axis; left of the line it is met")
    axes.set_title(f"Every figure over its target; markers {', '.join(labels)}, numbers of {labels[-1]}", fontsize=10)
    _plain(axes)
    figure.tight_layout()
    return figure


def _lines(table: Table, title: str) -> Any:
    """A row as a line over the columns; ours in colour."""
    figure, axes = plt.subplots(figsize=(9, 6.5))
    columns = list(table.columns)
    for number, row in enumerate(table.rows):
        places = [columns.index(column) for column in row.cells]
        ours = row.name.startswith("toolexec")
        axes.plot(
            places,
            [cell.median for cell in row.cells.values()],
            ("-", "--", "-.", ":")[number % 4],
            marker=_MARKERS[number % len(_MARKERS)],
            color=_MET if ours else _BARE,
            linewidth=2 if ours else 1.2,
            markersize=4,
        )
        last = list(row.cells.values())[-1]
        axes.annotate(
            f"{row.name}  {as_number(last.median)}",
            (places[-1], last.median),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            color=_MET if ours else "#444444",
        )
    axes.set_yscale("log")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlim(-0.2, len(columns) - 0.1 + 0.25 * len(columns))
    axes.set_xlabel(f"{table.title}")
    axes.set_ylabel(f"{table.unit}, median")
    axes.set_title(title, fontsize=11)
    _plain(axes)
    figure.tight_layout()
    return figure


def _bars(table: Table, title: str) -> Any:
    """A panel for each column, its rows from the cheapest on; ours in colour."""
    figure, panels = plt.subplots(1, len(table.columns), figsize=(5 * len(table.columns), 4.4), squeeze=False)
    for axes, column in zip(panels.flat, table.columns, strict=True):
        rows = sorted((row.cells[column].median, row.name) for row in table.rows if column in row.cells)
        names = [name for _, name in rows]
        bars = axes.barh(
            names,
            [value for value, _ in rows],
            color=[_MET if name.startswith("toolexec") else _BARE for name in names],
        )
        axes.bar_label(bars, [as_number(value) for value, _ in rows], padding=3, fontsize=8)
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_title(column, fontsize=10)
        axes.set_xlabel(f"{table.unit}, median", fontsize=9)
        axes.tick_params(labelsize=8)
        _plain(axes)
    figure.suptitle(f"{title}: {table.title.lower()}", fontsize=11)
    figure.tight_layout()
    return figure


def _plain(axes: Axes) -> None:
    axes.grid(visible=True, which="major", color="#e4e6ea", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
