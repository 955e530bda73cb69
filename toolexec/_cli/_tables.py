"""The tables that ``--format table`` shows."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolexec._cli._output import Output
from toolexec._cli._text import answer, duration, one_line, status
from toolexec._return import Return


def write_table(output: Output, table: Table) -> None:
    """Render a table and write it, in colour where the terminal has it."""
    # Not straight to the output: rich ends the process itself when a pipe's reader has gone.
    rendered = io.BytesIO()
    file = io.TextIOWrapper(rendered, encoding=output.encoding, errors="backslashreplace", write_through=True)
    Console(file=file, force_terminal=True if output.terminal else None).print(table)
    output.write(rendered.getvalue())


def returns_table(returns: Sequence[Return]) -> Table:
    """One row for each call, in call order."""
    table = _table("tool", "status", "strategy", "time", "answer")
    table.columns[3].justify = "right"
    for ret in returns:
        table.add_row(one_line(ret.name), status(ret), Text(ret.strategy or "-"), duration(ret), answer(ret))
    return table


def tools_table(tools: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each tool."""
    table = _table("tool", "parameters", "strategy", "description")
    for tool in tools:
        parameters = Text("\n").join(_parameters(tool["parameters"]))
        strategy = Text(str(tool["strategy"] or "-"))
        table.add_row(one_line(tool["name"]), parameters, strategy, one_line(tool["description"]))
    return table


def strategies_table(strategies: Sequence[Mapping[str, Any]]) -> Table:
    """One row for each installed strategy."""
    table = _table("strategy", "isolated", "window", "runs here")
    for entry in strategies:
        here = (
            Text("yes", "green") if entry["available"] else Text.assemble(("no", "red"), ": ", one_line(entry["why"]))
        )
        window = Text("-") if not entry["available"] else Text(str(entry["window"] or "no bound"))
        isolated = Text({True: "yes", False: "no", None: "-"}[entry["isolated"]])
        table.add_row(one_line(entry["name"]), isolated, window, here)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        # Where it is narrow the last column gives way.
        table.add_column(column, no_wrap=column != columns[-1], overflow="ellipsis")
    return table


def _parameters(schema: Mapping[str, Any]) -> list[Text]:
    required = schema.get("required", ())
    lines: list[Text] = []
    for name, shape in schema.get("properties", {}).items():
        line = Text.assemble(one_line(name), ": ", one_line(_type(shape)))
        if "default" in shape:
            line.append(" = ").append_text(one_line(repr(shape["default"])))
        elif name not in required:
            line.append(" (optional)")
        lines.append(line)
    return lines or [Text("-")]


def _type(shape: Mapping[str, Any]) -> str:
    if "enum" in shape:
        return " | ".join(map(repr, shape["enum"]))
    if "const" in shape:
        return repr(shape["const"])
    if "anyOf" in shape:
        return " | ".join(map(_type, shape["anyOf"]))
    kind = shape.get("type")
    if kind == "array" and "items" in shape:
        return f"array of {_type(shape['items'])}"
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    return str(kind or "any")
