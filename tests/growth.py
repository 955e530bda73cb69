"""How the time that something takes grows with its size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

# Of the second size to the first.
_TIMES = 8

# Between 8, for what grows with the size, and 64, for what grows with its square; noise needs much room.
_MOST = 25


def assert_linear(prepare: Callable[[int], Callable[[], object]], size: int) -> None:
    """Fail if the time grows like the square of the size.

    Args:
        prepare: Makes what is timed, of a size.
        size: The first; large enough for its square to matter at 8 times it.
    """
    small, large = _seconds(prepare, size), _seconds(prepare, _TIMES * size)
    assert large < _MOST * small, f"{small:.4f} s for {size}, {large:.4f} s for {_TIMES * size}"


def _seconds(prepare: Callable[[int], Callable[[], object]], size: int) -> float:
    """The best of three, in CPU time: so others on the machine do not count."""
    return min(_timed(prepare(size)) for _ in range(3))


def _timed(run: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    run()
    return time.process_time() - began
