"""The pytest plugin: fixtures for tests of tools and agents.

It stands outside of ``toolexec``, and imports that only where a fixture is used: pytest loads a plugin
before any test, and so before what measures their coverage.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from toolexec import Function
    from toolexec.testing import RecordingTracer

__all__ = ["no_leftovers", "pytest_addoption", "pytest_runtest_call", "recording_tracer"]

_FAILED = pytest.StashKey[bool]()


class _TestFailed(Exception):
    """Leaves the look for leftovers: what a failed test did not come to give back is no news."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the plugin's one setting."""
    text = "seconds that threads and processes may take to be gone, where a test uses no_leftovers"
    parser.addini("toolexec_leftovers_within", text, default="5")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Remember which tests have failed."""
    item.stash[_FAILED] = True
    result = yield
    item.stash[_FAILED] = False
    return result


@pytest.fixture
def no_leftovers(request: pytest.FixtureRequest) -> Generator[None]:
    """Fail a test that leaves calls unsettled or never run, or threads, processes, descriptors or interpreters behind.

    For a test, ``@pytest.mark.usefixtures("no_leftovers")``, for a module ``pytestmark = ...`` of the same,
    for all tests ``usefixtures = ["no_leftovers"]`` in pytest's settings; so it looks once the test's own
    fixtures are torn down.  Strategies that are used by name need not be closed.  What is on its way out has
    as many seconds as the setting ``toolexec_leftovers_within`` says; 5 by default.
    """
    from toolexec.lowlevel import unsettled, watch_received
    from toolexec.testing import Leftovers, assert_no_leftovers

    before = set(unsettled())
    try:
        within = float(request.config.getini("toolexec_leftovers_within"))
        # Inside: what was received may hold what is looked for, and is let go of first.
        with assert_no_leftovers(within=within), watch_received() as pending:
            yield
            if request.node.stash.get(_FAILED, False):
                raise _TestFailed
            left = _named(task.function for task in unsettled() if task not in before)
            waiting = _named(pending())
    except _TestFailed:
        return
    if left:
        raise Leftovers(f"calls that had not settled when the test ended: {left}; wait for them, or interrupt them")
    if waiting:
        raise Leftovers(f"calls that were received and never run: {waiting}; wait for them, or cancel them")


def _named(calls: Iterable[Function]) -> str:
    return ", ".join(f"{call.name!r}" if call.id is None else f"{call.name!r} ({call.id})" for call in calls)


@pytest.fixture
def recording_tracer() -> RecordingTracer:
    """A new ``toolexec.testing.RecordingTracer``, for ``Context(tracer=recording_tracer)``."""
    from toolexec.testing import RecordingTracer

    return RecordingTracer()
