"""The commands ``run``, ``tools`` and ``strategies``."""

from __future__ import annotations

import math
from typing import Any, Literal

import click

from toolexec import _discovery
from toolexec._cli._calls import read_calls
from toolexec._cli._module import load_module
from toolexec._cli._output import Output
from toolexec._cli._progress import Progress
from toolexec._cli._signals import Stopping
from toolexec._cli._tables import returns_table, strategies_table, tools_table, write_table
from toolexec._cli._toolbox import tools_of
from toolexec._context import Context
from toolexec._errors import StrategyUnavailable, ToolexecError

Format = Literal["json", "table"]

_FORMATS = click.Choice(["json", "table"])
_format = click.option(
    "--format", "form", type=_FORMATS, default=None, help="By default a table on a terminal, JSON elsewhere."
)

# \b keeps click from filling the lines.
_EXIT_CODES = """\b
Exit codes:
  0    every call is ok
  1    some calls are not
  2    a file, a module or an option cannot be used as given
  130  interrupted by Ctrl-C; the Returns are printed, unless a second one killed the calls
  143  the same by SIGTERM"""


def run_command() -> int:
    """Run the command and show what went wrong; see :func:`toolexec._cli.main`."""
    try:
        code = toolexec(standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    except ToolexecError as exc:
        click.echo(f"Error: {exc}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):  # click makes an Abort of the other
        click.echo("interrupted", err=True)
        return 130
    return code if isinstance(code, int) else 0


class _Seconds(click.FloatRange):
    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolexec", prog_name="toolexec", message="%(prog)s %(version)s")
def toolexec() -> None:
    """Run the tool calls a language model asks for."""


@toolexec.command(epilog=_EXIT_CODES)
@click.argument("calls")
@click.option("--tools", "tools", required=True, metavar="FILE_OR_MODULE", help="Where the tools are.")
@click.option("--strategy", default="auto", show_default=True, metavar="NAME", help="Where calls run.")
@click.option("--window", type=click.IntRange(min=1), metavar="N", help="How many calls may be in flight at once.")
@click.option(
    "--timeout",
    type=_Seconds(min=0, min_open=True),
    metavar="SECONDS",
    help="How long all of it may take; then unfinished calls are stopped, and end as timeout.",
)
@click.option(
    "--grace",
    type=_Seconds(min=0),
    metavar="SECONDS",
    help="How long a call that has to stop may take to do so, 2 by default; a strategy that a tool has configured "
    "for itself keeps its own.",
)
@click.option("--format", "form", type=_FORMATS, default="json", show_default=True, help="How to show the Returns.")
def run(
    calls: str,
    tools: str,
    strategy: str,
    window: int | None,
    timeout: float | None,
    grace: float | None,
    form: Format,
) -> int:
    """Run the calls in the file CALLS and print their Returns, in call order.

    CALLS holds a model's response (a chat completion as OpenAI's API gives it) or a list of calls,
    {"id": ..., "name": ..., "arguments": ...}, as JSON; - reads it from standard input.

    The tools are those of a .py file or of a module: a list there named "tools", or else what its
    __all__ names or has a public name and is a tool. A tool's own strategy goes before --strategy.

    Standard output gets a JSON list with one object for each call, and nothing else: what tools
    print goes to standard error.

    Ctrl-C asks the calls to stop, and waits for their Returns; a second one kills them.
    """
    output = Output()
    response = read_calls(calls)
    if grace is not None:
        _discovery.configure_shared(grace=grace)
    context = Context(tools_of(load_module(tools)), strategy=strategy)
    functions = context.receive(response)
    progress = Progress(functions)
    stopping = Stopping(context)
    try:
        with stopping:
            group = functions.group(window=window, timeout=timeout)
            progress.started(strategy)
            for ret in group:
                progress.settled(ret)
            returns = group.wait()
    except KeyboardInterrupt:
        if stopping.code is None:
            raise
        return stopping.code
    progress.ended()
    if form == "json":
        output.write_json([ret.to_record() for ret in returns])
    else:
        write_table(output, returns_table(returns))
    if stopping.code is not None:
        return stopping.code
    return 0 if all(ret.ok for ret in returns) else 1


@toolexec.command()
@click.argument("file_or_module")
@_format
def tools(file_or_module: str, form: Format | None) -> int:
    """Show the tools of a .py file or of a module, with the JSON Schema of their parameters."""
    output = Output()
    context = Context(tools_of(load_module(file_or_module)))
    shown: list[dict[str, Any]] = [
        {
            "name": function.name,
            "description": function.description,
            "parameters": function.params,
            "strategy": getattr(own := function._definition.strategy, "name", own),
        }
        for function in context.functions.values()
    ]
    if _chosen(form, output) == "json":
        output.write_json(shown)
    else:
        write_table(output, tools_table(shown))
    return 0


@toolexec.command()
@_format
def strategies(form: Format | None) -> int:
    """Show the installed strategies: where calls can run, and why one cannot run here."""
    output = Output()
    shown = [_describe(name) for name in _discovery.installed()]
    if _chosen(form, output) == "json":
        output.write_json(shown)
    else:
        write_table(output, strategies_table(shown))
    return 0


def _chosen(form: Format | None, output: Output) -> Format:
    return form or ("table" if output.terminal else "json")


def _describe(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "available": False, "why": None, "isolated": None, "window": None}
    try:
        entry["why"] = _discovery.why_not(name)
        entry["isolated"] = _discovery.load(name).isolated
        with _discovery.strategy(name) as made:
            entry["window"] = made.window
        entry["available"] = True
    except StrategyUnavailable:
        pass  # why not is known by now
    except Exception as exc:  # noqa: BLE001 - a third party's code; its fault is what is to be shown
        entry["why"] = f"{type(exc).__name__}: {exc}"
    return entry
