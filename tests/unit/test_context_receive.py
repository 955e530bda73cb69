"""Calls in: the formats a Context takes, and what it says about others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from openai.types.chat import ChatCompletion

import toolexec as tx


class Store:
    name = "of the context"


@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b


def openai_dict(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls) or None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }


def openai_call(call_id: str | None, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


ONE = openai_dict(openai_call("c1", "add", '{"a": 1}'), openai_call("c2", "add", '{"a": 2, "b": 3}'))


@pytest.mark.parametrize(
    "response",
    [
        [
            {"id": "c1", "name": "add", "arguments": {"a": 1}},
            {"id": "c2", "name": "add", "arguments": '{"a": 2, "b": 3}'},
        ],
        (
            {"id": "c1", "name": "add", "arguments": {"a": 1}},
            {"id": "c2", "name": "add", "arguments": {"a": 2, "b": 3}},
        ),
        ONE["choices"][0]["message"]["tool_calls"],
        ONE,
        ChatCompletion.model_validate(ONE),
        SimpleNamespace(
            choices=[
                SimpleNamespace(
                    message=SimpleNamespace(
                        content=None,
                        tool_calls=[
                            SimpleNamespace(id="c1", function=SimpleNamespace(name="add", arguments='{"a": 1}')),
                            SimpleNamespace(
                                id="c2", function=SimpleNamespace(name="add", arguments='{"a": 2, "b": 3}')
                            ),
                        ],
                    )
                )
            ]
        ),
    ],
    ids=["dicts", "tuple", "nested dicts", "openai dict", "openai object", "any object"],
)
def test_every_format_gives_the_same_calls(response: Any) -> None:
    ctx = tx.Context([add])
    fns = ctx.receive(response)

    assert [("c1", "add"), ("c2", "add")] == [(fn.id, fn.name) for fn in fns]
    assert all(fn.pending for fn in fns)
    assert [2, 5] == [ret.value for ret in ctx.wait("sequential")]
    assert ["2", "5"] == [message["content"] for message in ctx.messages()]


@pytest.mark.parametrize(
    "response",
    [[], (), openai_dict(), openai_dict(content="hello"), ChatCompletion.model_validate(openai_dict(content="x"))],
)
def test_a_response_without_calls_gives_nothing_to_do(response: Any) -> None:
    ctx = tx.Context([add])

    assert not ctx.receive(response)
    assert ((), []) == (ctx.wait("thread"), ctx.messages())


@pytest.mark.parametrize(
    ("response", "seen"),
    [
        ("hello", "no JSON .*: 'hello'"),
        (b"x", "no JSON .*: b'x'"),
        ("3", "int 3"),
        (None, "NoneType None"),
        (3, "int 3"),
        ({"role": "assistant"}, "dict"),
        ({"choices": []}, "without choices"),
        ({"choices": [{}]}, "no message"),
        ({"choices": 3}, "without choices"),
        ([3], "call 0 is a int"),
        ([{"name": "add"}, {"id": "c"}], "call 1 has no name"),
        ([{"name": None}], "call 0 has no name"),
        ([{"id": "c", "function": {}}], "call 0 has no name"),
        ({"choices": [{"message": {"tool_calls": ["c"]}}]}, "tool call 0 is no call"),
        ({"choices": [{"message": "hello"}]}, "no message"),
        ({"choices": [{"message": {"function_call": {"name": "add"}}}]}, "tool_calls have replaced"),
        ({"choices": [{"message": {"tool_calls": 3}}]}, "is 3: it has to be a list"),
    ],
)
def test_anything_else_says_what_was_seen_and_changes_nothing(response: Any, seen: str) -> None:
    ctx = tx.Context([add])
    ctx.receive([{"id": "c1", "name": "add", "arguments": {"a": 1}}])

    with pytest.raises(tx.FormatError, match=seen):
        ctx.receive(response)
    assert ["c1"] == [fn.id for fn in ctx.pending_functions]


def test_what_was_seen_is_shown_shortly() -> None:
    with pytest.raises(tx.FormatError) as caught:
        tx.Context().receive("x" * 100_000)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("missing", [{"id": "", "name": "add"}, {"id": None, "name": "add"}, {"name": "add"}])
def test_A6_a_missing_id_stays_missing_in_the_call(missing: dict[str, Any]) -> None:
    fn = tx.Context([add]).receive([missing])[0]

    assert fn.id in (None, "")


def test_a_number_as_an_id_becomes_text() -> None:
    assert "7" == tx.Context([add]).receive([{"id": 7, "name": "add"}])[0].id


def test_each_call_is_a_copy_that_shares_the_tool_alone() -> None:
    ctx = tx.Context([add])
    one, two = ctx.receive(ONE)

    assert one is not two
    assert one._definition is two._definition is ctx.functions["add"]._definition
    assert None is ctx.functions["add"].id


def test_a_name_is_looked_for_among_the_contexts_own_tools_only() -> None:
    tx.Function.register(add)
    try:
        ctx = tx.Context()
        ctx.receive(ONE)
        assert ["unknown_tool"] * 2 == [ret.status for ret in ctx.wait()]
    finally:
        tx.Function.unregister(add)


def test_two_tools_of_one_name_are_refused_and_the_same_tool_twice_is_not() -> None:
    assert ["add"] == list(tx.Context([add, add]).functions)

    other = tx.Function("add")
    other.define(lambda: 1)
    with pytest.raises(tx.DeclarationError, match="two tools are named 'add'"):
        tx.Context([add, other])


def test_a_parameter_without_a_json_form_is_found_by_the_context_and_never_at_a_call() -> None:
    class Odd: ...

    def body(a: Any) -> None: ...

    body.__annotations__["a"] = Odd

    with pytest.raises(tx.DeclarationError, match="'body', parameter 'a'"):
        tx.Context([tx.tool(body)])


def test_submitting_starts_a_call_at_once_and_leaves_the_response_alone() -> None:
    ctx = tx.Context([add])
    ctx.receive([])
    reports: list[tx.Progress] = []

    @tx.tool
    def parts() -> Any:
        yield 1
        yield 2

    ctx = tx.Context([add, parts], strategy="thread")
    assert 3 == ctx.submit({"id": "s", "name": "add", "arguments": {"a": 2}}).wait().value
    assert 5 == ctx.submit(add.bind({"a": 4})).wait().value
    assert [1, 2] == ctx.submit({"name": "parts"}, on_progress=reports.append).wait().value
    assert [(1, 1), (2, 2)] == [(report.done, report.data) for report in reports]
    assert ((), []) == (ctx.wait(), ctx.messages())
    with pytest.raises(tx.FormatError):
        ctx.submit("add")


def test_a_call_of_a_kind_that_is_not_known_is_answered_like_the_others() -> None:
    """The provider refuses a conversation in which any of them is unanswered."""
    ctx = tx.Context([add])
    good = {"id": "g", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    custom = {"id": "k", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    nameless = {"id": "n", "type": "function", "function": {"name": None, "arguments": "{}"}}
    ctx.receive(openai_dict(good, custom, nameless))

    assert ["ok", "unknown_tool", "unknown_tool"] == [ret.status for ret in ctx.wait("sequential")]
    assert ["g", "k", "n"] == [message["tool_call_id"] for message in ctx.messages()]


def test_a_call_started_by_itself_is_its_contexts_all_the_same() -> None:
    @tx.tool
    def where(store: Annotated[Store, tx.Inject], ctx: tx.Context) -> tuple[str, int]:
        return store.name, len(ctx.functions)

    ctx = tx.Context([where], deps={Store: Store()})
    first, second = ctx.receive([{"name": "where"}, {"name": "where"}])

    assert ("of the context", 1) == first.task("sequential").wait().value
    ctx.interrupt("enough")
    ret = second.task("thread").wait()
    assert ("cancelled", "enough", False) == (ret.status, ret.reason, second.called)
