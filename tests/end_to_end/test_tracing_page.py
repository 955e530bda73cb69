"""What the page on tracing says is so: its examples run, and its table has the attributes that spans have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolexec as tx
from documents import examples_in, run_example, table_after

PAGE = (Path(__file__).parents[2] / "docs" / "tracing.md").read_text(encoding="utf-8")
EXAMPLES = examples_in(PAGE)


@pytest.mark.parametrize("number", range(4))
def test_example_runs(number: int, tmp_path: Path) -> None:
    assert 4 == len(EXAMPLES)
    run_example(EXAMPLES[number], tmp_path)


@tx.tool
def fine() -> int:
    """Return."""
    return 1


@tx.tool
def bad() -> None:
    """Raise."""
    raise ValueError


def attributes_of(name: str, id: str | None = "c1", **options: Any) -> set[str]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ctx = tx.Context([fine, bad])
    call = ctx.functions[name].bind({}, id) if name in ctx.functions else ctx.receive([{"id": id, "name": name}])[0]
    call.tracer = tx.OpenTelemetryTracer(provider, **options)
    call.task("thread").wait(10)
    (span,) = exporter.get_finished_spans()
    return set(span.attributes or {})


def test_the_table_has_the_attributes_and_when_they_are_there() -> None:
    rows = {row["attribute"].strip("`"): row["there"] for row in table_after(PAGE, "<!-- table: attributes -->")}
    usual = {name for name, there in rows.items() if there in ("always", "if it has one", "if it was to run")}
    usual.add("gen_ai.tool.description")

    assert "if the tool exists" == rows["gen_ai.tool.description"]
    assert usual == attributes_of("fine")
    assert usual | {name for name, there in rows.items() if there == "if `ret.error`"} == attributes_of("bad")
    assert usual - {name for name, there in rows.items() if there == "if it has one"} == attributes_of("fine", id=None)
    for option in ("record_arguments", "record_results"):
        (more,) = (name for name, there in rows.items() if option in there)
        assert usual | {more} == attributes_of("fine", "c1", **{option: True})
    missing = {"gen_ai.tool.description", *(name for name, there in rows.items() if there == "if it was to run")}
    assert usual - missing | {"error.type"} == attributes_of("gone")
