"""Async bodies as tasks of a running loop, and loops that run in the background."""

from __future__ import annotations

from toolexec_strategies._loops._tasks import loop_clock, run_on_worker, run_task

__all__ = ["loop_clock", "run_on_worker", "run_task"]
