"""Runs the installed `toolexec` command as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
COMMAND = Path(sysconfig.get_path("scripts")) / "toolexec"

# Far longer than any of these takes: only so that a hang is a failure with a story.
TIMEOUT_S = 40

# What would change how the output looks.
_UNWANTED = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def environment(**changes: str) -> dict[str, str]:
    """The environment for the command."""
    return {name: value for name, value in os.environ.items() if name not in _UNWANTED} | changes


def toolexec(
    *args: str | Path, cwd: Path, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it; give what it wrote and its exit code."""
    return subprocess.run(
        [COMMAND, *args],
        cwd=cwd,
        input=stdin,
        env=environment() if env is None else env,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def records(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What `toolexec run` printed; fails with what was on standard error when that is no JSON list."""
    try:
        found: Any = json.loads(done.stdout)
    except json.JSONDecodeError as exc:
        raise AssertionError(f"exit code {done.returncode}, stdout {done.stdout!r}, stderr:\n{done.stderr}") from exc
    assert isinstance(found, list)
    return found


def essence(record: dict[str, Any]) -> tuple[str, str, Any]:
    """Name, status, and the value, or the error's type: what is the same wherever a call runs."""
    value = record["value"] if record["status"] == "ok" else record["value"].get("type")
    return record["name"], record["status"], value


def read_terminal(fd: int) -> str:
    """All that is written to a pseudo-terminal until its other end is closed; closes this end."""
    data = b""
    with open(fd, "rb", buffering=0) as terminal:
        try:
            while chunk := terminal.read(4096):
                data += chunk
        except OSError:  # Linux: the other end is closed
            pass
    return data.decode()
