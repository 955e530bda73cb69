"""Calls in subinterpreters of this process, each with a GIL of its own (experimental)."""

from __future__ import annotations

from toolexec_strategies.interpreter._strategy import InterpreterStrategy

__all__ = ["InterpreterStrategy"]
