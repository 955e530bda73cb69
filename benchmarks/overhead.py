"""What a call costs: each strategy beside its bare primitive, with a tool that does nothing.

    python benchmarks/overhead.py [--quick] [--rounds N] [--json FILE] [--plot FILE.png]

What is timed: for toolexec, from the calls as a model sends them to all their Returns, with arguments
parsed and validated; for a primitive, the same calls of the same function, with arguments as they are.
Pools, loops, children and interpreters are there before.  README.md here has the figures of one run.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from _cases import Case, open_cases
from _report import Samples, header, load, summarise, table, to_json

COUNTS = (1, 8, 100, 1000)
ROUNDS = 100
QUICK_COUNTS = (1, 8, 32)
QUICK_ROUNDS = 3

# Idling before each sample, so that no case pays for the one before it: by then the fork server has
# forked its idle children anew, and threads have gone idle.  It leaves caches cold, as the wait for a
# model does, and a batch of one then takes two to five times what it takes in a hot loop.
_SETTLE_S = 0.003


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    counts = QUICK_COUNTS if options.quick else COUNTS
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    with ExitStack() as stack:
        cases, strategies, missing = open_cases(stack)
        head = header(strategies, missing, rounds)
        rows = summarise(cases, measure(cases, counts, rounds))
        head["load_after"] = load()
    print(table(head, rows))
    if options.json is not None:
        options.json.write_text(json.dumps(to_json(head, rows), indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        from _plot import plot

        plot(head, rows, options.plot)


def measure(cases: Sequence[Case], counts: Sequence[int], rounds: int) -> Samples:
    """Every case at every number of calls, once per round, each round in an order of its own.

    A neighbour's load then falls on all of them alike, and cancels out in the ratios of a round.
    """
    plan = [(case, count) for case in cases for count in counts if count <= case.most]
    samples: dict[tuple[str, int], list[float]] = {(case.name, count): [] for case, count in plan}
    for case, count in plan:  # threads, children, interpreters and caches are made here
        case.run(count)
    gc.collect()
    gc.freeze()  # what is there by now need not be looked at by every collection from here on
    for number in range(rounds):
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {rounds} ", end="", file=sys.stderr, flush=True)
        random.shuffle(plan)
        for case, count in plan:
            gc.collect()  # what the case before left behind; what a case makes itself is its own to pay for
            time.sleep(_SETTLE_S)
            samples[case.name, count].append(case.run(count) / count * 1e6)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return samples


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what a call costs under each strategy.")
    parser.add_argument("--rounds", type=_positive, help=f"how often to measure everything (default {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="a few seconds: does it still run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON, too")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw it, too; needs matplotlib")
    options = parser.parse_args(arguments)
    if options.plot is not None:
        try:
            import matplotlib as _  # noqa: F401, ICN001 - only whether it is there, and now rather than after minutes
        except ImportError:
            parser.error("--plot needs matplotlib, which is not installed: python -m pip install matplotlib")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it takes one round at least")
    return number


if __name__ == "__main__":
    main()
