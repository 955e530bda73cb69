"""Which kind of loop runs on this thread."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest
import trio

from toolexec._loop_kind import running_loop


def test_the_kind_is_told() -> None:
    async def ask() -> str | None:
        return running_loop()

    assert "asyncio" == asyncio.run(ask())
    assert "trio" == trio.run(ask)
    assert running_loop() is None


@pytest.mark.parametrize("name", ["asyncio", "trio"])
def test_a_library_that_another_thread_is_importing_runs_no_loop(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It stands in `sys.modules` before it has its names."""
    monkeypatch.setitem(sys.modules, name, ModuleType(name))

    assert running_loop() is None
