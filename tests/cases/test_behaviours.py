"""What the project grew from, behaviour by behaviour, and the test that shows each of them here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# A function as a tool
AS_TOOL = {
    "a function becomes a tool": "test_anc_K1_K2_functions_and_methods_sync_and_async_run_alike",
    "async and plain functions are supported": "test_anc_K1_K2_functions_and_methods_sync_and_async_run_alike",
    "the mark may override the name, else it is the function's": "test_anc_K29",
    "a description comes from its mark, else it is the function's name": "test_anc_K29",
    "a parameter's text comes from its annotation": "test_G6",
    "else it is the parameter's name": "test_anc_K9",
    "an unmarked override has the mark of a base method": "test_anc_K11",
    "and its texts from that same method": "test_anc_K13",
    "a default may be left out": "test_anc_K5",
    "a bound method needs no object": "test_anc_K1_K2_functions_and_methods_sync_and_async_run_alike",
    "a method taken from its class needs one": "test_anc_K19",
    "a blank name means the function's": "test_anc_K29",
    "how it is decoded and encoded can be said": "test_anc_K27",
}

# A function that is called by position
TOOL_FUNCTION = {
    "it has a name, a description and a function": "test_what_was_added_is_what_the_model_is_told",
    "it has no parameters unless they are added": "test_without_added_parameters_it_has_none_whatever_its_handle_takes",
    "a parameter has a name, a type and a text": "test_what_was_added_is_what_the_model_is_told",
    "its values may be listed: texts": "test_what_was_added_is_what_the_model_is_told",
    "or numbers, or booleans": "test_the_values_there_are_are_compared_by_kind_and_value",
    "and not mixed, nor of another type": "test_a_parameter_that_cannot_be_is_refused_at_once",
    "the fifth may go by position or by name": "test_what_was_added_is_what_the_model_is_told",
    "a default makes it optional": "test_what_was_added_is_what_the_model_is_told",
    "a default fills its place, and nothing after it moves up": "test_a_default_in_the_middle_is_filled",
    "a call may be text or a structure": "test_eval_takes_a_call_as_text_or_as_a_dict",
    "what comes back is text and name": "test_eval_gives_text_and_name",
    "arguments that do not fit are told, and nothing is called": "test_a_call_that_does_not_fit_is_told_all",
    "the order of the arguments does not matter": "test_a_default_in_the_middle_is_filled",
    "another tool's call gives nothing": "test_the_call_of_another_tool_gives_nothing",
}

# A function as the library's lower building block
FUNCTION = {
    "the class form: name, description, parameters, call": "test_anc_T7",
    "the inline form: params, define": "test_param_and_define_are_decorators_too",
    "id, arguments, tracer, model": "test_anc_R1",
    "equality and hash": "test_anc_R9",
    "the runner is resolved once and kept": "test_anc_R1_the_runner_is_resolved_once_and_kept",
    "it is given the tracer": "test_anc_R11",
    "a name, a text and params are set and read": "test_params_merge_by_name_and_read_they_are_never_none",
    "a type may be a function, asked at every rendering": "test_a_type_given_as_a_function_is_asked_anew",
    "call runs it here": "test_call_runs_it_here_and_now",
    "task runs it under a strategy; an unknown one names those there are": "test_anc_S1",
    "cancel: the text, and more": "test_anc_R8",
    "interrupt tells the runner": "test_anc_S12",
    "called, cancelled, pending": "test_the_predicates_follow_the_call",
    "skill, mcp, a2a": "test_anc_R12",
    "unavailable": "test_anc_R6",
    "budget_spent": "test_anc_R7",
    "a return of a value, and of an error": "test_anc_R4",
    "adapt asks the provider": "test_adapt_asks_the_provider",
    "isolated names the strategies that are": "test_the_isolated_strategies_are_those_that_say_so",
    "the registry": "test_anc_T3",
}


def _tests() -> list[str]:
    return [
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


NAMES = _tests()


@pytest.mark.parametrize(
    ("behaviour", "test"),
    [pair for table in (AS_TOOL, TOOL_FUNCTION, FUNCTION) for pair in table.items()],
    ids=lambda text: text if " " in text else "",
)
def test_every_behaviour_has_its_test(behaviour: str, test: str) -> None:
    assert [name for name in NAMES if name.startswith(test)], behaviour
