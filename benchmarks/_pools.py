"""Pools of processes, warm, as one would use them without toolexec; what is not installed is left out."""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

from _findings import Findings

PPE, LOKY, PEBBLE = "ProcessPoolExecutor", "loky", "pebble"
NOTES = {
    PPE: "processes are shared; no cancel once it runs",
    LOKY: "processes are shared; no cancel once it runs",
    PEBBLE: "processes are shared; cancel kills",
}
# What targets call them.
KEYS = {"ppe": PPE, "loky": LOKY, "pebble": PEBBLE}

# Gives a future of a function and its arguments.
Submit = Callable[..., Any]


def open_pools(stack: ExitStack, findings: Findings, workers: int) -> dict[str, Submit]:
    """How to submit to each pool that is there."""
    # Not "fork": this process has threads.
    context = multiprocessing.get_context("forkserver")
    pool = stack.enter_context(ProcessPoolExecutor(workers, mp_context=context))
    found: dict[str, Submit] = {PPE: pool.submit}
    try:
        loky: Any = importlib.import_module("loky")
    except ImportError:
        findings.missing[LOKY] = "it is not installed"
    else:
        executor = loky.get_reusable_executor(workers, timeout=None)
        stack.callback(executor.shutdown)
        found[LOKY] = executor.submit
    try:
        pebble: Any = importlib.import_module("pebble")
    except ImportError:
        findings.missing[PEBBLE] = "it is not installed"
    else:
        processes = stack.enter_context(pebble.ProcessPool(workers, context=context))
        found[PEBBLE] = lambda function, *arguments: processes.schedule(function, args=arguments)
    for submit in found.values():
        submit(os.getpid).result()  # it has started
    return found
