"""Calls that start while the response that asks for them still streams in."""

from __future__ import annotations

import asyncio
import gc
import json
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest
import trio

import toolexec as tx
from both_loops import Loop, each_loop
from provider_formats import Call
from provider_streams import STREAMS, events
from toolexec.testing import Gate

# Nothing here waits for it to be over.
LONG_S = 20.0


def requests(*calls: Call | tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One event for each call, and the end."""
    named = [Call(call[0], call[1], f"c{n}") for n, call in enumerate(calls)]
    return events("ollama", *named, text="")


class Feed:
    """A stream whose items the test puts in one by one; each is taken before the next is asked for."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def put(self, *items: Any) -> None:
        """``None`` ends it, an exception is raised."""
        for item in items:
            self._items.put(item)

    def __iter__(self) -> Iterator[Any]:
        while (item := self._items.get(timeout=LONG_S)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


async def flowing(items: Iterable[Any], turn: Callable[[], Any] | None = None) -> AsyncIterator[Any]:
    for item in items:
        if turn is not None:
            await turn()
        if isinstance(item, BaseException):
            raise item
        yield item


@tx.tool
def stand(path: str, name: str = "") -> str:
    Gate(path).pass_through(name)
    return name


@tx.tool
async def sleep_for_ever() -> None:
    await asyncio.sleep(1000)


@pytest.mark.parametrize("strategy", ["thread", "fork", "asyncio", "trio"])
def test_two_calls_run_before_their_stream_has_ended(gate: Gate, strategy: str) -> None:
    ctx = tx.Context([stand], strategy=strategy)
    made = requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    for event in ctx.stream(made):
        if event is made[-1]:  # the last event is here, and nobody has been told yet that it is the last
            gate.wait_until_reached(2)  # both stand in their bodies, at once
            gate.open()

    group = ctx.group()
    assert ["a", "b"] == [ret.value for ret in group.wait()]
    assert not ctx.group().tasks
    assert 2 == len(ctx.messages())


@pytest.mark.parametrize("provider", STREAMS)
def test_a_call_starts_before_its_stream_has_ended_with_every_provider(provider: str, gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    arguments = {"path": gate.path, "name": "a"}
    made = events(provider, Call("stand", arguments, "c1"), Call("stand", {**arguments, "name": "b"}, "c2"))
    end = len(made) - (2 if provider in ("openai", "anthropic", "bedrock") else 1)
    feed = Feed()
    feed.put(*made[:end])
    stream = ctx.stream(feed)
    reader = threading.Thread(target=lambda: list(stream))
    reader.start()

    # OpenAI's last call is whole once the choice is, and no sooner.
    gate.wait_until_reached(1 if provider == "openai" else 2)
    with pytest.raises(tx.ToolexecError, match="still goes on"):
        ctx.turn()
    feed.put(*made[end:], None)
    gate.wait_until_reached(2)
    gate.open()
    reader.join(LONG_S)
    assert ["a", "b"] == [ret.value for ret in ctx.wait()]


@each_loop
def test_async_calls_overlap_their_stream_and_each_other(kind: str) -> None:
    loop = Loop(kind)
    begun: list[int] = []

    async def main() -> tuple[tx.Return, ...]:
        both = asyncio.Event() if kind == "asyncio" else trio.Event()

        @tx.tool
        async def meet(n: int) -> int:
            begun.append(n)
            if len(begun) == 2:
                both.set()
            await both.wait()
            return n

        ctx = tx.Context([meet])
        made = requests(("meet", {"n": 1}), ("meet", {"n": 2}))
        stream = ctx.stream(flowing(made, loop.turn))
        async for event in stream:
            if event is made[-1]:
                await both.wait()  # no stream would come to its end here, did the calls not run
        returns: tuple[tx.Return, ...] = await ctx.group()
        return returns

    assert [1, 2] == [ret.value for ret in loop.run(main)]


def test_calls_are_in_call_order_whatever_settles_first(gate: Gate) -> None:
    @tx.tool
    def quick(n: int) -> int:
        return n

    @tx.tool(start_early=False)
    def late(n: int) -> int:
        return n

    ctx = tx.Context([stand, quick, late], strategy="thread")
    made = requests(("late", {"n": 0}), ("stand", {"path": gate.path, "name": "a"}), ("quick", {"n": 1}), ("nope", {}))
    stream = ctx.stream(made)
    for _ in stream:
        pass
    assert [True, False, False, False] == [fn.pending for fn in stream.functions]
    with ctx.group() as group:
        gate.wait_until_reached(1)
        gate.open()

    assert [0, "a", 1, "unknown_tool"] == [ret.value if ret.ok else ret.status for ret in group.wait()]
    assert ctx.returns == group.returns


def test_start_may_be_false_or_a_choice() -> None:
    @tx.tool
    def note(n: int) -> int:
        return n

    made = requests(("note", {"n": 0}), ("note", {"n": 1}))
    ctx = tx.Context([note], strategy="thread")
    stream = ctx.stream(made, start=False)
    for _ in stream:
        pass
    assert [True, True] == [fn.pending for fn in stream.functions]
    assert list(stream.functions) == list(ctx.pending_functions)
    assert [0, 1] == [ret.value for ret in ctx.wait()]

    stream = ctx.stream(made, start=lambda fn: fn.arguments == {"n": 1})
    for _ in stream:
        pass
    assert [True, False] == [fn.pending for fn in stream.functions]
    assert [0, 1] == [ret.value for ret in ctx.wait()]


def test_what_is_no_choice_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="start is 'no': it takes True, False, or a function"):
        tx.Context([stand]).stream([], start="no")  # type: ignore[arg-type]  # what is tested


def test_a_choice_that_raises_breaks_the_stream() -> None:
    def choose(function: tx.Function) -> bool:
        raise RuntimeError("cannot choose")

    ctx = tx.Context([stand], strategy="thread")
    with pytest.raises(RuntimeError, match="cannot choose"):
        list(ctx.stream(requests(("stand", {"path": ""})), start=choose))
    assert ["cancelled"] == [ret.status for ret in ctx.wait()]


def test_sequential_calls_wait_for_the_group() -> None:
    ran: list[int] = []

    @tx.tool
    def note(n: int) -> None:
        ran.append(n)

    ctx = tx.Context([note], strategy="sequential")
    for _ in ctx.stream(requests(("note", {"n": 0}), ("note", {"n": 1}))):
        assert [] == ran
    ctx.wait()
    assert [0, 1] == ran


def test_an_exclusive_call_runs_alone_and_nothing_behind_it_starts_early(gate: Gate) -> None:
    running: list[str] = []

    @tx.tool(exclusive=True)
    def alone() -> list[str]:
        return list(running)

    @tx.tool
    def held(name: str) -> list[str]:
        running.append(name)
        Gate(gate.path).pass_through(name)
        running.remove(name)
        return list(running)

    @tx.tool
    def after() -> list[str]:
        return list(running)

    ctx = tx.Context([alone, held, after], strategy="thread")
    stream = ctx.stream(requests(("held", {"name": "a"}), ("held", {"name": "b"}), ("alone", {}), ("after", {})))
    for _ in stream:
        pass
    gate.wait_until_reached(2)
    assert [False, False, True, True] == [fn.pending for fn in stream.functions]
    group = ctx.group()
    assert [None, None] == [task._begun_at for task in group.tasks[2:]]
    gate.open()
    assert [[], []] == [ret.value for ret in group.wait()[2:]]


def test_a_window_counts_what_has_started_early(gate: Gate) -> None:
    with tx.strategy("thread", window=2) as strategy:
        ctx = tx.Context([stand], strategy=strategy)
        made = requests(*(("stand", {"path": gate.path, "name": str(n)}) for n in range(5)))
        stream = ctx.stream(made)
        for _ in stream:
            pass
        gate.wait_until_reached(2)
        assert [False, False, True, True, True] == [fn.pending for fn in stream.functions]
        group = ctx.group()
        assert 2 == sum(task._begun_at is not None for task in group.tasks)
        gate.open()
        assert [str(n) for n in range(5)] == [ret.value for ret in group.wait()]


def test_room_in_a_window_is_used_while_the_stream_goes_on(gate: Gate) -> None:
    with tx.strategy("thread", window=1) as strategy:
        ctx = tx.Context([stand], strategy=strategy)
        stream = ctx.stream(
            [
                *requests(*(("stand", {"path": gate.path, "name": str(n)}) for n in range(2)))[:-1],
                *requests(),
            ]
        )
        items = iter(stream)
        while len(stream.functions) < 2:
            next(items)
        first, second = stream.functions
        assert second.pending
        gate.open()
        assert first._task is not None
        first._task.wait()
        next(items)
        assert not second.pending
        for _ in items:
            pass
        assert ["0", "1"] == [ret.value for ret in ctx.wait()]


def test_a_deadline_of_the_group_holds_for_what_started_early(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    for _ in ctx.stream(requests(("stand", {"path": gate.path}))):
        pass
    gate.wait_until_reached(1)

    (ret,) = ctx.group(timeout=0.01).wait()
    assert "timeout" == ret.status
    gate.open()


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_of_the_turn_or_group_reaches_every_call(gate: Gate, after: bool) -> None:
    ctx = tx.Context([stand], strategy="thread")
    feed = Feed()
    made = requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    stream = ctx.stream(feed)
    items = iter(stream)
    for event in made[:-2]:
        feed.put(event)
        next(items)
    gate.wait_until_reached(1)
    if not after:
        ctx.interrupt("enough")
    feed.put(*made[-2:], None)
    for _ in items:
        pass
    group = ctx.group()
    if after:
        group.interrupt("enough")

    assert [("cancelled", "enough")] * 2 == [(ret.status, ret.reason) for ret in group.wait()]
    assert 3 == len(ctx.turn())
    gate.open()


class Broken(Exception):
    pass


@pytest.mark.parametrize("strategy", ["thread", "fork"])
def test_a_stream_that_breaks_interrupts_what_it_started(gate: Gate, strategy: str) -> None:
    @tx.tool(start_early=False)
    def late() -> None:
        pass

    @tx.tool
    def quick() -> int:
        return 1

    ctx = tx.Context([stand, late, quick], strategy=strategy)
    feed = Feed()
    made = requests(("quick", {}), ("stand", {"path": gate.path}), ("late", {}))
    feed.put(*made[:-1])
    stream = ctx.stream(feed)
    items = iter(stream)
    for _ in made[:-1]:
        next(items)
    first = stream.functions[0]._task
    assert first is not None
    first.wait()
    gate.wait_until_reached(1)
    feed.put(Broken())
    with pytest.raises(Broken):
        next(items)

    returns = ctx.wait()
    assert ["ok", "cancelled", "cancelled"] == [ret.status for ret in returns]
    assert [False, True, True] == [fn.cancelled for fn in stream.functions]
    assert [None, "the response broke off: Broken", "the response broke off: Broken"] == [r.reason for r in returns]
    assert [] == ctx.turn() == ctx.messages() == ctx.history()
    assert returns == ctx.returns
    with pytest.raises(StopIteration):
        next(items)
    # The conversation goes on.
    ctx.next_turn()
    ctx.receive([{"id": "n", "name": "quick", "arguments": {}}])
    assert [1] == [ret.value for ret in ctx.wait()]
    assert 2 == len(ctx.turn("openai")) == len(ctx.history("openai"))


@each_loop
def test_cancelling_the_reader_stops_the_calls(kind: str) -> None:
    loop = Loop(kind)
    log: list[str] = []
    feed = requests(("forever", {}))[:-1]

    async def main() -> None:
        begun = asyncio.Event() if kind == "asyncio" else trio.Event()

        @tx.tool
        async def forever() -> None:
            begun.set()
            try:
                await loop.sleep(1000)
            except BaseException as exc:
                log.append(type(exc).__name__)
                raise

        async def never_ends() -> AsyncGenerator[Any]:
            for event in feed:
                yield event
            await loop.forever()

        ctx = tx.Context([forever])
        source = never_ends()

        async def read() -> None:
            async with ctx.stream(source) as stream:
                async for _ in stream:
                    pass

        await loop.cancelled_once(begun, read)
        await source.aclose()
        assert ["cancelled"] == [ret.status for ret in ctx.returns]  # the block waited for it
        assert [] == ctx.turn()

    loop.run(main)
    assert [loop.cancelled.__name__] == log


def test_leaving_the_block_early_stops_the_calls_and_waits_for_them(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    with ctx.stream(requests(("stand", {"path": gate.path}))) as stream:
        for _ in stream:
            if stream.functions:
                gate.wait_until_reached(1)
                break

    assert [("cancelled", "the response was left before its end")] == [(r.status, r.reason) for r in ctx.returns]
    assert [] == ctx.turn()


def test_a_stream_that_nobody_holds_any_more_is_broken(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread", history=False)
    made = requests(("stand", {"path": gate.path}))
    for event in ctx.stream(made):
        if event is made[-2]:
            gate.wait_until_reached(1)
            break
    gc.collect()

    assert ["cancelled"] == [ret.status for ret in ctx.wait()]
    assert [] == ctx.turn()
    ctx.receive([])
    assert 1 == len(ctx._responses)


def test_a_block_that_would_stop_a_running_loop_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(tx.WrongLoop, match="'async with'"):
            tx.Context([stand]).stream([]).__enter__()

    asyncio.run(main())


def test_an_exception_in_the_block_stops_what_is_not_in_a_group_yet(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")

    def leave() -> None:
        with ctx.stream(requests(("stand", {"path": gate.path}))) as stream:
            for _ in stream:
                pass
            gate.wait_until_reached(1)
            raise Broken

    with pytest.raises(Broken):
        leave()
    assert ["cancelled"] == [ret.status for ret in ctx.returns]
    assert 2 == len(ctx.turn())  # the response was whole, and its calls are answered


def test_a_block_left_after_its_end_leaves_the_calls_running(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    with ctx.stream(requests(("stand", {"path": gate.path, "name": "a"}))) as stream:
        for _ in stream:
            pass
    gate.open()
    assert ["a"] == [ret.value for ret in ctx.wait()]


def test_events_of_a_group_tell_of_calls_that_started_early(gate: Gate) -> None:
    @tx.tool
    def report(path: str) -> None:
        Gate(path).pass_through("r")
        tx.progress(1)

    ctx = tx.Context([report], strategy="thread")
    for _ in ctx.stream(requests(("report", {"path": gate.path}), ("nope", {}))):
        pass
    gate.wait_until_reached(1)
    walk = ctx.group().events()
    first = [type(next(walk)).__name__, type(next(walk)).__name__]
    gate.open()

    assert ["Started", "Settled", "Progress", "Settled"] == [*first, *(type(event).__name__ for event in walk)]


def test_walks_over_events_that_are_left_cost_no_call_its_return() -> None:
    @tx.tool
    def quick() -> None:
        tx.progress(1)

    with tx.strategy("thread") as strategy:
        for _ in range(100):
            ctx = tx.Context([quick], strategy=strategy)
            for _ in ctx.stream(requests(*[("quick", {})] * 4)):
                pass
            group = ctx.group()
            next(group.events())  # left at once, while four threads have something to tell
            assert ["ok"] * 4 == [ret.status for ret in group.wait(LONG_S)]


@each_loop
def test_events_come_in_a_loop_too(kind: str) -> None:
    loop = Loop(kind)

    async def main() -> list[str]:
        @tx.tool
        async def report() -> None:
            await loop.turn()
            await loop.turn()
            tx.progress(1)

        ctx = tx.Context([report])
        async for _ in ctx.stream(flowing(requests(("report", {})))):
            pass
        return [type(event).__name__ async for event in ctx.group().events()]

    assert ["Started", "Progress", "Settled"] == loop.run(main)


def test_as_finished_gives_early_calls_first(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    for _ in ctx.stream(requests(("stand", {"path": gate.path, "name": "a"}), ("nope", {}))):
        pass
    walk = iter(ctx.group())
    assert "unknown_tool" == next(walk).status
    gate.open()
    assert ["a"] == [ret.value for ret in walk]


def test_a_part_of_the_calls_can_be_left_out(gate: Gate) -> None:
    ctx = tx.Context([stand], strategy="thread")
    stream = ctx.stream(
        requests(("stand", {"path": gate.path, "name": "a"}), ("stand", {"path": gate.path, "name": "b"}))
    )
    for _ in stream:
        pass
    first, second = stream.functions
    with (stream.functions - [first]).group() as group:
        assert [second] == [task.function for task in group.tasks]
        gate.open()
    assert ["a", "b"] == [ret.value for ret in ctx.wait()]


def test_many_rounds_leave_nothing_behind() -> None:
    @tx.tool
    def quick(n: int) -> int:
        return n

    with tx.strategy("thread") as strategy:
        ctx = tx.Context([quick], strategy=strategy, history=False)
        for round_ in range(300):
            for _ in ctx.stream(requests(*(("quick", {"n": n}) for n in range(round_ % 5)))):
                pass
            group = ctx.group()
            assert list(range(round_ % 5)) == [ret.value for ret in group.wait()]
            assert len(group._finished) == len(group)
            assert not group._joined
            assert not group.alive
        assert not strategy._live
        assert len(ctx._responses) <= 1


def test_a_stream_under_way_bears_no_receive_in_between() -> None:
    """A response that comes meanwhile is the last one; both keep their calls."""

    @tx.tool
    def quick(n: int) -> int:
        return n

    ctx = tx.Context([quick], strategy="thread", history=False)
    stream = ctx.stream(requests(("quick", {"n": 1})))
    items = iter(stream)
    next(items)
    ctx.receive([{"id": "x", "name": "quick", "arguments": {"n": 2}}])
    for _ in items:
        pass
    assert [1, 2] == [ret.value for ret in ctx.group().wait()]


# What is no stream


class Manager:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"stream": []}, "give its 'stream'"),
        ({"choices": []}, "receive"),
        (Manager(), "enter it first"),
        (3, "receive"),
    ],
)
def test_what_is_no_stream_is_refused_at_once(source: Any, said: str) -> None:
    with pytest.raises(tx.FormatError, match=said):
        tx.Context([stand]).stream(source)


def test_a_coroutine_has_to_be_awaited_first() -> None:
    made = coroutine()
    with pytest.raises(tx.FormatError, match="await it first"):
        tx.Context([stand]).stream(made)
    made.close()


def test_sync_and_async_are_told_apart() -> None:
    ctx = tx.Context([stand])
    with pytest.raises(TypeError, match="use 'async for'"):
        iter(ctx.stream(flowing([])))
    with pytest.raises(TypeError, match="use 'for'"):
        aiter(ctx.stream([]))
    assert () == ctx.wait()


def test_a_provider_without_streams_says_so() -> None:
    class Own(tx.OpenAI):
        name = "own"

        def assembler(self) -> Any:
            return tx.Provider.assembler(self)

    with pytest.raises(tx.FormatError, match="streams of own cannot be read"):
        tx.Context([stand]).stream([], provider=Own())
    with pytest.raises(tx.FormatError, match="no provider named"):
        tx.Context([stand]).stream([], provider="opanai")


def test_start_early_is_an_option_of_every_form() -> None:
    @tx.tool(start_early=False)
    def one() -> None: ...

    class Two(tx.Tool):
        name = "two"
        start_early = False

        def call(self) -> None: ...

    three = tx.Function("three", start_early=False)
    assert not any(made._definition.start_early for made in (one, tx.Context([Two]).functions["two"], three))
    with pytest.raises(tx.DeclarationError, match="start_early is 1; it takes True or False"):
        tx.Function("four", start_early=1)


def test_models_are_named_with_the_calls() -> None:
    ctx = tx.Context([stand], strategy="sequential")
    stream = ctx.stream(events("anthropic", Call("nope", {}, "c1")))
    for _ in stream:
        pass
    assert ["m"] == [fn.model for fn in stream.functions]
    assert (
        "m"
        == ctx.receive(
            json.dumps(
                {
                    "model": "m",
                    "choices": [
                        {
                            "message": {
                                "role": "assistant",
                                "tool_calls": [{"id": "c1", "function": {"name": "nope", "arguments": "{}"}}],
                            }
                        }
                    ],
                }
            )
        )[0].model
    )
