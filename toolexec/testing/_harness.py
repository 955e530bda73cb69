"""Harness: one strategy, set up to be held to the promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Literal, Self, overload

from toolexec import (
    Clock,
    Context,
    Function,
    Functions,
    Group,
    Progress,
    Return,
    Strategy,
    StrategyUnavailable,
    Task,
    Tracer,
)
from toolexec.lowlevel import MONOTONIC
from toolexec.testing._bench import Bench
from toolexec.testing._drivers import LIMIT_S, Driver, collect, settle
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal
from toolexec.testing._rendezvous import Rendezvous
from toolexec.testing._threads import beside

Home = Literal["caller", "thread", "asyncio", "trio", "process", "interpreter"]
Interrupts = Literal["raises", "tells"]

# Long enough for a body that does as it is told, on a machine that is busy; an admitted guess.
HASTY_S = 0.2


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
        interrupts: What an interrupt does to a body that does not ask for it: it "raises" an exception in
            it (in an async one the loop's own), or only "tells", and leaves it to ask.
        kills: Whether a body that ignores it is killed at the end of its grace; else it is left behind.
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
        interrupts: Interrupts = "tells",
        kills: bool = False,
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
            interrupts: See the class; who overrides ``ask`` says "raises".
            kills: See the class; who overrides ``kill`` says True.
            scale: See the class; a strategy whose calls are slow gets a smaller one.
            driver: See the class; ``under`` gives the others.
        """
        self.name = name
        self.make = make
        self.home = home
        self.isolated: bool = home in ("process", "interpreter") if isolated is None else isolated
        self.concurrent = concurrent
        self.survives_death = survives_death
        self.nests = nests
        self.interrupts: Interrupts = interrupts
        self.kills = kills
        self.scale = scale
        self.driver: Driver = driver
        self._bench = Bench()

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
        """Close the strategy objects; the next use makes others."""
        while self._bench.strategies:
            self._bench.strategies.popitem()[1].close()

    @property
    def strategy(self) -> Strategy:
        """The strategy object that the checks share."""
        return self._shared()

    @property
    def hasty(self) -> Strategy:
        """Another one that they share, with so short a grace that a check may wait until it is over."""
        return self._shared(grace=HASTY_S)

    def _shared(self, **options: float) -> Strategy:
        strategies, key = self._bench.strategies, options.get("grace")
        if key not in strategies:
            strategies[key] = self.make(**options)
        return strategies[key]

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
        clock: Clock | None = None,
    ) -> Functions:
        """Pending calls of a new Context under this strategy.

        Args:
            tools: The tools.
            calls: Call dicts, or pairs of tool name and arguments, which get the ids ``c0``, ``c1``, ...
            strategy: Another object than the shared one.
            tracer: The Context's.
            clock: The Context's.
        """
        return self.context(tools, strategy=strategy, tracer=tracer, clock=clock).receive(records(calls))

    def context(
        self,
        tools: Sequence[Any],
        *,
        strategy: Strategy | None = None,
        tracer: Tracer | None = None,
        clock: Clock | None = None,
    ) -> Context:
        """A new Context under this strategy; the options are those of ``receive``."""
        own = self.strategy if strategy is None else strategy
        return Context(tools, strategy=own, tracer=tracer, clock=clock or MONOTONIC)

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

    def steer(
        self,
        tools: Sequence[Any],
        calls: Sequence[Any],
        act: Callable[[Group], object],
        *,
        window: int | None = None,
        timeout: float | None = None,
        strategy: Strategy | None = None,
        tracer: Tracer | None = None,
        clock: Clock | None = None,
    ) -> tuple[Return, ...]:
        """:meth:`run`, with the test's part done to the Group.

        Args:
            tools: As in ``receive``.
            calls: As in ``receive``.
            act: Given the Group, while the caller waits for it; runs on a thread of its own.  When it
                raises, the Group is interrupted.
            window: The Group's.
            timeout: The Group's.
            strategy: As in ``receive``.
            tracer: The Context's.
            clock: The Context's.
        """
        functions = self.receive(tools, calls, strategy=strategy, tracer=tracer, clock=clock)
        return self.follow(lambda: functions.group(window=window, timeout=timeout), act, moved=clock is not None)

    @overload
    def follow(
        self, start: Callable[[], Group], act: Callable[[Group], object], *, moved: bool = ...
    ) -> tuple[Return, ...]: ...
    @overload
    def follow(self, start: Callable[[], Task], act: Callable[[Task], object], *, moved: bool = ...) -> Return: ...
    def follow(self, start: Callable[[], Any], act: Callable[[Any], object], *, moved: bool = False) -> Any:
        """:meth:`steer`, for what ``start`` starts where the driver waits.

        Args:
            start: Starts a Group or a Task.
            act: As in ``steer``.
            moved: Whether its clock is moved by hand.
        """
        with ExitStack() as stack:

            def begin() -> Any:
                started = start()

                def release() -> None:
                    self.clear()
                    started.interrupt("the check has failed")

                stack.enter_context(beside(lambda: act(started), release))
                return started

            return settle(self.driver, begin, None if moved else LIMIT_S)

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


def records(calls: Sequence[Any]) -> list[Any]:
    """Call dicts from what a check writes down."""
    return [
        call if isinstance(call, Mapping) else {"id": f"c{place}", "name": call[0], "arguments": call[1]}
        for place, call in enumerate(calls)
    ]
