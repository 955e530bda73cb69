"""Which promises do not apply to which strategy, so that none can drop out unseen."""

from __future__ import annotations

import sys

import pytest

import toolexec
from contract import harnesses
from toolexec.testing import CHECKS, Harness, run_suite, unmet

ONE_AT_A_TIME = {
    "check_results_in_call_order",
    "check_returns_as_calls_finish",
    "check_calls_overlap",
    "check_sync_and_async_calls_overlap",
    "check_bounded_wait",
    "check_bounded_await",
    "check_bounded_wait_by_the_clock",
    "check_blocking_wait_for_a_running_group_is_refused",
    "check_window",
    "check_own_window",
    "check_max_in_flight",
    "check_one_held_up_holds_up_no_other",
    "check_interrupt_of_several",
    "check_interrupt_of_one_task",
    "check_each_call_has_its_hook",
    "check_awaiter_of_one_task_is_cancelled",
    "check_waiting_without_owning",
    "check_leaving_a_loop_over_returns",
    "check_wait_cut_short",
}
CONCURRENT = {"check_calls_never_overlap", "check_poll_starts_nothing"}
# On its caller's thread nothing is raised into a body, nor is it left behind: that thread is needed.
ON_THE_CALLERS_THREAD = {
    "check_hook_of_a_body_that_goes_on",
    "check_hook_that_hangs",
    "check_left_behind",
    "check_left_behind_at_a_deadline",
    "check_no_hook_without_delivery",
    "check_wait_ends_within_grace",
}
BESIDE_THE_CALLER = {"check_waited_for_to_its_end"}
ONLY_TELLS = {"check_interrupt_of_a_body_that_does_not_ask", "check_hook_of_a_body_that_does_not_ask"}
CANNOT_KILL = {"check_killed"}
CAN_KILL = {"check_left_behind", "check_left_behind_at_a_deadline"}
DIES_WITH_ITS_TOOL = {"check_worker_death", "check_place_of_the_dead_is_given_back"}
IN_PROCESS = {
    "check_where_isolated_bodies_run",
    "check_bodies_do_not_wait_for_each_others_lock",
    "check_host_memory_is_out_of_reach",
    "check_what_cannot_travel_there",
    "check_argument_that_cannot_travel",
    "check_result_that_cannot_travel_back",
    "check_exception_that_cannot_travel",
    "check_large_values",
}
ISOLATED = {
    "check_where_sync_bodies_run",
    "check_where_async_bodies_run",
    "check_context_variables",
    "check_siblings_started_from_different_contexts",
    "check_instance_is_shared",
    "check_values_are_passed_by_identity",
    "check_late_progress_is_dropped",
    "check_hook_of_a_body_that_goes_on",
    "check_no_hook_without_delivery",
}
ON_A_LOOP = {"check_own_loop_of_the_wanted_kind"}
NO_NESTING = {
    "check_nested_groups_deeper_than_the_window",
    "check_nested_call_of_what_it_holds",
    "check_interrupt_reaches_inner_calls",
    "check_deadline_is_an_interrupt_for_inner_calls",
}

_THREADS = CONCURRENT | IN_PROCESS | BESIDE_THE_CALLER | CANNOT_KILL | DIES_WITH_ITS_TOOL

SKIPPED = {
    "sequential": (ONE_AT_A_TIME | IN_PROCESS | ON_THE_CALLERS_THREAD | ONLY_TELLS | CANNOT_KILL | DIES_WITH_ITS_TOOL),
    "thread": _THREADS,
    "asyncio": _THREADS | ON_A_LOOP,
    "trio": _THREADS | ON_A_LOOP,
    "fork": CONCURRENT | ISOLATED | BESIDE_THE_CALLER | CAN_KILL,
    # A crash in an interpreter is the host's.
    "interpreter": CONCURRENT | ISOLATED | BESIDE_THE_CALLER | CANNOT_KILL | NO_NESTING | DIES_WITH_ITS_TOOL,
    "pool": _THREADS | ONLY_TELLS | NO_NESTING,
}


@pytest.mark.parametrize("harness", harnesses.HARNESSES, ids=lambda harness: harness.name)
def test_table(harness: Harness) -> None:
    """The checks that are skipped are exactly these."""
    assert SKIPPED[harness.name] == {check.__name__ for check in CHECKS if unmet(harness, check) is not None}


def test_every_check_applies_somewhere() -> None:
    """One that no strategy is held to is no promise."""
    nowhere = set.intersection(*SKIPPED.values())

    assert set() == nowhere


def test_unavailable_strategies() -> None:
    """Only interpreter, and only before Python 3.14, cannot run here."""
    ours = [harness for harness in harnesses.HARNESSES if harness is not harnesses.POOL]
    expected = {"interpreter"} if sys.version_info < (3, 14) else set()

    assert expected == {harness.name for harness in ours if harness.unavailable() is not None}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="interpreter runs here")
def test_interpreter_says_what_to_use_instead() -> None:
    """Asked for where it cannot run, it raises before anything starts."""
    with pytest.raises(toolexec.StrategyUnavailable) as refusal:
        harnesses.INTERPRETER.make()

    assert refusal.value.name == "interpreter"
    assert {"thread", "fork"} <= set(refusal.value.alternatives)


def test_run_suite_says_what_it_skipped() -> None:
    """Who uses the suite without a test framework gets the same table, with reasons."""
    some = [check for check in CHECKS if check.__name__ in ("check_value", "check_worker_death", "check_close")]
    lines: list[str] = []

    skipped = run_suite(harnesses.THREAD, some, report=lines.append)

    assert {"check_worker_death": "shares its fate with the tool's process"} == skipped
    assert [
        "check_value, waiting under sync: kept",
        "check_value, waiting under asyncio: kept",
        "check_value, waiting under trio: kept",
        "check_worker_death: does not apply, shares its fate with the tool's process",
        "check_close, waiting under sync: kept",
    ] == lines
