"""Calls in forked child processes, which can crash, hang and be killed without harm to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolexec_strategies.fork._strategy import ForkStrategy

__all__ = ["ForkStrategy"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Not imported at once: the server stands in this package too, and needs nothing of what its host does.
        if name != "ForkStrategy":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from toolexec_strategies.fork._strategy import ForkStrategy

        return ForkStrategy
