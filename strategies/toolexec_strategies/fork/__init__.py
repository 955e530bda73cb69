"""Calls in forked child processes, which can crash, hang and be killed without harm to the host."""

from __future__ import annotations

from toolexec_strategies.fork._strategy import ForkStrategy

__all__ = ["ForkStrategy"]
