"""The promises that every strategy keeps, one function for each."""

from __future__ import annotations

from toolexec.testing._checks import (
    current_call,
    deadlines,
    events,
    failures,
    hooks,
    interrupts,
    isolation,
    lifecycle,
    limits,
    loops,
    memory,
    nesting,
    order,
    owners,
    places,
    refusals,
    stopping,
    tracing,
    values,
    waiting,
)
from toolexec.testing._needs import Check

CHECKS: tuple[Check, ...] = (
    *values.CHECKS,
    *failures.CHECKS,
    *refusals.CHECKS,
    *order.CHECKS,
    *waiting.CHECKS,
    *loops.CHECKS,
    *limits.CHECKS,
    *tracing.CHECKS,
    *interrupts.CHECKS,
    *hooks.CHECKS,
    *deadlines.CHECKS,
    *current_call.CHECKS,
    *stopping.CHECKS,
    *owners.CHECKS,
    *nesting.CHECKS,
    *events.CHECKS,
    *places.CHECKS,
    *memory.CHECKS,
    *isolation.CHECKS,
    *lifecycle.CHECKS,
)
