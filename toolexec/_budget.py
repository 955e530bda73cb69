"""Budget: how many calls a model may ask for in one turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from toolexec._errors import DeclarationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """So many calls a turn; those beyond it are answered at once, with the status ``budget``, and never run.

    The model reads that it makes too many calls.  ``Context.next_turn`` begins anew.  Each call that is
    started counts, whatever comes of it.

    Attributes:
        per_turn: How many calls in all, or None for no bound.
        per_tool: How many calls of a tool, by its name.

    Raises:
        DeclarationError: One of them is no whole number of calls, zero or more.
    """

    per_turn: int | None = None
    per_tool: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        if not isinstance(self.per_tool, Mapping):
            raise DeclarationError(
                f"Budget: per_tool is {self.per_tool!r}; it takes a dict: a tool's name, and how many"
            )
        limits: dict[str, object] = {"per_turn": self.per_turn}
        limits.update({f"per_tool[{name!r}]": limit for name, limit in self.per_tool.items()})
        for whose, limit in limits.items():
            if limit is None and whose == "per_turn":
                continue
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                raise DeclarationError(f"Budget: {whose} is {limit!r}; it takes a whole number of calls, zero or more")


class Spending:
    """What one turn has spent of a Budget.  Any thread; a count is one atomic step, and no lock."""

    __slots__ = ("_before", "_budget", "_by_tool", "_in_all", "_marks")

    def __init__(self, budget: Budget, spent: Mapping[str, int] | None = None) -> None:
        self._budget = budget
        self._before = dict(spent or {})
        self._marks: dict[str, list[None]] = {}  # one a call: to append is one step, to add to a number is not
        self._in_all: Iterator[int] = itertools.count(1 + sum(self._before.values()))
        self._by_tool = {name: itertools.count(1 + self._before.get(name, 0)) for name in budget.per_tool}

    @property
    def spent(self) -> dict[str, int]:
        """How many calls were counted, by tool."""
        counted = {name: self._before.get(name, 0) + len(marks) for name, marks in list(self._marks.items())}
        return {**self._before, **counted}

    def allows(self, name: str) -> bool:
        """Count one more call of a tool; whether it is within the Budget."""
        self._marks.setdefault(name, []).append(None)
        in_all, per_turn = next(self._in_all), self._budget.per_turn
        counter = self._by_tool.get(name)
        of_tool = 0 if counter is None else next(counter)
        return (per_turn is None or in_all <= per_turn) and of_tool <= self._budget.per_tool.get(name, of_tool)
