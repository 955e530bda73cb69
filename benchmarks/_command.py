"""The command line that all scripts share: how much to measure, and where to keep what was found."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import toolexec as tx
from _findings import Findings
from _machine import describe, load, python_label
from _rounds import Plan
from _targets import targets_of

RESULTS = Path(__file__).with_name("results")

STRATEGIES = ("sequential", "thread", "asyncio", "trio", "fork", "interpreter")


def run(
    script: str,
    measure: Callable[[Plan, Findings, ExitStack], None],
    *,
    rounds: int,
    arguments: Sequence[str] | None = None,
    packages: Iterable[str] = ("pydantic", "trio"),
) -> None:
    """Measure as the command line says, print what was found, and keep it.

    Args:
        script: Its name, under which it is kept.
        measure: Fills the findings in; the stack closes what it opens.
        rounds: The default.
        arguments: In place of those of the command line.
        packages: Whose versions matter.
    """
    parser = argparse.ArgumentParser(description=f"See the first lines of {script}.py.")
    parser.add_argument("--rounds", type=_positive, default=None, help=f"how often to measure (default {rounds})")
    parser.add_argument("--quick", action="store_true", help="only look whether it runs; the figures say nothing")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help=f"where to keep it (default {RESULTS.name}/)")
    options = parser.parse_args(arguments)
    plan = Plan(options.rounds or (1 if options.quick else rounds), options.quick)
    findings = Findings(script, python_label(), {**describe(packages), "rounds": plan.rounds}, quick=plan.quick)
    with ExitStack() as stack:
        measure(plan, findings, stack)
    findings.head["load_after"] = load()
    unmeasured = {target.key for target in targets_of(script, findings.python)} - set(findings.figures)
    # A target without a figure has to be owned up to.
    assert not unmeasured or findings.missing, f"no figure for {sorted(unmeasured)}, and no reason"
    print(findings.as_text(), flush=True)
    # What a quick run found must not stand in for measurements.
    folder = options.results or (None if plan.quick else RESULTS)
    if folder is not None:
        findings.write(folder)


def open_strategies(
    stack: ExitStack, findings: Findings, names: Sequence[str] = STRATEGIES, *, grace: float = 2.0
) -> dict[str, tx.Strategy]:
    """Those of the strategies that run here; why the others do not is among the findings."""
    opened: dict[str, tx.Strategy] = {}
    for name in names:
        try:
            opened[name] = stack.enter_context(tx.strategy(name, grace=grace))
        except tx.StrategyUnavailable as exc:
            findings.missing[name] = str(exc)
    return opened


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it takes one round at least")
    return number
