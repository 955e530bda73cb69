"""A host of some size: a process that holds memory, and times processes that it has started for its calls.

    python _host.py MEGABYTES WAY

Reads a number per line; answers each with a figure.  The ways: ``cold`` is toolexec's fork with one child
ready at most, and calls one after another, so that each waits for a fork; ``mp`` is a multiprocessing fork
per call, likewise; both give seconds for so many calls.  ``peak-toolexec``, ``peak-ppe``, ``peak-pebble``
and ``peak-loky`` make one call with a result of so many bytes, and give the bytes that this process grew by
at its peak.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import toolexec as tx
from _tools import ADD, MAKE, add, make


def main() -> None:
    # Written to, or the kernel would give all of it the same page of zeros.
    ballast = b"x" * (int(sys.argv[1]) << 20)
    answer = _WAYS[sys.argv[2]]()
    for line in sys.stdin:
        print(answer(int(line)), flush=True)
    del ballast


def _cold() -> Callable[[int], float]:
    strategy = tx.strategy("fork", window=1)

    def run(count: int) -> float:
        started = time.perf_counter()
        results = [tx.run(ADD, {"a": call, "b": 1}, strategy).value for call in range(count)]
        took = time.perf_counter() - started
        assert results == [call + 1 for call in range(count)]
        return took

    run(2)
    return run


def _mp() -> Callable[[int], float]:
    return lambda count: fork_each(count, 1)


def fork_each(count: int, window: int) -> float:
    """Seconds for so many calls, a multiprocessing fork for each, ``window`` of them at once."""
    context = multiprocessing.get_context("fork")
    flying: list[tuple[Any, Connection]] = []
    results: list[int] = []

    def finish() -> None:
        process, reader = flying.pop(0)
        results.append(reader.recv())
        reader.close()
        process.join()

    started = time.perf_counter()
    for call in range(count):
        if len(flying) == window:
            finish()
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_send_sum, args=(writer, call))
        process.start()
        writer.close()
        flying.append((process, reader))
    while flying:
        finish()
    took = time.perf_counter() - started
    assert results == [call + 1 for call in range(count)]
    return took


def _send_sum(writer: Any, call: int) -> None:
    writer.send(add(call, 1))


def _mp_window() -> Callable[[int], float]:
    return lambda count: fork_each(count, 8)


def _peak(call: Callable[[int], object]) -> Callable[[int], float]:
    """The growth at its peak while a call of that many bytes is made and its result is held."""
    call(1)  # the workers are there

    def run(size: int) -> float:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before = _status("VmRSS")
        result = call(size)
        assert isinstance(result, bytes)
        assert len(result) == size
        return float(_status("VmHWM") - before)

    return run


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise LookupError(name)


def _peak_toolexec() -> Callable[[int], float]:
    strategy = tx.strategy("fork")
    return _peak(lambda size: tx.run(MAKE, {"size": size}, strategy).value)


def _peak_ppe() -> Callable[[int], float]:
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver"))
    return _peak(lambda size: pool.submit(make, size).result())


def _peak_pebble() -> Callable[[int], float]:
    pebble: Any = importlib.import_module("pebble")
    pool = pebble.ProcessPool(1, context=multiprocessing.get_context("forkserver"))
    return _peak(lambda size: pool.schedule(make, args=[size]).result())


def _peak_loky() -> Callable[[int], float]:
    pool: Any = importlib.import_module("loky").get_reusable_executor(1, timeout=None)
    return _peak(lambda size: pool.submit(make, size).result())


_WAYS: dict[str, Callable[[], Callable[[int], float]]] = {
    "cold": _cold,
    "mp": _mp,
    "mp-8": _mp_window,
    "peak-toolexec": _peak_toolexec,
    "peak-ppe": _peak_ppe,
    "peak-pebble": _peak_pebble,
    "peak-loky": _peak_loky,
}


if __name__ == "__main__":
    main()
