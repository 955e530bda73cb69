"""At full scale, once: a thousand calls and 300 groups of three leave nothing, where calls cost milliseconds too."""

from __future__ import annotations

import copy

import pytest

from contract import harnesses
from toolexec.testing import CHECKS, Harness, assert_no_leftovers, run_check

LEAKS = [check for check in CHECKS if check.__name__.startswith("check_many_")]


@pytest.mark.parametrize("harness", [harnesses.FORK, harnesses.INTERPRETER], ids=lambda harness: harness.name)
def test_a_thousand_calls_leave_nothing(harness: Harness) -> None:
    """The other strategies make as many in test_contract, under every way to wait."""
    reason = harness.unavailable()
    if reason is not None:
        pytest.skip(reason)
    full = copy.copy(harness)
    full.scale = 1.0
    assert ["check_many_calls_leave_nothing", "check_many_groups_leave_nothing"] == sorted(c.__name__ for c in LEAKS)
    with assert_no_leftovers(), full:
        for check in LEAKS:
            run_check(full, check)
