"""What there is without the engine, to stop what runs; each gives seconds from asking to the end being seen."""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import trio
import trio.testing

from toolexec.testing import Gate

now = time.perf_counter


def cancel_task(_: str) -> float:
    async def main() -> float:
        task = asyncio.ensure_future(asyncio.sleep(60))
        await asyncio.sleep(0)
        begun = now()
        task.cancel()
        await asyncio.wait([task])
        return now() - begun

    return asyncio.run(main())


def cancel_scope(_: str) -> float:
    async def main() -> float:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            begun = now()
            nursery.cancel_scope.cancel()
        return now() - begun

    return trio.run(main)


class _Stop(BaseException):
    pass


def raise_in_thread(_: str) -> float:
    running = threading.Event()

    def body() -> None:
        try:
            running.set()
            while True:
                time.sleep(0.005)
        except _Stop:
            pass

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    running.wait()
    time.sleep(0.001)  # out of the event's own code, where the exception could leave its lock taken
    assert thread.ident is not None
    begun = now()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop))
    thread.join()
    return now() - begun


def kill_process(_: str) -> float:
    """A Python that sleeps, so that there is as much to take down as of a forked tool."""
    command = [sys.executable, "-I", "-S", "-c", "import time; print(flush=True); time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        begun = now()
        os.kill(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, 0)
        took = now() - begun
        process.returncode = -signal.SIGKILL  # it need not be waited for any more
    return took


@contextmanager
def pebble_pool() -> Generator[Callable[[str], float]]:
    """A process pool whose futures can be cancelled while they run.

    Raises:
        ImportError: It is not installed.
    """
    pebble: Any = importlib.import_module("pebble")
    with pebble.ProcessPool(max_workers=1) as pool:
        pool.schedule(os.getpid).result()  # it has started

        def cancel(path: str) -> float:
            with Gate(path) as gate:
                future = pool.schedule(_show_and_sleep, args=[gate.path])
                gate.wait_until_reached()
                (pid,) = (int(label) for label in gate.reached)
                begun = now()
                future.cancel()
                while _runs(pid):
                    time.sleep(0.0005)
                return now() - begun

        yield cancel
        pool.stop()


def _show_and_sleep(gate: str) -> None:
    Gate(gate).arrive(str(os.getpid()))
    time.sleep(60)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
