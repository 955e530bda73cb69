"""Harness: one strategy, set up to be held to the promises."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from toolexec import Context, Function, Functions, Progress, Return, Strategy, StrategyUnavailable, Tracer
from toolexec.testing._drivers import Driver, collect, settle
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal
from toolexec.testing._rendezvous import Rendezvous
from toolexec.testing._threads import beside

Home = Literal["caller", "thread", "asyncio", "trio", "process", "interpreter"]


def _unheard(_: object) -> None:
    """For what nobody wants to know."""


class Harness:
    """A strategy, what it says about itself, and how its caller waits.

        with Harness("pool", lambda **options: PoolStrategy(**options), home="thread") as harness:
            run_check(harness, check_value)

    Entered, it has one strategy object for all its checks, and a folder for their gates; left, it
    closes and removes them.

    Attributes:
        name: The strategy's name, as its Returns have it.
        home: Where bodies run: on the thread of the caller who waits, on threads of this process,
            on an asyncio or trio loop (the caller's, if it has one of the kind), each in a process
            or an interpreter of its own; None says nothing, and is not held to it.
        isolated: Whether bodies run outside this process's memory.
        concurrent: Whether the calls of one Group may overlap.
        survives_death: Whether a tool may end the process it runs in and only its own call is lost.
        nests: Whether a tool may run calls itself, by the strategy's name; it has to be installed then.
        scale: How many calls the checks for leaks make: 1.0 is 300 Groups of three and 1,000 calls.
        driver: How the caller waits.
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., Strategy],
        *,
        home: Home | None = None,
        isolated: bool | None = None,
        concurrent: bool = True,
        survives_death: bool = False,
        nests: bool = False,
        scale: float = 1.0,
        driver: Driver = "sync",
    ) -> None:
        """Describe a strategy; nothing is made yet.

        Args:
            name: Its name.
            make: Makes a new strategy object; takes the options ``grace`` and ``window``.
            home: See the class.
            isolated: See the class; by default what ``home`` implies.
            concurrent: See the class.
            survives_death: See the class.
            nests: See the class.
            scale: See the class; a strategy whose calls are slow gets a smaller one.
            driver: See the class; ``under`` gives the others.
        """
        self.name = name
        self.make = make
        self.home = home
        self.isolated = home in ("process", "interpreter") if isolated is None else isolated
        self.concurrent = concurrent
        self.survives_death = survives_death
        self.nests = nests
        self.scale = scale
        self.driver: Driver = driver
        self._bench = _Bench()

    def __repr__(self) -> str:
        return f"<Harness {self.name!r}, waiting under {self.driver}>"

    def under(self, driver: Driver) -> Harness:
        """The same, with a caller who waits in another way; both share the strategy object."""
        other = Harness.__new__(Harness)
        other.__dict__.update(self.__dict__, driver=driver)
        return other

    def unavailable(self) -> str | None:
        """Why the strategy cannot run here, or None when it can."""
        try:
            self.make().close()
        except StrategyUnavailable as exc:
            return str(exc)
        return None

    def __enter__(self) -> Self:
        self._bench.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.rest()
        self._bench.close()

    def clear(self) -> None:
        """Remove the gates and meetings of the check that has just ended."""
        self._bench.clear()

    def rest(self) -> None:
        """Close the strategy object; the next use makes another."""
        strategy, self._bench.strategy = self._bench.strategy, None
        if strategy is not None:
            strategy.close()

    @property
    def strategy(self) -> Strategy:
        """The strategy object that the checks share."""
        if self._bench.strategy is None:
            self._bench.strategy = self.make()
        return self._bench.strategy

    # What a check needs to put calls into order

    def gate(self) -> Gate:
        """A gate, until the end of the check."""
        return self._bench.keep(Gate(self._bench.new_path()).__enter__())

    def rendezvous(self, parties: int) -> Rendezvous:
        """A meeting, until the end of the check."""
        return self._bench.keep(Rendezvous(self._bench.new_path(), parties).__enter__())

    def journal(self) -> Journal:
        """An empty journal."""
        return Journal(self._bench.new_path())

    # Running calls

    def receive(
        self,
        tools: Sequence[Any],
        calls: Sequence[Any],
        *,
        strategy: Strategy | None = None,
        tracer: Tracer | None = None,
    ) -> Functions:
        """Pending calls of a new Context under this strategy.

        Args:
            tools: The tools.
            calls: Call dicts, or pairs of tool name and arguments, which get the ids ``c0``, ``c1``, ...
            strategy: Another object than the shared one.
            tracer: The Context's.
        """
        own = self.strategy if strategy is None else strategy
        return Context(tools, strategy=own, tracer=tracer).receive(records(calls))

    def run(
        self,
        tools: Sequence[Any],
        calls: Sequence[Any],
        *,
        window: int | None = None,
        strategy: Strategy | None = None,
        tracer: Tracer | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> tuple[Return, ...]:
        """Run calls as one Group and wait for them in the driver's way.

        Args:
            tools: As in ``receive``.
            calls: As in ``receive``.
            window: The Group's.
            strategy: As in ``receive``.
            tracer: The Context's.
            meanwhile: The test's part in it, while the caller waits; runs on a thread of its own.
        """
        functions = self.receive(tools, calls, strategy=strategy, tracer=tracer)
        with beside(meanwhile, self.clear):
            return settle(self.driver, lambda: functions.group(window=window))

    def collect(
        self,
        tools: Sequence[Any],
        calls: Sequence[Any],
        *,
        window: int | None = None,
        meanwhile: Callable[[], object] | None = None,
        each: Callable[[int], object] = _unheard,
    ) -> list[Return]:
        """:meth:`run`, but go through the Returns as the calls finish; ``each`` is told how many came so far."""
        functions = self.receive(tools, calls)
        with beside(meanwhile, self.clear):
            return collect(self.driver, lambda: functions.group(window=window), each)

    def one(
        self,
        tool: Function,
        arguments: Any = None,
        *,
        meanwhile: Callable[[], object] | None = None,
        on_progress: Callable[[Progress], object] | None = None,
    ) -> Return:
        """Run one call, without a Context, and wait for it in the driver's way."""
        function = tool.bind(arguments, "c0")
        with beside(meanwhile, self.clear):
            return settle(self.driver, lambda: function.task(self.strategy, on_progress=on_progress))


class _Bench:
    """What the harnesses of one strategy share while it is set up."""

    def __init__(self) -> None:
        self.strategy: Strategy | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0
        self._kept: list[Gate | Rendezvous] = []

    def open(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="toolexec-testing-")

    def close(self) -> None:
        self.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def clear(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def new_path(self) -> str:
        assert self._folder is not None, "a harness is used inside `with harness:`"
        self._made += 1
        return f"{self._folder.name}/{self._made}"

    def keep(self, gate: _G) -> _G:
        self._kept.append(gate)
        return gate


_G = TypeVar("_G", Gate, Rendezvous)


def records(calls: Sequence[Any]) -> list[Any]:
    """Call dicts from what a check writes down."""
    return [
        call if isinstance(call, Mapping) else {"id": f"c{place}", "name": call[0], "arguments": call[1]}
        for place, call in enumerate(calls)
    ]
