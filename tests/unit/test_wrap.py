"""wrap: called as the plain function is, run by the engine."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
import pickle
import signal
import threading
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import pytest
import trio

import remote_tools
import toolexec as tx
from toolexec.testing import Gate

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]  # that it does not exist is what is tested

LOOPS: list[Any] = [pytest.param(asyncio.run, id="asyncio"), pytest.param(trio.run, id="trio")]


class Place:
    """A type that JSON knows nothing of."""


def gather(a: Place, b: int = 2, *rest: int, key: str = "k", **more: object) -> tuple[object, ...]:
    """Give back what came."""
    return a, b, rest, key, more


async def agather(a: Place, b: int = 2) -> tuple[object, ...]:
    """Give back what came, a step of the loop later."""
    await trio.lowlevel.checkpoint() if tx.lowlevel.running_loop() == "trio" else await asyncio.sleep(0)
    return a, b


def parts(n: int) -> Iterator[int]:
    """Count."""
    yield from range(n)


async def aparts(n: int) -> AsyncIterator[int]:
    """Count."""
    for part in range(n):
        yield part


# What it looks like


@pytest.mark.parametrize("function", [gather, agather])
def test_it_looks_like_the_function(function: Callable[..., Any]) -> None:
    safe = tx.wrap(function)

    assert inspect.signature(function) == inspect.signature(safe)
    assert typing.get_type_hints(function) == typing.get_type_hints(safe)
    assert (function.__name__, function.__qualname__, function.__module__, function.__doc__) == (
        safe.__name__,
        safe.__qualname__,
        safe.__module__,
        safe.__doc__,
    )
    assert inspect.iscoroutinefunction(function) is inspect.iscoroutinefunction(safe)


def test_it_is_sync_or_async_as_asked() -> None:
    place = Place()
    asynced, synced = tx.wrap(gather, as_async=True), tx.wrap(agather, as_async=False)

    assert (True, False) == (inspect.iscoroutinefunction(asynced), inspect.iscoroutinefunction(synced))
    assert (place, 2, (), "k", {}) == asyncio.run(asynced(place))
    assert (place, 3) == synced(place, b=3)
    assert {"a": Place, "b": int, "return": tuple[object, ...]} == typing.get_type_hints(synced)
    assert not hasattr(synced, "__wrapped__"), "a framework that looks behind it would await what is no coroutine"


def test_hints_may_be_anything_or_missing() -> None:
    """Of names that exist for type checkers alone, too; nothing evaluates them."""

    def loose(a, b: Missing, c: Nowhere.At.All = 3):  # type: ignore[no-untyped-def,name-defined]  # noqa: F821 - so it is
        return a, b, c

    assert (1, 2, 3) == tx.wrap(loose)(1, 2)
    assert (1, 2, 3) == asyncio.run(tx.wrap(loose, as_async=True)(1, b=2))
    assert inspect.signature(loose) == inspect.signature(tx.wrap(loose))


def test_a_function_without_a_signature() -> None:
    assert 7 == tx.wrap(max)(3, 7)
    with pytest.raises(tx.ToolFailed, match="TypeError"):
        tx.wrap(max)()  # type: ignore[call-arg]  # that is the fault


# What it is called with


@pytest.mark.parametrize("strategy", [None, "sequential", "thread", "asyncio", "trio"])
def test_arguments_are_passed_as_they_are(strategy: str | None) -> None:
    """The very object, of a class that no schema could describe; nothing is converted."""
    place = Place()
    safe = tx.wrap(gather, strategy=strategy)

    assert (place, 2, (), "k", {}) == safe(place)
    assert (place, "3", (4, 5), "x", {"a-b": None}) == safe(place, "3", 4, 5, key="x", **{"a-b": None})  # type: ignore[arg-type]  # it is no int


def test_arguments_that_do_not_fit_are_a_type_error_and_nothing_starts() -> None:
    calls: list[int] = []

    def one(a: int, /) -> None:
        calls.append(a)

    for args, kwargs in [((), {}), ((1, 2), {}), ((), {"a": 1})]:
        with pytest.raises(TypeError, match=r"one\(\)"):
            tx.wrap(one)(*args, **kwargs)
        with pytest.raises(TypeError, match=r"one\(\)"):
            asyncio.run(tx.wrap(one, as_async=True)(*args, **kwargs))
    assert [] == calls


def test_a_type_error_of_the_body_is_its_failure() -> None:
    with pytest.raises(tx.ToolFailed) as caught:
        tx.wrap(lambda: len(1))()  # type: ignore[arg-type]  # that is the fault
    assert isinstance(caught.value.__cause__, TypeError)


def test_generator_functions_give_the_list_of_their_parts() -> None:
    collected: Any = tx.wrap(parts)  # a hint says what the function gives, part by part
    acollected: Any = tx.wrap(aparts)

    assert [0, 1, 2] == collected(3)
    assert [0, 1, 2] == asyncio.run(acollected(3))
    assert not hasattr(collected, "__wrapped__"), "a framework would take it for a generator function"
    assert "(n: int) -> collections.abc.Iterator[int]" == str(inspect.signature(tx.wrap(parts)))


# What can be wrapped


class Service:
    """Adds its own number."""

    def __init__(self, number: int) -> None:
        self.number = number

    @tx.wrap
    def add(self, a: int) -> int:
        return self.number + a

    @tx.wrap(strategy="thread", timeout=5)
    async def aadd(self, a: int) -> int:
        return self.number + a

    @tx.wrap
    @staticmethod
    def still(a: int) -> int:
        return a

    @tx.wrap
    @classmethod
    def kind(cls, a: int) -> tuple[type, int]:
        return cls, a

    @tx.wrap(timeout=5)
    @tx.tool
    def tool(self, a: int) -> int:
        return self.number + a

    def __call__(self, a: int) -> int:
        return self.number + a

    def call(self, a: int) -> int:
        raise AssertionError("Python does not call this")


def test_methods() -> None:
    service = Service(10)

    assert (11, 11) == (service.add(1), service.tool(1))
    assert 11 == asyncio.run(service.aadd(1))
    assert (1, 1) == (service.still(1), Service.still(1))
    assert (Service, 1) == service.kind(1)
    assert ["a"] == list(inspect.signature(service.add).parameters)
    assert 11 == tx.wrap(service.__call__)(1)


def test_objects_and_partials() -> None:
    """Name and docstring are those of what is called in the end, the signature is what is left to give."""
    safe = tx.wrap(Service(10))
    assert (11, "Service", "Adds its own number.") == (safe(1), safe.__name__, safe.__doc__)
    assert ["a"] == list(inspect.signature(safe).parameters)

    place = Place()
    bound = tx.wrap(functools.partial(gather, place, key="x"))
    assert (place, 9, (), "x", {}) == bound(9)
    assert ("gather", gather.__doc__) == (bound.__name__, bound.__doc__)
    assert ["b", "rest", "key", "more"] == list(inspect.signature(bound).parameters)


def test_a_tool_brings_its_options_and_its_hook() -> None:
    told: list[str] = []
    begun = threading.Event()

    @tx.tool(strategy="thread", deliver="poll")
    def poll() -> None:
        call = tx.current_call()
        assert call is not None
        begun.set()
        call.wait_interrupted()
        call.checkpoint()

    poll.on_interrupt(lambda: told.append("hook"))

    with pytest.raises(tx.ToolFailed, match=r"the call's time limit of 0\.05 s is over") as caught:
        tx.wrap(poll, timeout=0.05)()

    assert isinstance(caught.value.__cause__, tx.DeadlineExceeded)
    assert begun.is_set()
    assert ["hook"] == told


@pytest.mark.parametrize("wrong", [3, None.__class__, Service, tx.Function("f", "f")])
def test_what_cannot_be_called_is_refused(wrong: Any) -> None:
    with pytest.raises(tx.DeclarationError, match="wrap takes a function"):
        tx.wrap(wrong)


def test_wrong_options_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="timeout is -1"):
        tx.wrap(gather, timeout=-1)
    with pytest.raises(tx.DeclarationError, match="strategy is 3"):
        tx.wrap(strategy=3)
    with pytest.raises(tx.UnknownStrategy, match="fork"):
        tx.wrap(gather, strategy="frok")(Place())


# How it ends


def test_what_it_raises_is_the_cause() -> None:
    original = KeyError("k")

    @tx.wrap
    def fail() -> None:
        raise original

    with pytest.raises(tx.ToolFailed, match="'fail' ended raised") as caught:
        fail()
    assert original is caught.value.__cause__


def test_what_cannot_travel_is_the_cause() -> None:
    with pytest.raises(tx.ToolFailed, match="unsendable") as caught:
        remote_tools.wrapped_pid(threading.Lock())
    assert isinstance(caught.value.__cause__, tx.UnsendableError)


def test_context_variables_reach_it() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("wrap_variable")
    variable.set("caller's")

    assert "caller's" == tx.wrap(variable.get, strategy="thread")()


def test_the_sync_form_refuses_a_running_loops_thread() -> None:
    calls: list[int] = []

    async def main() -> None:
        with pytest.raises(tx.WrongLoop, match="as_async=True"):
            tx.wrap(calls.append)(1)

    asyncio.run(main())
    assert [] == calls


def stand(gate: Gate, seen: list[str]) -> None:
    """Stay until interrupted."""
    call = tx.current_call()
    assert call is not None
    told = threading.Event()

    def tell() -> None:
        seen.append("interrupted")
        told.set()

    with call.on_interrupt(tell):
        gate.arrive()
        try:
            told.wait(30)
        finally:
            told.wait(30)  # the Interrupt may be raised before the callback has begun, and a block left then has none


async def astand(gate: Gate, seen: list[str]) -> None:
    """Stay until cancelled."""
    gate.arrive()
    try:
        if tx.lowlevel.running_loop() == "trio":
            await trio.sleep_forever()
        await asyncio.Event().wait()
    finally:
        seen.append("interrupted")


@pytest.mark.parametrize("function", [stand, astand])
def test_a_cancelled_asyncio_caller_interrupts_it(function: Any, tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        with Gate(tmp_path / "gate") as gate:
            task = asyncio.create_task(tx.wrap(function, as_async=True)(gate, seen))
            await gate.until_reached()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert ["interrupted"] == seen


@pytest.mark.parametrize("function", [stand, astand])
def test_a_cancelled_trio_caller_interrupts_it(function: Any, tmp_path: Path) -> None:
    seen: list[str] = []

    async def main() -> None:
        with Gate(tmp_path / "gate") as gate, trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(tx.wrap(function, as_async=True), gate, seen)
                await gate.until_reached()
                scope.cancel()
        assert scope.cancelled_caught

    trio.run(main)
    assert ["interrupted"] == seen


def test_ctrl_c_in_a_waiting_caller_interrupts_it() -> None:
    seen: list[str] = []
    main = threading.main_thread().ident
    assert main is not None

    @tx.wrap(strategy="thread")
    def pressed() -> None:
        call = tx.current_call()
        assert call is not None
        with call.on_interrupt(lambda: seen.append("interrupted")):
            signal.pthread_kill(main, signal.SIGINT)
            call.wait_interrupted()

    with pytest.raises(KeyboardInterrupt):
        pressed()
    assert ["interrupted"] == seen


# Where it goes


def test_a_decorated_function_is_pickled_by_its_name() -> None:
    assert remote_tools.wrapped_pid is pickle.loads(pickle.dumps(remote_tools.wrapped_pid))


def test_one_that_no_name_leads_to_goes_by_value() -> None:
    copied = cloudpickle.loads(cloudpickle.dumps(tx.wrap(gather, strategy="thread", timeout=5)))

    assert (1, 2, (), "k", {}) == copied(1)


def test_a_forked_tool_calls_wrapped_functions() -> None:
    """The child runs the function, and not the wrapper once more; calls in there fork again."""
    child, inner = remote_tools.wrapped_pids()

    assert 3 == len({os.getpid(), child, inner})
