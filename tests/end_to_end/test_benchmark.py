"""The benchmark runs and has a row for every strategy; how fast anything is, is not asked here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "overhead.py"

EVERYWHERE = {"sequential", "thread", "asyncio", "trio", "fork"}
SINCE_3_14 = {"interpreter"}


def _run(*options: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})}
    return subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), *options],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env=env,
    )


def test_every_strategy_has_a_row(tmp_path: Path) -> None:
    """Quickly run, it measures all that can run here, beside a primitive, and says what cannot."""
    wanted, missing = EVERYWHERE, SINCE_3_14
    if sys.version_info >= (3, 14):
        wanted, missing = EVERYWHERE | SINCE_3_14, set()

    done = _run("--quick", "--json", str(tmp_path / "report.json"))

    assert (done.returncode, done.stderr) == (0, "")
    report: Any = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    rows = report["rows"]
    assert wanted == {row["strategy"] for row in rows} - {None}
    assert wanted == set(report["header"]["strategies"])
    assert missing == set(report["header"]["not_measured"])
    for row in rows:
        assert row["name"] in done.stdout
        assert ["1", "8", "32"] == list(row["cells"])
        for cell in row["cells"].values():
            assert cell["median_us"] > 0
    # Each group begins with a bare primitive, to which the others have a ratio.
    for group in {row["group"] for row in rows}:
        first, *others = (row for row in rows if row["group"] == group)
        assert first["strategy"] is None
        assert any(row["strategy"] for row in others)
        assert all(cell["ratio"] is None for cell in first["cells"].values())
        assert all(cell["ratio"] > 0 for row in others for cell in row["cells"].values())


def test_interrupts_are_timed_under_every_strategy() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT.with_name("interrupt_latency.py")), "--quick"],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    here = {"thread", "asyncio", "trio", "fork"} | (SINCE_3_14 if sys.version_info >= (3, 14) else set())
    assert here <= {line.partition(":")[0] for line in done.stdout.splitlines() if line[:1].isalpha()}


def test_a_plot_without_matplotlib_is_refused_at_once(tmp_path: Path) -> None:
    """Before minutes of measuring, and with the way to get it."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError", encoding="utf-8")

    done = _run("--plot", str(tmp_path / "plot.png"), path=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "pip install matplotlib" in done.stderr
