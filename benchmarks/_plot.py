"""The report as a picture: one panel per group, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from _report import Row, as_ratio

# Told apart by lightness and by line too: not everybody sees colours, or prints them.
_OURS = "#0b5fa5"
_BARE = "#8a8f98"
_STYLES = ("-", "--")
_PER_LINE = 4


def plot(head: Mapping[str, Any], rows: Sequence[Row], path: Path) -> None:
    """Draw the medians over the number of calls, and write the ratios beside them."""
    import matplotlib as mpl

    mpl.use("agg")  # a file is all that is wanted; a display need not be there
    import matplotlib.pyplot as plt

    groups = [(group, list(members)) for group, members in groupby(rows, key=lambda row: row.group)]
    counts = sorted({count for row in rows for count in row.cells})
    lines = len(groups) // _PER_LINE + 1  # with a place left over, for the explanation
    figure, axes = plt.subplots(
        lines, _PER_LINE, figsize=(3.4 * _PER_LINE, 4.0 * lines), sharex=True, sharey=True, squeeze=False
    )
    panels = list(axes.flat)
    for panel, (group, members) in zip(panels, groups, strict=False):
        _draw(panel, group, members)
        panel.tick_params(labelbottom=True)
    # Axes are shared, so what is set for one holds for all.
    panels[0].set_xscale("log")
    panels[0].set_yscale("log")
    panels[0].set_xticks(counts, [str(count) for count in counts])
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    panels[0].minorticks_off()
    for panel in panels[len(groups) :]:
        panel.set_axis_off()
    panels[len(groups)].text(0.02, 0.98, _explanation(head), transform=panels[len(groups)].transAxes, va="top")
    for line in axes:
        line[0].set_ylabel("microseconds per call")
    figure.suptitle("What a call costs: toolexec beside the bare primitive", fontsize=14, weight="bold")
    figure.tight_layout(rect=(0, 0, 1, 0.99), h_pad=2.0)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw(panel: Any, group: str, members: Sequence[Row]) -> None:
    styles = {True: iter(_STYLES), False: iter(_STYLES)}
    for row in members:
        ours = row.strategy is not None
        style = next(styles[ours])
        panel.plot(
            list(row.cells),
            [cell.median_us for cell in row.cells.values()],
            style,
            color=_OURS if ours else _BARE,
            marker="o" if ours else "s",
            markersize=4,
            linewidth=1.8,
            label=row.name,
            zorder=3 if ours else 2,
        )
    own = [row for row in members if row.strategy is not None]
    for count, cell in own[0].cells.items():
        panel.annotate(
            f"{as_ratio(cell)}x",
            (count, max(row.cells[count].median_us for row in own)),  # above all lines of ours
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=_OURS,
        )
    panel.set_title(group, fontsize=11, loc="left", weight="bold")
    panel.margins(x=0.12, y=0.1)
    panel.grid(visible=True, which="major", color="#e4e6ea", linewidth=0.7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08))


def _explanation(head: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            "How to read it",
            "",
            "Across: calls in one batch.",
            "Up: median time per call, a tool that adds",
            "two integers. Lower is better.",
            "At each point: the ratio to the panel's first",
            "line, the median of each round's ratio.",
            "",
            *(part.strip() for part in head["python"].split(",", 1)),
            f"{head['platform']}, {head['cpus']} CPUs, load {head['load']} to {head['load_after']}",
            ", ".join(f"{name} {number}" for name, number in head["versions"].items()),
            f"{head['rounds']} interleaved rounds, {head['date']}",
            *(f"not measured: {name}" for name in head["not_measured"]),
        ]
    )
