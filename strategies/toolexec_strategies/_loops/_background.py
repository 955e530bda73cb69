"""The one background loop of a strategy: made at first use, ended when the strategy closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from toolexec.lowlevel import Strategy


class _Stoppable(Protocol):
    def stop(self, timeout: float) -> None: ...


L = TypeVar("L", bound=_Stoppable)


class Background(Generic[L]):
    """Where a strategy keeps its loop, without a lock: whoever makes one may be cut by a Ctrl-C."""

    def __init__(self, make: Callable[[], L]) -> None:
        """Remember how to make the loop; none is made yet."""
        self._make = make
        # Filled by setdefault, which is atomic: of two threads that need a loop at once, one makes it
        # and the other's is ended.
        self._kept: dict[str, L] = {}

    def get(self, strategy: Strategy) -> L:
        """The loop; of a strategy that has been closed meanwhile, one that has ended."""
        loop = self._kept.get("loop")
        if loop is None:
            made = self._make()
            loop = self._kept.setdefault("loop", made)
            if loop is not made:
                made.stop(0)
            if strategy.closed:  # since the Group chose it: nobody will come again to end this loop
                self.stop(strategy.grace)
        return loop

    def stop(self, timeout: float) -> None:
        """End the loop, if there is one; wait for its thread for at most ``timeout`` seconds."""
        while self._kept:
            self._kept.popitem()[1].stop(timeout)

    def forget(self) -> None:
        """In a child of ``os.fork()``: its thread stayed in the parent."""
        self._kept.clear()
