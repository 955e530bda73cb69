"""Tools whose calls somebody supervises, and where a test has them run.

The bodies stand at the top of a module so that every strategy can carry them; nothing here may be needed
that a subinterpreter cannot load.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import toolexec as tx
from toolexec.lowlevel import running_loop
from toolexec.testing import Driver, Journal, RecordingTracer, _drivers

T = TypeVar("T")

# Longer than anything here takes.
LONG_S = 20.0


async def turn() -> None:
    """Let others have their turn, in whatever loop runs here."""
    library: Any = sys.modules["trio"] if running_loop() == "trio" else asyncio
    await library.sleep(0)


# The bodies


def work(label: str, journal: str, fate: str = "ok") -> str:
    """Leave a line for each body, and end as the fate says."""
    bodies = _begin(label, journal)
    if fate == "hang" or (fate == "hang first" and bodies == 1):
        _current().wait_interrupted(LONG_S)
        tx.checkpoint()
    return _end(label, fate, bodies)


async def awork(label: str, journal: str, fate: str = "ok") -> str:
    """The same, async."""
    bodies = _begin(label, journal)
    await turn()
    if fate == "hang" or (fate == "hang first" and bodies == 1):
        await _current().until_interrupted()
        tx.checkpoint()
    return _end(label, fate, bodies)


def _begin(label: str, path: str) -> int:
    """How many bodies have begun of this call, this one included."""
    journal = Journal(path)
    journal.write(label)
    return journal.lines().count(label)


def _current() -> tx.CurrentCall:
    call = tx.current_call()
    assert call is not None
    return call


def _end(label: str, fate: str, bodies: int) -> str:
    if fate == "fail" or (fate == "fail twice" and bodies < 3):
        raise ValueError(label)
    if fate == "give up":
        raise tx.ToolError(label)
    if fate == "die" or (fate == "die first" and bodies == 1):
        os._exit(3)
    return f"{label}: {fate}"


# Four tools: two bodies, under two names each, so that a name can be what decides.
BODIES: dict[str, Callable[..., Any]] = {"send": work, "asend": awork, "read": work, "aread": awork}


class Story(NamedTuple):
    """What became of calls, in call order.

    Attributes:
        returns: Their Returns.
        bodies: How often the body of each ran.
    """

    returns: tuple[tx.Return, ...]
    bodies: list[int]

    @property
    def statuses(self) -> list[str]:
        """How each ended."""
        return [ret.status for ret in self.returns]


class Place:
    """Where the calls of one test run, and how they are waited for.

    A test writes down a verse of calls.  In a mixed place it is repeated for each strategy, all of them in
    one Group, by tools of the same bodies that have that strategy for their own.
    """

    def __init__(self, strategies: Sequence[str], driver: Driver, folder: Path) -> None:
        self.strategies = strategies
        self.driver: Driver = driver
        self.folder = folder
        self.journal = Journal(folder / "journal")
        self.tracer = RecordingTracer()
        self._ids = 0

    # What a test writes down once for a verse

    def each(self, *items: Any) -> list[Any]:
        """What holds for the calls of a verse, for all of them."""
        return list(items) * len(self.strategies)

    def names(self, *roles: str) -> list[str]:
        """The names of tools."""
        return [self._name(role, strategy) for strategy in self.strategies for role in roles]

    def _name(self, role: str, strategy: str) -> str:
        return f"{role}_{strategy}" if len(self.strategies) > 1 else role

    def context(self, tools: Mapping[str, Any] | None = None, **options: Any) -> tx.Context:
        """A Context of all four tools.

        Args:
            tools: Their options.
            **options: The Context's.
        """
        functions: list[tx.Function] = []
        for strategy in self.strategies:
            for role, body in BODIES.items():
                functions.append(tx.Function(self._name(role, strategy), strategy=strategy, **(tools or {})))
                functions[-1].define(body)
        return tx.Context(functions, tracer=self.tracer, **options)

    def calls(self, *verse: tuple[str, str] | tuple[str, str, str]) -> list[dict[str, Any]]:
        """Call dicts, of pairs of a tool and its call's fate; a third text takes the place of its id as a label."""
        records: list[dict[str, Any]] = []
        for strategy in self.strategies:
            for role, fate, *label in verse:
                given = f"c{self._ids}"
                self._ids += 1
                arguments = {"label": label[0] if label else given, "journal": self.journal.path, "fate": fate}
                records.append({"id": given, "name": self._name(role, strategy), "arguments": arguments})
        return records

    # Running it

    def settle(self, start: Callable[[], _drivers.Waitable[T]]) -> T:
        """Start a Group or a Task where the driver waits, and wait for it in the driver's way."""
        return _drivers.settle(self.driver, start)

    def run(self, main: Callable[[], Awaitable[T]]) -> T:
        """Run in a loop of the driver's kind."""
        return _drivers.run(self.driver, main)

    def wait(self, ctx: tx.Context) -> tuple[tx.Return, ...]:
        """Wait for what a Context has, in the driver's way."""
        return ctx.wait(timeout=LONG_S) if self.driver == "sync" else self.run(ctx.run)

    def tell(self, ctx: tx.Context, *verse: tuple[str, str] | tuple[str, str, str]) -> Story:
        """Have a verse of calls received, run and waited for, and what holds for every Group checked."""
        records = self.calls(*verse)
        functions = ctx.receive(records)
        groups: list[tx.Group] = []

        def start() -> tx.Group:
            groups.append(functions.group())
            return groups[0]

        returns = self.settle(start)
        ids = [record["id"] for record in records]
        assert ids == [ret.id for ret in returns], "one Return for each call, in call order"
        assert returns == groups[0].wait(0) == ctx.wait(timeout=0), "and they stay"
        self.check_traces(returns)
        return Story(returns, self.bodies(*(record["arguments"]["label"] for record in records)))

    def check_traces(self, returns: Sequence[tx.Return]) -> None:
        """Each call has one start and one end, and its tracer saw the Return that everybody sees."""
        for ret in returns:
            events = [event for event in self.tracer.events if event.id == ret.id]
            assert ["start", "finish" if ret.ok else "error"] == [event.kind for event in events], ret
            assert ret == events[-1].ret

    def bodies(self, *labels: str) -> list[int]:
        """How many bodies of each of these calls have begun."""
        counts = Counter(self.journal.lines())
        return [counts[label] for label in labels]
