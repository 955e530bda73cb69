"""Function: a tool, or one call of it; its state and its answers by hand."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import toolexec as tx


def add(a: int, b: int = 1) -> int:
    return a + b


def tool(**options: Any) -> tx.Function:
    function = tx.Function("add", "Adds", **options)
    function.define(add)
    return function


class Traced:
    name = "traced"
    tracer: object = None

    def call(self) -> None: ...


def test_the_id_is_fixed_once_set() -> None:
    call = tool()
    assert None is call.id
    call.id = "c1"
    call.id = "c1"

    with pytest.raises(ValueError, match="'c1' and stays so"):
        call.id = "c2"
    with pytest.raises(ValueError, match="stays so"):
        call.id = None
    assert "c1" == call.id


def test_anc_R9_equality_and_hash_go_by_id_when_both_have_one() -> None:
    fn = tool()
    one, same, other = fn.bind({}, "c1"), tx.Function("x").bind({}, "c1"), fn.bind({}, "c2")
    nameless, also_nameless = fn.bind({}), fn.bind({})

    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert nameless == nameless  # noqa: PLR0124 - identity is the point
    assert nameless != also_nameless
    assert one != nameless
    assert one != "c1"
    assert 4 == len({one, same, other, nameless, also_nameless})


def test_binding_shares_the_tool_and_nothing_else() -> None:
    fn = tool()
    fn.model = "m"
    tracer = fn.tracer = tx.Tracer()
    call = fn.bind({"a": 1}, "c1")

    assert ("add", "Adds", {"a": 1}, "c1") == (call.name, call.description, call.arguments, call.id)
    assert ("m", tracer) == (call.model, call.tracer)
    assert (None, None) == (fn.id, fn.arguments)


def test_the_predicates_follow_the_call() -> None:
    call = tool().bind({"a": 1})
    assert (True, False, False) == (call.pending, call.called, call.cancelled)

    task = call.task("sequential")
    assert (False, False, False) == (call.pending, call.called, call.cancelled)

    task.wait()
    assert (False, True, False) == (call.pending, call.called, call.cancelled)


def test_anc_R8_cancelling_answers_the_call_and_it_is_no_longer_pending() -> None:
    call = tool().bind({"a": 1}, "c1")
    ret = call.cancel()

    assert ("c1", "add", "cancelled") == (ret.id, ret.name, ret.status)
    assert {"cancelled": True, "reason": "function call cancelled"} == ret.value
    assert (False, False, True) == (call.pending, call.called, call.cancelled)


def test_a_cancellation_may_bring_more_and_the_fixed_keys_win() -> None:
    ret = tool().cancel("no", advice="ask", cancelled=False)

    assert {"advice": "ask", "cancelled": True, "reason": "no"} == ret.value
    assert "no" == ret.reason


def test_anc_R6_an_unavailable_tool_has_its_text_verbatim() -> None:
    ret = tool().bind({}, "c1").unavailable()

    assert {"error": True, "type": "NoSuchToolError", "message": "tool not found"} == ret.value
    assert ("c1", "add", "unknown_tool", True) == (ret.id, ret.name, ret.status, ret.error)


def test_an_error_form_is_made_of_an_exception() -> None:
    exc = ValueError("bad")
    ret = tool().bind({}, "c1").error(exc, hint="try b")

    assert {"hint", "error", "type", "message", "backtrace"} == set(ret.value)
    assert (True, "ValueError", "bad", "try b") == tuple(ret.value[k] for k in ("error", "type", "message", "hint"))
    assert ("raised", exc) == (ret.status, ret.exception)


def test_a_value_may_be_returned_by_hand() -> None:
    ret = tool().bind({}, "c1").return_({"error": True})

    assert ("c1", "add", {"error": True}, True) == (ret.id, ret.name, ret.value, ret.ok)


def test_anc_R1_the_runner_is_resolved_once_and_kept() -> None:
    class Fresh(Traced): ...

    fn = tx.Function("fresh")
    fn.define(Fresh)
    one, two = fn.bind(), fn.bind()

    assert one.runner is one.runner
    assert one.runner is not two.runner
    assert isinstance(one.runner, Fresh)


def test_a_second_task_reuses_the_runner() -> None:
    class Counting:
        name = "counting"
        count = 0

        def call(self) -> int:
            self.count += 1
            return self.count

    fn = tx.Function("counting")
    fn.define(Counting)
    call = fn.bind()

    assert [1, 2] == [call.task("sequential").wait().value for _ in range(2)]


def test_anc_R11_a_runner_that_has_a_tracer_is_given_the_functions_once() -> None:
    fn = tx.Function("traced")
    fn.define(Traced)
    call = fn.bind()
    first = call.tracer = tx.Tracer()
    runner = call.runner
    call.tracer = tx.Tracer()

    assert first is runner.tracer is call.runner.tracer


def test_an_untraced_function_leaves_the_runners_tracer_alone() -> None:
    fn = tx.Function("traced")
    shared = Traced()
    shared.tracer = "mine"
    fn.define(shared)

    assert "mine" == fn.bind().runner.tracer


def test_define_gives_back_what_it_was_given_and_starts_anew() -> None:
    fn = tool()
    assert ["a"] == fn.params["required"]

    @fn.define
    def other(c: str) -> str:
        return c

    assert ["c"] == fn.params["required"]
    assert "x" == fn.bind({"c": "x"}).call().value == other("x")


def test_anc_R10_params_is_an_object_even_without_a_body() -> None:
    assert {"type": "object", "properties": {}, "additionalProperties": False} == tx.Function("x").params


def test_call_runs_it_here_and_now() -> None:
    call = tool().bind({"a": 1}, "c1")
    ret = call.call()

    assert (2, "sequential", True) == (ret.value, ret.strategy, call.called)


def test_anc_R12_the_kinds_of_tool_are_read_without_making_one() -> None:
    class Skilled(tx.Tool):
        name = "function-skilled"
        skill = mcp = a2a = True

        def __init__(self) -> None:
            self.made.append(self)

        made: list[tx.Tool] = []  # noqa: RUF012 - shared on purpose

        def call(self) -> None: ...

    by_class = tx.Context([Skilled]).functions["function-skilled"]
    by_instance = tx.Context([Skilled()]).functions["function-skilled"]

    assert (True, True, True) == (by_class.skill, by_class.mcp, by_class.a2a)
    assert (True, False, False) == (by_instance.skill, by_instance.mcp, by_instance.a2a)
    assert (False, False, False) == (tool().skill, tool().mcp, tool().a2a)
    assert 1 == len(Skilled.made)


def test_the_isolated_strategies_are_those_that_say_so() -> None:
    isolated = tx.Function.isolated()

    assert not {"sequential", "thread", "asyncio", "trio"} & set(isolated)


def test_the_repr_tells_name_and_id_and_no_arguments() -> None:
    assert "<Function 'add' id='c1'>" == repr(tool().bind({"key": "secret"}, "c1"))
    assert "<Function 'add'>" == repr(tool())


def test_a_pickled_call_is_the_tool_with_id_and_arguments_and_no_state() -> None:
    call = tool(max_in_flight=2, exclusive=True).bind({"a": 1}, "c1")
    call.call()

    arrived = pickle.loads(pickle.dumps(call))

    assert ("add", "c1", {"a": 1}, True) == (arrived.name, arrived.id, arrived.arguments, arrived.pending)
    assert (2, True) == (arrived._definition.max_in_flight, arrived._definition.exclusive)
    assert 2 == arrived.call().value
    assert copy.copy(call).pending
