"""Runs pytest in several folders, each in a process of its own that has been forked once all is imported.

    python tests/many_suites.py folder...

What a run prints is in its folder's file `report`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pydantic
import pytest

import toolexec.testing

# Imported here, so that no run has to do it.
PREPARED = (pydantic.TypeAdapter, toolexec.testing.run)

OPTIONS = ["-q", "-p", "toolexec_pytest", "-p", "no:cacheprovider", "--tb=short", "-rfE"]
LONGEST_S = 50  # one that hangs ends by itself, though the test has given up on all of them
AT_ONCE = 3  # for two cores: of its time such a run waits for some


def start(folder: Path) -> int:
    """Fork a run, and give its pid."""
    pid = os.fork()
    if pid:
        return pid
    signal.alarm(LONGEST_S)
    os.chdir(folder)
    report = os.open("report", os.O_WRONLY | os.O_CREAT)
    os.dup2(report, 1)
    os.dup2(report, 2)
    # Not the folder that all of a user's runs share: what others make and clear away there meanwhile makes pytest
    # leave an iterator over it open, which it then reports as a fault of the tests.
    code = pytest.main([*OPTIONS, "--basetemp=temporary"])
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    gc.freeze()  # each look for leftovers collects, and what is imported is there to stay
    waiting = [Path(name) for name in sys.argv[1:]]
    running = 0
    while waiting or running:
        if waiting and running < AT_ONCE:
            start(waiting.pop())
            running += 1
        else:
            os.wait()
            running -= 1
