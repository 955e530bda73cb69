"""The promises that every strategy keeps, one function for each."""

from __future__ import annotations

from toolexec.testing._checks import (
    failures,
    isolation,
    lifecycle,
    limits,
    loops,
    memory,
    order,
    places,
    refusals,
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
    *places.CHECKS,
    *memory.CHECKS,
    *isolation.CHECKS,
    *lifecycle.CHECKS,
)
