"""Processes that measure on request: a number in, a figure out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def helper(script: str, *arguments: str, isolated: bool = False) -> Generator[Callable[[int], float]]:
    """Start one of the underscored scripts that read numbers, and ask it.

    Args:
        script: Its file name.
        arguments: What it is started with.
        isolated: Without the environment and the packages of this Python, for one that needs only the library.
    """
    command = [sys.executable, *(["-I"] if isolated else []), str(Path(__file__).with_name(script)), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        asking, answering = process.stdin, process.stdout
        assert asking is not None
        assert answering is not None

        def ask(number: int) -> float:
            asking.write(f"{number}\n")
            line = answering.readline()
            assert line, f"{' '.join(command)} ended"
            return float(line)

        try:
            yield ask
        finally:
            asking.close()
