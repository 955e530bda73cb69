"""The runner: found, called, and told of an interrupt."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from toolexec import interrupt_runner
from toolexec._runner import Factory, declared_entry, entry, is_async, resolve, yields_parts


class Sync:
    def call(self) -> str:
        return "called"


class Async:
    async def call(self) -> str:
        return "called"


class CallableObject:
    def __call__(self) -> str:
        return "object"


class AsyncObject:
    async def __call__(self) -> str:
        return "object"


def plain() -> str:
    return "plain"


async def coroutine() -> str:
    return "coroutine"


def parts() -> Iterator[int]:
    yield 1


async def aparts() -> AsyncIterator[int]:
    yield 1


def returns_parts() -> Iterator[int]:
    return parts()


def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def test_a_class_gives_a_fresh_instance_each_time_and_an_instance_itself() -> None:
    shared = Sync()

    assert resolve(Sync) is not resolve(Sync)
    assert isinstance(resolve(Sync), Sync)
    assert shared is resolve(shared)
    assert plain is resolve(plain)


def test_a_factory_makes_a_runner_each_time() -> None:
    made: list[Sync] = []

    def make() -> Sync:
        made.append(Sync())
        return made[-1]

    factory = Factory(make, Sync)

    assert [resolve(factory), resolve(factory)] == made


def test_the_entry_is_the_call_method_or_the_runner_itself() -> None:
    callable_object = CallableObject()

    assert "called" == entry(Sync())()
    assert callable_object is entry(callable_object)
    assert plain is entry(plain)


def test_an_attribute_named_call_on_a_function_is_not_its_entry() -> None:
    def tagged() -> str:
        return "itself"

    tagged.call = plain  # type: ignore[attr-defined]  # a function may carry anything

    assert "itself" == entry(tagged)()


@pytest.mark.parametrize(
    "source", [Sync, Factory(Sync, Sync), Sync(), plain, wrap(coroutine), functools.partial(plain), CallableObject()]
)
def test_a_sync_shape(source: Any) -> None:
    assert not is_async(declared_entry(source))


@pytest.mark.parametrize(
    "source",
    [
        Async,
        Factory(Async, Async),
        Async(),
        coroutine,
        aparts,
        functools.partial(coroutine),
        AsyncObject(),
        functools.partial(functools.partial(AsyncObject())),
    ],
)
def test_an_async_shape_also_through_partials_and_objects(source: Any) -> None:
    assert is_async(declared_entry(source))


@pytest.mark.parametrize("function", [parts, aparts, functools.partial(parts), wrap(parts), wrap(aparts)])
def test_a_generator_function_yields_parts_also_behind_a_wrapper(function: Callable[..., Any]) -> None:
    assert yields_parts(function)


@pytest.mark.parametrize("function", [plain, coroutine, returns_parts, CallableObject()])
def test_a_function_that_returns_a_generator_yields_none(function: Callable[..., Any]) -> None:
    assert not yields_parts(function)


class Hooks:
    def __init__(self) -> None:
        self.told: list[str] = []


class OnInterrupt(Hooks):
    def on_interrupt(self) -> str:
        self.told.append("interrupt")
        return "awaitable, maybe"


class Both(OnInterrupt):
    def on_cancel(self) -> None:
        self.told.append("cancel")


class NotCallable(OnInterrupt):
    on_cancel = None


def test_only_the_first_hook_found_is_called_and_on_cancel_goes_first() -> None:
    runner = Both()
    interrupt_runner(runner)

    assert ["cancel"] == runner.told


@pytest.mark.parametrize("kind", [OnInterrupt, NotCallable])
def test_on_interrupt_is_called_where_there_is_no_on_cancel(kind: type[Hooks]) -> None:
    runner = kind()

    assert "awaitable, maybe" == interrupt_runner(runner)
    assert ["interrupt"] == runner.told


@pytest.mark.parametrize("runner", [None, object(), Hooks(), plain])
def test_nobody_to_tell_is_no_fault(runner: object) -> None:
    assert None is interrupt_runner(runner)


def test_what_a_hook_raises_comes_out() -> None:
    class Bad:
        def on_cancel(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupt_runner(Bad())
