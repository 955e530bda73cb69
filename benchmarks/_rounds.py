"""Interleaved rounds: every case once per round, in an order of its own, so that ratios bear a busy machine."""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# Idling before each sample, so that no case pays for the one before it: by then the fork server has
# forked its idle children anew, and threads have gone idle.  It leaves caches cold, as the wait for a
# model does, and a batch of one then takes two to five times what it takes in a hot loop.
SETTLE_S = 0.003

# Of fewer samples the 99th percentile is their maximum by another name.
_ENOUGH_FOR_P99 = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Attributes:
        rounds: How often each case is measured.
        quick: Only look whether it runs, once and cold; the figures will say nothing.
    """

    rounds: int
    quick: bool


Key = tuple[str, str]
# One value per round of each case, by its row and column.
Samples = Mapping[Key, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of a table.

    Attributes:
        row: What is measured.
        column: In which circumstances, such as how many calls.
        run: Measures once, checks what it got, and gives the value: seconds, or what the table is in.
        most_rounds: It is left out of later rounds; for what takes long.
        warm_up: Whether it runs once before anything counts, so that threads, children and caches are there.
    """

    row: str
    column: str
    run: Callable[[], float]
    most_rounds: int | None = None
    warm_up: bool = True

    @property
    def key(self) -> Key:
        return self.row, self.column


def interleave(cases: Sequence[Case], plan: Plan, most_rounds: int | None = None) -> Samples:
    """Run every case once per round, each round in a new random order.

    A neighbour's load then falls on all of them alike, and cancels out in the ratios of a round.

    Args:
        cases: All that are compared.
        plan: How many rounds.
        most_rounds: No more than these, for cases that take long.
    """
    rounds = min(plan.rounds, most_rounds or plan.rounds)
    samples: dict[Key, list[float]] = {case.key: [] for case in cases}
    assert len(samples) == len(cases), "two cases share a row and a column"
    for case in cases:
        if case.warm_up and not plan.quick:
            case.run()
    gc.collect()
    gc.freeze()  # what is there by now need not be looked at by every collection from here on
    for number in range(rounds):
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {rounds} ", end="", file=sys.stderr, flush=True)
        for case in random.sample(cases, len(cases)):
            if case.most_rounds is not None and number >= case.most_rounds:
                continue
            gc.collect()  # what the case before left behind; what a case makes itself is its own to pay for
            time.sleep(SETTLE_S)
            samples[case.key].append(case.run())
    gc.unfreeze()
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return samples


def ratio(samples: Samples, over: Key, under: Key) -> float:
    """The median of the ratios of each round."""
    return statistics.median(a / b for a, b in zip(samples[over], samples[under], strict=False))


def difference(samples: Samples, more: Key, less: Key) -> float:
    """The median of the differences of each round."""
    return statistics.median(a - b for a, b in zip(samples[more], samples[less], strict=False))


def p99(values: Sequence[float]) -> float | None:
    """The 99th percentile; None where there are too few."""
    if len(values) < _ENOUGH_FOR_P99:
        return None
    return statistics.quantiles(values, n=100, method="inclusive")[98]
