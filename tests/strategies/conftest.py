"""Where the tests of supervision run their calls: under each strategy, and under all of them in one Group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from supervised_tools import Place
from toolexec import _discovery
from toolexec.testing import DRIVERS, Driver, assert_no_leftovers

# Those that are slow first, so that answers in the order of their ends would show.
STRATEGIES = ["interpreter", "fork", "trio", "asyncio", "thread", "sequential"]


@pytest.fixture(scope="class", params=[*STRATEGIES, "mixed"])
def strategies(request: pytest.FixtureRequest) -> Iterator[Sequence[str]]:
    """One strategy, or all there are; of those nothing may be left over."""
    there = [name for name in STRATEGIES if name in _discovery.available()]
    wanted = there if request.param == "mixed" else [request.param]
    if not set(wanted) <= set(there):
        pytest.skip(f"{request.param} cannot run here")
    with assert_no_leftovers():
        yield wanted


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> Driver:
    """How the caller waits."""
    given: Driver = request.param
    return given


@pytest.fixture
def place(strategies: Sequence[str], driver: Driver, tmp_path: Path) -> Place:
    """A place with nothing in it yet."""
    return Place(strategies, driver, tmp_path)
