"""Runs the agents in examples/ as a user does: who denies one call, and stops another with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from command import CHECKOUT, TIMEOUT_S, environment
from provider_formats import Call, Result

# What the model asks for first; the second call fails, the third is stopped, the fourth denied.
CALLS = (
    Call("read_file", {"path": "notes.txt"}, "c1"),
    Call("read_file", {"path": "none.txt"}, "c2"),
    Call("wait_for_change", {"path": "notes.txt"}, "c3"),
    Call("delete_file", {"path": "notes.txt"}, "c4"),
)
# What it says in the end.
SAID = "It says: buy milk."


def play(script: str, folder: Path, *flags: str, **variables: str) -> str:
    """Run a script of examples/ against a server that answers CALLS and SAID; give what it printed.

    Args:
        script: Its name.
        folder: Where it runs, and has its files.
        flags: ``--stream``, or none.
        variables: Where its SDK finds the server, and a key.
    """
    (folder / "notes.txt").write_text("buy milk", "utf-8")
    command: list[str | Path] = [sys.executable, CHECKOUT / "examples" / script, "What do my notes say?", *flags]
    # Safe path: the scripts import what lies beside them.
    env = environment(PYTHONUNBUFFERED="1", PYTHONSAFEPATH="", **variables)
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            assert process.stdin is not None
            printed = _read_until(process, b"", b"delete_file", b"[y/N]")
            process.stdin.write(b"n\n")
            process.stdin.flush()
            printed = _read_until(process, printed, b"read_file: ok", b"read_file: raised", b"waiting for notes.txt")
            process.send_signal(signal.SIGINT)
            printed = _read_until(process, printed)
            assert process.wait(TIMEOUT_S) == 0, printed.decode()
        finally:
            process.kill()
    assert (folder / "notes.txt").exists()
    return printed.decode()


def check_told(results: Sequence[Result]) -> None:
    """The model was told of all four, in call order."""
    expected = ("buy milk", "none.txt", "the user pressed Ctrl-C", "the user said no")
    assert len(expected) == len(results)
    for words, result in zip(expected, results, strict=True):
        assert words in result.text
    assert [result.failed for result in results] in ([False, True, True, True], [None] * 4)


def _read_until(process: subprocess.Popen[bytes], printed: bytes, *marks: bytes) -> bytes:
    """Read on until all marks have been printed, without any until the end."""
    assert process.stdout is not None
    while not marks or not all(mark in printed for mark in marks):
        data = os.read(process.stdout.fileno(), 4096)
        printed += data
        if not data:
            assert not marks, f"it ended before it printed {marks}:\n{printed.decode()}"
            break
    return printed
