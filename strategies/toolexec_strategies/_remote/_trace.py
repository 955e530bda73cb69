"""The trace that a call is part of, made current in its worker."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

# What it takes; a fork server imports these ahead, once a call has come with a carrier.
MODULES: Final = frozenset(
    {"opentelemetry.context", "opentelemetry.trace.propagation.tracecontext", "opentelemetry.baggage.propagation"}
)


def join(carrier: Mapping[str, str]) -> None:
    """Make the trace current in this context, where OpenTelemetry is there; never raises.

    By W3C's formats, whatever this program has set for the requests that it sends: both sides are ours.
    """
    try:
        # By name: a worker may well be without them, and type checkers too.
        api: Any = importlib.import_module("opentelemetry.context")
        tracing: Any = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
        baggage: Any = importlib.import_module("opentelemetry.baggage.propagation")
        context = tracing.TraceContextTextMapPropagator().extract(carrier)
        api.attach(baggage.W3CBaggagePropagator().extract(carrier, context))
    except Exception:  # noqa: BLE001 - without the library, or with a broken one, the call goes on all the same
        pass
