"""The fuzzer runs, and what it has run found nothing; for more than seconds of it there is `nox -s fuzz`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "fuzz" / "arguments.py"


def test_a_few_seconds_of_odd_arguments_and_responses() -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(SCRIPT), "--seconds", "4", "--seed", "1"],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "every one answered" in done.stdout
