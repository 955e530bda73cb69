"""The stress of `nox -s stress`, in small: every counter of what must not happen is 0."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "stress" / "interrupts.py"


@pytest.mark.parametrize("run", ["thread", "asyncio", "trio", "fork", "interpreter", "signals"])
def test_nothing_leaks_gets_lost_hangs_or_hits_another_call(run: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(SCRIPT), "--scale", "0.01", "--only", run],
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    if run == "interpreter" and sys.version_info < (3, 14):
        assert "does not run here" in done.stdout
        return
    counted = {name: int(number) for number, name in re.findall(r"(\d+) (\w+)[,) ]", done.stdout)}
    assert counted["calls"] == counted["answered"] > 0
    assert [0, 0, 0, 0] == [counted[name] for name in ("leaked", "lost", "hung", "wrong")]
