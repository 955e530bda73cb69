"""The ways in which a caller waits: on its thread, in an asyncio loop, in a trio run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Literal, Protocol, TypeVar

from toolexec import Event, Group, Return

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Driver = Literal["sync", "asyncio", "trio"]
DRIVERS: tuple[Driver, ...] = ("sync", "asyncio", "trio")

# More than a gate allows, so that the gate's own error comes out first.
LIMIT_S = 30.0


class Waitable(Protocol[T_co]):
    """A Task or a Group, as far as waiting for it goes."""

    def wait(self, timeout: float | None = None) -> T_co:
        """Block until it has settled."""
        ...

    def __await__(self) -> Generator[Any, Any, T_co]: ...


def settle(driver: Driver, start: Callable[[], Waitable[T]], limit: float | None = LIMIT_S) -> T:
    """Start something where the driver waits (inside its loop), and wait for it in the driver's way.

    Args:
        driver: The driver.
        start: Starts it.
        limit: For the sync driver, whose limit counts by the Context's clock; None where that is moved by hand.

    Raises:
        TimeoutError: It has not settled for longer than any check may take.
    """
    if driver == "sync":
        return start().wait(limit)

    async def main() -> T:
        return await start()

    return run(driver, main)


def collect(driver: Driver, start: Callable[[], Group], each: Callable[[int], object]) -> list[Return]:
    """Start a Group and go through its Returns as its calls finish; ``each`` is told how many came so far."""
    seen: list[Return] = []
    if driver == "sync":
        for ret in start():
            seen.append(ret)
            each(len(seen))
        return seen

    async def main() -> list[Return]:
        async for ret in start():
            seen.append(ret)
            each(len(seen))
        return seen

    return run(driver, main)


def walk(
    driver: Driver, start: Callable[[], Group], ready: Callable[[], object] = lambda: None
) -> tuple[list[Event], Group]:
    """Start a Group and go through its events to the end; ``ready`` is called when none can be missed any more."""
    if driver == "sync":
        group = start()
        events = group.events()
        ready()
        return list(events), group

    async def main() -> tuple[list[Event], Group]:
        group = start()
        events = group.events()
        ready()
        return [event async for event in events], group

    return run(driver, main)


def run(driver: Driver, main: Callable[[], Awaitable[T]]) -> T:
    """Run ``main`` in a fresh loop of the driver's kind.

    Raises:
        TimeoutError: It takes longer than any check may.
    """
    if driver == "trio":
        return _run_trio(main)
    import asyncio

    async def limited() -> T:
        async with asyncio.timeout(LIMIT_S):
            return await main()

    return asyncio.run(limited())


def _run_trio(main: Callable[[], Awaitable[T]]) -> T:
    import trio

    async def limited() -> T:
        try:
            with trio.fail_after(LIMIT_S):
                return await main()
        except trio.TooSlowError as exc:
            raise TimeoutError(f"not through after {LIMIT_S:g} s") from exc

    return trio.run(limited)


async def in_company(driver: Driver, main: Awaitable[T], company: Callable[[], Awaitable[object]]) -> T:
    """Await ``main``, with ``company`` as another task of the same loop."""
    if driver == "trio":
        import trio

        async with trio.open_nursery() as nursery:
            nursery.start_soon(company)
            return await main
    import asyncio

    task = asyncio.ensure_future(company())
    try:
        return await main
    finally:
        await task


async def cancelled_when(
    driver: Driver, wait: Callable[[], Awaitable[object]], moment: Callable[[], Awaitable[object]]
) -> None:
    """Await something as a task of its own, and cancel that when the moment has come.

    Raises:
        AssertionError: It ended otherwise than by being cancelled.
    """
    ended: list[object] = []

    async def waiting() -> None:
        ended.append(await wait())

    if driver == "trio":
        import trio

        async with trio.open_nursery() as nursery:
            nursery.start_soon(waiting)
            await moment()
            nursery.cancel_scope.cancel()
    else:
        import asyncio

        task = asyncio.ensure_future(waiting())
        await moment()
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
    assert not ended, f"it ended, with {ended}, before it was cancelled"
