"""The strategies that are held to the promises, and what each says about itself."""

from __future__ import annotations

import functools
from typing import Any

import toolexec
from toolexec.testing import Harness


def _named(name: str, **options: Any) -> functools.partial[toolexec.Strategy]:
    return functools.partial(toolexec.strategy, name, **options)


SEQUENTIAL = Harness("sequential", _named("sequential"), home="caller", concurrent=False, nests=True)
THREAD = Harness("thread", _named("thread"), home="thread", nests=True, interrupts="raises")
ASYNCIO = Harness("asyncio", _named("asyncio"), home="asyncio", nests=True, interrupts="raises")
TRIO = Harness("trio", _named("trio"), home="trio", nests=True, interrupts="raises")
# A call here costs milliseconds, so there are fewer of them.
FORK = Harness(
    "fork",
    _named("fork"),
    home="process",
    nests=True,
    interrupts="raises",
    kills=True,
    survives_death=True,
    scale=0.04,
)
# Its tools cannot make calls themselves: pydantic, which reads their arguments, refuses to load there.
# A new interpreter costs a tenth of a second, and as many as the window are kept.
INTERPRETER = Harness(
    "interpreter", _named("interpreter", window=6), home="interpreter", interrupts="raises", scale=0.04
)
# A third party's, from tests/plugin_dist.
# Its pool has a size, so calls in it that make calls might wait for each other.
POOL = Harness("pool", _named("pool"), home="thread")

HARNESSES = (SEQUENTIAL, THREAD, ASYNCIO, TRIO, FORK, INTERPRETER, POOL)
