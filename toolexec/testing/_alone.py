"""alone: run a part of a check in a Python of its own, where nothing that others have left stands around."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolexec.testing._drivers import LIMIT_S

if TYPE_CHECKING:
    from pickle import dumps  # what cloudpickle's is, and cloudpickle has no types

    from toolexec.testing._harness import Harness
else:
    from cloudpickle import dumps

_CHILD = "import sys; sys.path[:] = {path!r}; from toolexec.testing import _alone; _alone.main()"


def alone(work: Callable[[Harness], object], harness: Harness) -> None:
    """Run ``work(harness)`` in a new Python, the harness set up there; for what a shared process is unfit for.

    Raises:
        AssertionError: It raised there, or the Python died; with what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CHILD.format(path=sys.path)],
        input=dumps((work, harness)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=2 * LIMIT_S,
        check=False,
    )
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"the Python of its own ended with {done.returncode}:\n{said}"


def main() -> None:
    """What the new Python does."""
    work, harness = pickle.load(sys.stdin.buffer)
    with harness:
        work(harness)
