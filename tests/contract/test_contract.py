"""Every strategy keeps every promise that applies to it, however its caller waits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

import pytest

import toolexec
from contract import harnesses
from toolexec.testing import CHECKS, Check, Driver, Harness, assert_no_leftovers, drivers, run_check, unmet


@pytest.fixture(scope="class")
def ready(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The harness of a class, set up; nothing may be left over when it has been taken down."""
    harness: Harness = request.cls.harness
    if harness is harnesses.POOL:
        _find_plugin(harness.name)
    reason = harness.unavailable()
    if reason is not None:
        pytest.skip(reason)
    with assert_no_leftovers(), harness:
        yield harness


def _find_plugin(name: str) -> None:
    try:
        toolexec.strategy(name).close()
    except toolexec.UnknownStrategy:
        if os.environ.get("CI", "").lower() in ("", "0", "false"):
            pytest.skip("tests/plugin_dist is not installed: python -m pip install ./tests/plugin_dist")
        raise


class Contract:
    """One strategy against all the checks.

    A class for each: so its checks run one after another whatever the random order, share one
    strategy object, and no other's workers come and go while they look for what is left over.
    """

    harness: ClassVar[Harness]

    def test_keeps(self, ready: Harness, check: Check, driver: Driver) -> None:
        reason = unmet(ready, check)
        if reason is not None:
            pytest.skip(reason)
        run_check(ready.under(driver), check)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each check under each of the ways to wait that it is for."""
    if metafunc.cls is not None and issubclass(metafunc.cls, Contract):
        harness = metafunc.cls.harness
        cases = [(check, driver) for check in CHECKS for driver in drivers(harness, check)]
        ids = [f"{check.__name__}-{driver}" for check, driver in cases]
        metafunc.parametrize(("check", "driver"), cases, ids=ids)


class TestSequential(Contract):
    harness = harnesses.SEQUENTIAL


class TestThread(Contract):
    harness = harnesses.THREAD


class TestAsyncio(Contract):
    harness = harnesses.ASYNCIO


class TestTrio(Contract):
    harness = harnesses.TRIO


class TestFork(Contract):
    harness = harnesses.FORK


class TestInterpreter(Contract):
    harness = harnesses.INTERPRETER


class TestThirdParty(Contract):
    """The strategy of a distribution that is not ours, found by its entry point."""

    harness = harnesses.POOL


def test_every_harness_has_its_class() -> None:
    """A strategy that is described and not tested would look like one that keeps its promises."""
    assert {contract.harness.name for contract in Contract.__subclasses__()} == {
        harness.name for harness in harnesses.HARNESSES
    }


def test_every_installed_strategy_has_its_harness() -> None:
    """The same from the other end: what the distribution brings is what is tested."""
    with pytest.raises(toolexec.UnknownStrategy) as refusal:
        toolexec.strategy("no such strategy")

    assert set(refusal.value.installed) <= {harness.name for harness in harnesses.HARNESSES}
