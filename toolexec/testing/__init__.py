"""Tools for tests: gates, a clock, fakes, a look for leaks, and the promises that every strategy keeps."""

from __future__ import annotations

from toolexec.testing._checks import CHECKS
from toolexec.testing._drivers import DRIVERS, Driver
from toolexec.testing._fake_strategy import FakeJob, FakeStrategy, Sign
from toolexec.testing._gate import Gate
from toolexec.testing._harness import Harness, Home
from toolexec.testing._journal import Journal
from toolexec.testing._leftovers import Leftovers, assert_no_leftovers
from toolexec.testing._manual_clock import ManualClock
from toolexec.testing._needs import Check, drivers, unmet
from toolexec.testing._one_call import run
from toolexec.testing._recording_tracer import RecordingTracer, TraceEvent
from toolexec.testing._rendezvous import Rendezvous
from toolexec.testing._responses import response
from toolexec.testing._scripted_calls import ScriptedCall
from toolexec.testing._scripted_model import ScriptedItem, ScriptedModel, ScriptError
from toolexec.testing._started import started
from toolexec.testing._streams import stream
from toolexec.testing._suite import run_check, run_suite

__all__ = [
    "CHECKS",
    "DRIVERS",
    "Check",
    "Driver",
    "FakeJob",
    "FakeStrategy",
    "Gate",
    "Harness",
    "Home",
    "Journal",
    "Leftovers",
    "ManualClock",
    "RecordingTracer",
    "Rendezvous",
    "ScriptError",
    "ScriptedCall",
    "ScriptedItem",
    "ScriptedModel",
    "Sign",
    "TraceEvent",
    "assert_no_leftovers",
    "drivers",
    "response",
    "run",
    "run_check",
    "run_suite",
    "started",
    "stream",
    "unmet",
]
