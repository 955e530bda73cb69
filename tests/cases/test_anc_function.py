"""What the Ruby library's users rely on in a Function and its Return, and what is done instead where that is better."""

from __future__ import annotations

from typing import Any

import pytest

import toolexec as tx
from cases.case_tools import ALL


@tx.tool
def greet(name: str, greeting: str = "hello") -> dict[str, str]:
    return {"text": f"{greeting} {name}"}


@tx.tool
def fail() -> None:
    raise LookupError("no such file")


def test_anc_R2_arguments_go_in_by_name_and_optional_ones_may_be_absent() -> None:
    by_text = greet.bind('{"name": "Ada", "greeting": "hi"}').call()

    assert {"text": "hi Ada"} == by_text.value
    assert {"text": "hello Ada"} == greet.bind({"name": "Ada"}).call().value


def test_anc_R3_a_return_has_id_name_and_value_and_its_dict_exactly_these() -> None:
    ret = greet.bind({"name": "Ada"}, id="c1").call()

    assert ("c1", "greet", {"text": "hello Ada"}) == (ret.id, ret.name, ret.value)
    assert {"id": "c1", "name": "greet", "value": {"text": "hello Ada"}} == ret.to_dict()


def test_anc_R4_only_a_failure_is_an_error_and_never_a_value_that_looks_like_one() -> None:
    @tx.tool
    def looks_bad() -> dict[str, Any]:
        return {"error": True, "type": "Looks", "message": "bad"}

    assert (False, True) == (tx.run(greet, {"name": "Ada"}).error, tx.run(fail).error)
    assert (False, True) == (tx.run(looks_bad).error, tx.run(looks_bad).ok)
    assert fail.error(LookupError("x")).error


@pytest.mark.parametrize("strategy", ALL)
def test_anc_R5_an_exception_becomes_type_and_message_under_every_strategy(strategy: str) -> None:
    try:
        made = tx.strategy(strategy)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    with made:
        ret = tx.run(fail, {}, made)

    assert ("raised", True) == (ret.status, ret.value["error"])
    assert ("LookupError", "no such file") == (ret.value["type"], ret.value["message"])


def test_anc_R7_a_spent_budget_is_told_as_a_cancellation_with_its_texts_verbatim() -> None:
    """There it is a ToolLoopError under the name rate_limit; here nothing has failed."""
    call = greet.bind({"name": "Ada"}, id="c1")
    ret = call.budget_spent()

    assert {
        "cancelled": True,
        "reason": "you are making too many tool calls",
        "action": ["stop requesting tool calls"],
        "advice": [
            "produce a response from tool calls already made",
            "temporary error that resets on the next turn",
        ],
    } == ret.value
    assert ("budget", True, False) == (ret.status, ret.cancelled, ret.error)
    assert not call.pending
