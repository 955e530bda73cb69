"""Calls in subinterpreters of this process, each with a GIL of its own (experimental)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolexec_strategies.interpreter._strategy import InterpreterStrategy

__all__ = ["InterpreterStrategy"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Not imported at once: what runs inside stands in this package too, and needs nothing of what its host does.
        if name != "InterpreterStrategy":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from toolexec_strategies.interpreter._strategy import InterpreterStrategy

        return InterpreterStrategy
