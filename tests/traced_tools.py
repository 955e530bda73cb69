"""Tools whose calls are traced, at the top of a module so that every strategy can carry them.

OpenTelemetry is imported in the bodies: where no trace comes along, a worker must do without.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import toolexec as tx


@tx.tool
def echo(value: Any = None) -> Any:
    """Give it back."""
    return value


@tx.tool
async def aecho(value: Any = None) -> Any:
    return value


@tx.tool
def fail(text: str = "on purpose") -> None:
    raise LookupError(text)


@tx.tool(idempotent=True)
def fail_again() -> None:
    raise LookupError


@tx.tool(idempotent=True)
async def afail_again() -> None:
    raise LookupError


@tx.tool
def give_lock() -> Any:
    return threading.Lock()


@tx.tool
def die() -> None:
    os._exit(9)


@tx.tool
def count(to: int) -> Iterator[int]:
    yield from range(to)


@tx.tool
def heed() -> None:
    """Say that it runs, and leave once it is asked to."""
    call = tx.current_call()
    assert call is not None
    call.progress(1)
    assert call.wait_interrupted(20)
    call.checkpoint()


@tx.tool
async def aheed() -> None:
    call = tx.current_call()
    assert call is not None
    call.progress(1)
    await call.until_interrupted()
    call.checkpoint()


@tx.tool
def span_here() -> tuple[str, str]:
    """The ids of the trace and of the span that are current in a body."""
    from opentelemetry import trace

    here = trace.get_current_span().get_span_context()
    return f"{here.trace_id:032x}", f"{here.span_id:016x}"


@tx.tool
async def aspan_here() -> tuple[str, str]:
    return span_here()


@tx.tool(idempotent=True)
def span_once_more(path: str) -> list[str]:
    """Fail twice; the ids of the spans that were current in all three attempts."""
    _, span_id = span_here()
    with Path(path).open("a+", encoding="utf-8") as file:
        file.write(f"{span_id}\n")
        file.seek(0)
        lines = file.read().split()
    if len(lines) < 3:
        raise LookupError("not yet")
    return lines


@tx.tool(idempotent=True)
async def aspan_once_more(path: str) -> list[str]:
    return span_once_more(path)


@tx.tool
def span_inside() -> tuple[str, str]:
    """A span made in the body, by a provider that is made there: the ids of its trace and of its parent."""
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

    provider = TracerProvider(shutdown_on_exit=False)
    with provider.get_tracer("tool").start_as_current_span("inside") as span:
        assert isinstance(span, ReadableSpan)
        assert span.parent is not None
        return f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}"


@tx.tool
def baggage_here() -> dict[str, Any]:
    from opentelemetry import baggage

    return dict(baggage.get_all())


@tx.tool
def nest(strategy: str) -> str:
    """Make a call of one's own, of a tool that nobody has given a tracer."""
    return str(tx.run(echo, {"value": "inner"}, strategy).unwrap())


@tx.tool
def loaded() -> list[str]:
    """What of OpenTelemetry was imported before the body."""
    import sys

    return sorted(name for name in sys.modules if name.partition(".")[0] == "opentelemetry")


TOOLS: list[Any] = [
    *(echo, aecho, fail, fail_again, afail_again, give_lock, die, count, heed, aheed),
    *(span_here, aspan_here, span_once_more, aspan_once_more, span_inside, baggage_here, nest, loaded),
]
