"""The test's own threads: one beside the caller who waits, or several callers at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from toolexec.testing._drivers import LIMIT_S

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], object] | None, release: Callable[[], object]) -> Generator[None]:
    """Run ``work`` on a thread beside the block; what it raises comes out at the end.

    When it raises, ``release`` lets go whom it would have let go.
    """
    if work is None:
        yield
        return
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that waits
            raised.append(exc)
            release()

    thread = threading.Thread(target=run, name="toolexec-testing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(LIMIT_S)
        if raised:
            raise raised[0]


def on_threads(count: int, work: Callable[[int], T]) -> list[T]:
    """Run ``work(0)``, ``work(1)``, ... at once, each on a thread of its own; what they returned, in that order.

    Raises:
        BaseException: What the first of them raised.
        TimeoutError: One is not through.
    """
    results: dict[int, T] = {}
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = work(number)
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that waits
            raised.append(exc)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    if raised:
        raise raised[0]
    if len(results) < count:
        raise TimeoutError(f"{count - len(results)} of {count} threads are not through")
    return [results[number] for number in range(count)]
