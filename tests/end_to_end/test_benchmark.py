"""The benchmarks run and have a figure for each target; how fast anything is, is not asked here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
# The one measures in an environment of its own, the other nothing.
APART = {"peers", "report"}
SCRIPTS = sorted({path.stem for path in BENCHMARKS.glob("[!_]*.py")} - APART)


def _run(script: str, *options: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(BENCHMARKS / f"{script}.py"), *options],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
        env={**os.environ, **({} if path is None else {"PYTHONPATH": str(path)})},
    )


def _targets() -> list[Any]:
    """The one table of them, as another process has it: the folder of the benchmarks is not on our path."""
    code = "import dataclasses, json, _targets; print(json.dumps([dataclasses.asdict(t) for t in _targets.TARGETS]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=BENCHMARKS)
    targets: list[Any] = json.loads(done.stdout)
    return targets


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_has_a_figure_for_each_of_its_targets(script: str, tmp_path: Path) -> None:
    """Quickly run, it measures what can run here, and names what cannot."""
    done = _run(script, "--quick", "--results", str(tmp_path))

    assert 0 == done.returncode, done.stderr
    kept: Any = json.loads((tmp_path / PYTHON / f"{script}.json").read_text(encoding="utf-8"))
    wanted = {one["key"] for one in _targets() if one["script"] == script and one["since"] <= sys.version_info[1]}
    unmeasured = wanted - set(kept["figures"])
    # Only the pools of others may be missing here: the tests' environment has none.
    assert {key for key in unmeasured if not key.endswith(("-loky", "-pebble"))} == set()
    assert not unmeasured or kept["missing"]
    assert set(kept["figures"]) <= wanted
    assert kept["quick"]
    if sys.version_info < (3, 14) and script in ("interpreters", "scaling"):
        assert "interpreter" in kept["missing"]
    elif script != "memory":  # which may gain some as well as lose it
        assert all(cell["median"] >= 0 for cell in _cells(kept) if cell["ratio"] is not None)
    for table in kept["tables"]:
        assert table["title"] in done.stdout
        assert table["rows"]
        assert all(row["name"] in done.stdout for row in table["rows"])


def _cells(kept: Any) -> list[Any]:
    return [cell for table in kept["tables"] for row in table["rows"] for cell in row["cells"].values()]


def test_the_report_has_a_row_for_every_target(tmp_path: Path) -> None:
    """Measured or not: what has no figure is not left out."""
    assert 0 == _run("overhead", "--quick", "--results", str(tmp_path / "results")).returncode

    done = _run("report", "--results", str(tmp_path / "results"), "--to", str(tmp_path / "RESULTS.md"))

    assert 0 == done.returncode, done.stderr
    report = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in report.splitlines() if line.startswith("| ")]
    for target in _targets():
        (verdict,) = (row[2] for row in rows if row[0] == f"| {target['what']}" and row[1] == target["beside"])
        words = ("met: ", "not met: ") if target["script"] == "overhead" else ("not measured: ", "needs 3.14")
        assert verdict.startswith(words), target
    assert "A quick run" in report
    for word in ("toolexec sequential", "ThreadPoolExecutor(8).map", "trio nursery"):
        assert any(row[0] == f"| {word}" for row in rows)


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    done = _run("report", "--results", str(tmp_path), "--to", str(tmp_path / "RESULTS.md"))

    assert 2 == done.returncode
    assert "run the other scripts first" in done.stderr


def test_a_quick_run_leaves_what_was_measured_alone() -> None:
    before = {path: path.stat().st_mtime_ns for path in BENCHMARKS.glob("results/*/*")}

    assert 0 == _run("overhead", "--quick").returncode

    assert before == {path: path.stat().st_mtime_ns for path in BENCHMARKS.glob("results/*/*")}
