"""What the author of a strategy needs; everybody else needs only ``toolexec``."""

from __future__ import annotations

from toolexec._asyncio_end import end_asyncio
from toolexec._bell import Bell
from toolexec._beside import join_beside, run_beside, start_beside
from toolexec._call_state import Ask, CallState, Progress
from toolexec._clock import MONOTONIC, Clock
from toolexec._control import catch_up
from toolexec._errors import ForeignToolError
from toolexec._hook import arun_hook, run_hook
from toolexec._inject import Given
from toolexec._invoke import Awaiting, perform
from toolexec._job import Job, Parcel
from toolexec._leaves import leaves
from toolexec._left_behind import keep_forever
from toolexec._lifecycle import close_shared, unsettled
from toolexec._loop_kind import LoopKind, running_loop
from toolexec._nesting import reach, settle_inner
from toolexec._outcome import Outcome
from toolexec._received import watch_received
from toolexec._return import backtrace, describe, error_form
from toolexec._runner import Factory, entry, has_hook, interrupt_runner, resolve
from toolexec._strategy import API_VERSION, Place, Strategy, usable_cpus
from toolexec._timers import Timer, Timers
from toolexec._warn import warn_beside

__all__ = [
    "API_VERSION",
    "MONOTONIC",
    "Ask",
    "Awaiting",
    "Bell",
    "CallState",
    "Clock",
    "Factory",
    "ForeignToolError",
    "Given",
    "Job",
    "LoopKind",
    "Outcome",
    "Parcel",
    "Place",
    "Progress",
    "Strategy",
    "Timer",
    "Timers",
    "arun_hook",
    "backtrace",
    "catch_up",
    "close_shared",
    "describe",
    "end_asyncio",
    "entry",
    "error_form",
    "has_hook",
    "interrupt_runner",
    "join_beside",
    "keep_forever",
    "leaves",
    "perform",
    "reach",
    "resolve",
    "run_beside",
    "run_hook",
    "running_loop",
    "settle_inner",
    "start_beside",
    "unsettled",
    "usable_cpus",
    "warn_beside",
    "watch_received",
]
