"""Daemon threads that run sync bodies, and the one Interrupt that may be raised into each."""

from __future__ import annotations

from toolexec_strategies._workers._cache import retire_idle, run_in_thread
from toolexec_strategies._workers._one_shot import AGAIN_S, LOCKS_MAY_STAY, OneShot
from toolexec_strategies._workers._shot import interrupt_thread, leave_thread, start_in_thread

__all__ = [
    "AGAIN_S",
    "LOCKS_MAY_STAY",
    "OneShot",
    "interrupt_thread",
    "leave_thread",
    "retire_idle",
    "run_in_thread",
    "start_in_thread",
]
