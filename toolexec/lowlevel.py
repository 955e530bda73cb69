"""What the author of a strategy needs; everybody else needs only ``toolexec``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolexec import _lazy_names

if TYPE_CHECKING:
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

# As in ``toolexec``: a worker, which needs some of this, does not load what its host needs.
_MODULES = {
    "API_VERSION": "_strategy",
    "MONOTONIC": "_clock",
    "Ask": "_call_state",
    "Awaiting": "_invoke",
    "Bell": "_bell",
    "CallState": "_call_state",
    "Clock": "_clock",
    "Factory": "_runner",
    "ForeignToolError": "_errors",
    "Given": "_inject",
    "Job": "_job",
    "LoopKind": "_loop_kind",
    "Outcome": "_outcome",
    "Parcel": "_job",
    "Place": "_strategy",
    "Progress": "_call_state",
    "Strategy": "_strategy",
    "Timer": "_timers",
    "Timers": "_timers",
    "arun_hook": "_hook",
    "backtrace": "_return",
    "catch_up": "_control",
    "close_shared": "_lifecycle",
    "describe": "_return",
    "end_asyncio": "_asyncio_end",
    "entry": "_runner",
    "error_form": "_return",
    "has_hook": "_runner",
    "interrupt_runner": "_runner",
    "join_beside": "_beside",
    "keep_forever": "_left_behind",
    "leaves": "_leaves",
    "perform": "_invoke",
    "reach": "_nesting",
    "resolve": "_runner",
    "run_beside": "_beside",
    "run_hook": "_hook",
    "running_loop": "_loop_kind",
    "settle_inner": "_nesting",
    "start_beside": "_beside",
    "unsettled": "_lifecycle",
    "usable_cpus": "_strategy",
    "warn_beside": "_warn",
    "watch_received": "_received",
}

if not TYPE_CHECKING:  # see ``toolexec``
    __getattr__, __dir__ = _lazy_names.lazy_names(__name__, _MODULES)
