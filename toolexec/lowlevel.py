"""What the author of a strategy needs; everybody else needs only ``toolexec``."""

from __future__ import annotations

from toolexec._bell import Bell
from toolexec._current import CurrentCall, Progress
from toolexec._invoke import Awaiting, perform
from toolexec._job import Job, Parcel
from toolexec._lifecycle import close_shared
from toolexec._loop_kind import LoopKind, running_loop
from toolexec._outcome import Outcome
from toolexec._return import backtrace, describe, error_form
from toolexec._runner import Factory, entry, interrupt_runner, resolve
from toolexec._strategy import API_VERSION, Place, Strategy, usable_cpus

__all__ = [
    "API_VERSION",
    "Awaiting",
    "Bell",
    "CurrentCall",
    "Factory",
    "Job",
    "LoopKind",
    "Outcome",
    "Parcel",
    "Place",
    "Progress",
    "Strategy",
    "backtrace",
    "close_shared",
    "describe",
    "entry",
    "error_form",
    "interrupt_runner",
    "perform",
    "resolve",
    "running_loop",
    "usable_cpus",
]
