"""A model that says what its script tells it to, and what it finds wrong with the requests it is sent."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from toolexec.testing import ScriptedCall, ScriptedModel, ScriptError

PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock")
WITHOUT_IDS = ("google", "ollama")
every = pytest.mark.parametrize("provider", PROVIDERS)


@tx.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tx.tool
def double(n: int) -> int:
    return 2 * n


def user(provider: str, text: str = "Do it.") -> Any:
    if provider == "google":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": [{"text": text}] if provider == "bedrock" else text}


SCRIPT: list[Any] = [
    [("add", {"a": 1}), ("double", {"n": 4})],
    ([("add", {"a": 2, "b": 3})], "Once more."),
    "It is 5.",
]


def values(ctx: tx.Context) -> list[Any]:
    return [ret.value for ret in ctx.returns]


@every
def test_a_conversation_is_said_in_turn(provider: str) -> None:
    model = ScriptedModel(SCRIPT, provider)
    ctx = tx.Context([add, double])
    messages = [user(provider)]
    while ctx.receive(model(messages, tools=ctx.declarations(provider))):
        ctx.wait()
        messages += ctx.turn()

    model.assert_done()
    assert [2, 8, 5] == values(ctx)
    ids = [ret.id for ret in ctx.returns]
    assert [False] * 3 == [one is None for one in ids] or provider in WITHOUT_IDS
    assert ids == [None] * 3 or ["1", "2", "3"] == [str(one).rpartition("_")[2] for one in ids], "numbered on"
    assert [1, len(messages)] == [len(model.requests[0]), len(model.requests[2])]
    assert "Once more." in str(ctx.history()), "beside the calls"


@every
def test_it_streams(provider: str) -> None:
    model = ScriptedModel(SCRIPT, provider)
    ctx = tx.Context([add, double])
    messages = [user(provider)]
    while True:
        for _ in ctx.stream(model.stream(messages, size=2, tools=[])):
            pass
        if not ctx.wait():
            break
        messages += ctx.turn()

    model.assert_done()
    assert [2, 8, 5] == values(ctx)


@every
def test_async_code_awaits_it(provider: str) -> None:
    async def main() -> list[Any]:
        model = ScriptedModel(SCRIPT, provider)
        ctx = tx.Context([add, double])
        messages = [user(provider)]
        ctx.receive(await model.acall(messages, tools=[]))
        await ctx.run()
        messages += ctx.turn()
        async for _ in ctx.stream(await model.astream(messages, size=3, tools=[])):
            pass
        await ctx.run()
        messages += ctx.turn()
        await model.acall(messages)
        model.assert_done()
        return values(ctx)

    assert [2, 8, 5] == asyncio.run(main())


def answered(provider: str) -> tuple[ScriptedModel, list[Any]]:
    """The second request, as it should be."""
    model = ScriptedModel([SCRIPT[0], "done"], provider)
    ctx = tx.Context([add, double])
    messages = [user(provider)]
    ctx.receive(model(messages))
    ctx.wait()
    return model, copy.deepcopy([*messages, *ctx.turn()])


KEYS = {"anthropic": "content", "bedrock": "content", "google": "parts"}


def answers(provider: str, messages: list[Any]) -> tuple[list[Any], slice]:
    """Where the two answers stand."""
    if provider in KEYS:
        return messages[-1][KEYS[provider]], slice(0, 2)
    return messages, slice(len(messages) - 2, len(messages))


def asked(provider: str, messages: list[Any]) -> tuple[list[Any], slice]:
    """Where the two calls stand."""
    if provider in KEYS:
        blocks = messages[1][KEYS[provider]]
        return blocks, slice(len(blocks) - 2, len(blocks))
    if provider == "openai-responses":
        return messages, slice(1, 3)
    return messages[1]["tool_calls"], slice(0, 2)


def replace(where: tuple[list[Any], slice], change: Callable[[list[Any]], list[Any]]) -> None:
    held, place = where
    held[place] = change(held[place])


def reworded(pair: list[Any]) -> list[Any]:
    """The second one as if it were of another call."""
    text = re.sub(r"(call|toolu|tooluse)_2", "other", repr(pair[1])).replace("'double'", "'other'")
    return [pair[0], eval(text)]


def second(provider: str) -> str:
    """How a fault names the second call."""
    begins = {"anthropic": "'toolu_2' (double)", "bedrock": "'tooluse_2' (double)"}
    return "call 2 (double)" if provider in WITHOUT_IDS else begins.get(provider, "'call_2' (double)")


def refused(model: ScriptedModel, messages: Any) -> str:
    number = len(model.requests)
    with pytest.raises(ScriptError) as found:
        model(messages)
    assert number == len(model.requests), "and the script stays where it was"
    assert str(found.value).startswith(f"request {number + 1} does not fit the script: ")
    return str(found.value).partition(": ")[2]


@every
def test_what_is_right_is_taken(provider: str) -> None:
    model, messages = answered(provider)

    model([*messages, *([] if provider in KEYS else [user(provider, "And?")])])


@every
def test_a_call_without_an_answer(provider: str) -> None:
    model, messages = answered(provider)
    replace(answers(provider, messages), lambda pair: pair[:1])

    assert f"not answered: {second(provider)}" == refused(model, messages)


@every
def test_a_call_with_two_answers(provider: str) -> None:
    model, messages = answered(provider)
    replace(answers(provider, messages), lambda pair: [*pair, pair[1]])

    name = "'double'" if provider in WITHOUT_IDS else second(provider).split()[0]
    assert f"answered twice: {name}" == refused(model, messages)


@every
def test_an_answer_to_no_call(provider: str) -> None:
    model, messages = answered(provider)
    replace(answers(provider, messages), reworded)

    assert f"not answered: {second(provider)}; answered, and never asked for: 'other'" == refused(model, messages)


@every
def test_answers_out_of_order(provider: str) -> None:
    model, messages = answered(provider)
    replace(answers(provider, messages), lambda pair: pair[::-1])

    assert refused(model, messages).startswith(f"answered out of order: {second(provider)}, ")


@every
def test_answers_behind_something_else(provider: str) -> None:
    model, messages = answered(provider)
    last = 1 if provider in KEYS else 2
    messages.insert(len(messages) - last, user(provider, "Quick!"))

    found = refused(model, messages)
    assert found.startswith("not answered directly behind the message that asks: ")
    assert second(provider) in found


@pytest.mark.parametrize("provider", KEYS)
def test_answers_behind_other_blocks(provider: str) -> None:
    model, messages = answered(provider)
    messages[-1][KEYS[provider]].insert(1, {"text": "hm"})
    assert "message 2 has something before its answers, or between them" == refused(model, messages)

    blocks = messages[-1][KEYS[provider]]
    blocks.append(blocks.pop(1))
    if provider == "google":
        assert "message 2 has something beside its answers" == refused(model, messages)
    else:
        model(messages)


@every
def test_a_call_that_is_not_said_again(provider: str) -> None:
    model, messages = answered(provider)
    replace(asked(provider, messages), lambda pair: pair[:1])

    found = refused(model, messages)
    assert found.startswith(f"asked for by the model, and not in the request: {second(provider)}; ")
    assert "answered, and never asked for: " in found


@every
def test_a_call_that_was_never_made(provider: str) -> None:
    model, messages = answered(provider)
    for place in (asked, answers):
        replace(place(provider, messages), lambda pair: [*pair, reworded(pair)[1]])

    assert refused(model, messages).startswith("asked for in the request, and not by the model: ")


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "openai-responses"])
def test_a_message_that_is_not_said_again(provider: str) -> None:
    model, messages = answered(provider)
    del messages[1]

    found = refused(model, messages)
    assert re.match(f"asked for by the model, and not in the request: .*{re.escape(second(provider))}; ", found)


@every
def test_nothing_is_sent_back(provider: str) -> None:
    model, messages = answered(provider)

    assert second(provider) in refused(model, messages[:1])


@every
def test_everything_said_twice(provider: str) -> None:
    model, messages = answered(provider)

    assert refused(model, [*messages, *messages[1:]]).startswith("asked for in the request, and not by the model: ")


@every
def test_an_earlier_response_is_held_to_it_as_well(provider: str) -> None:
    model = ScriptedModel(SCRIPT, provider)
    ctx = tx.Context([add, double])
    messages = [user(provider)]
    ends: list[int] = []
    for _ in range(2):
        ctx.receive(model(messages))
        ctx.wait()
        messages += ctx.turn()
        ends.append(len(messages))
    if provider in KEYS:
        del messages[ends[0] - 1][KEYS[provider]][1]
    else:
        del messages[ends[0] - 1]

    assert f"not answered: {second(provider)}" == refused(model, messages)


@every
def test_a_conversation_that_had_calls_before(provider: str) -> None:
    """They are held to the same, and may be left out later."""
    _, before = answered(provider)
    model = ScriptedModel([[("add", {"a": 7}, "own")], "done"], provider)
    broken = copy.deepcopy(before)
    replace(answers(provider, broken), lambda pair: pair[:1])
    assert f"not answered: {second(provider)}" == refused(model, broken)

    ctx = tx.Context([add])
    ctx.receive(model(before))
    ctx.wait()
    model([*before, *ctx.turn()])

    again = ScriptedModel([[("add", {"a": 7}, "own")], "done"], provider)
    again(before)
    again([user(provider), *ctx.turn()])


@every
def test_ids_and_names_that_the_engine_has_to_replace(provider: str) -> None:
    """Two calls share an id, one has none, and one a name that no provider takes."""
    calls: list[ScriptedCall] = [
        ("add", {"a": 1}, "same"),
        ("add", {"a": 2}, "same"),
        ("add", {"a": 3}, None),
        ("a d!", {}, "x y"),
    ]
    model = ScriptedModel([calls, "done"], provider)
    ctx = tx.Context([add])
    ctx.receive(model([user(provider)]))
    ctx.wait()

    model([user(provider), *ctx.turn()])
    assert [2, 3, 4] == values(ctx)[:3]


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name not in WITHOUT_IDS])
def test_ids_that_cannot_be_told_apart(provider: str) -> None:
    model, messages = answered(provider)
    same = eval(re.sub(r"(call|toolu|tooluse)_2", r"\1_1", repr(messages)))

    found = refused(model, same)
    assert re.match(r"asked for under one id: '\w+_1'; ", found)


def test_outputs_alone_answer_the_response_before() -> None:
    model = ScriptedModel(SCRIPT, "openai-responses")
    ctx = tx.Context([add, double])
    ctx.receive(model("Do it."))
    ctx.wait()
    for wrong, why in (
        (ctx.messages()[:1], "not answered: 'call_2' (double)"),
        ([user("openai-responses"), *ctx.messages()], "not answered directly behind the message that asks: "),
        ([*ctx.messages(), *ctx.messages()], "answered twice: 'call_1', 'call_2'"),
        ("And?", "not answered: 'call_1' (add), 'call_2' (double)"),
    ):
        assert refused(model, wrong).startswith(why)
    ctx.receive(model([*ctx.messages(), user("openai-responses")]))
    ctx.wait()
    stray = {**ctx.messages()[0], "call_id": "call_1"}
    assert "answered, and never asked for: 'call_1'" == refused(model, [*ctx.messages(), stray])
    model(ctx.messages())
    model.assert_done()


def test_after_a_text_there_are_no_outputs() -> None:
    model = ScriptedModel(["Hello.", "Yes."], "openai-responses")
    model("Hello?")
    output = {"type": "function_call_output", "call_id": "call_1", "output": "2"}
    assert "answered, and never asked for: 'call_1'" == refused(model, [output, user("openai-responses")])
    model("Hello?")


def test_a_script_that_is_over() -> None:
    model = ScriptedModel(["Yes."])
    with pytest.raises(ScriptError, match=r"^the script has 1 items, and 0 were asked for; next is the text 'Yes\.'$"):
        model.assert_done()
    model([user("openai")])
    model.assert_done()
    with pytest.raises(ScriptError, match=r"^the script is over: it has 1 items, and this is request 2$"):
        model([user("openai")])

    unsaid = ScriptedModel([([("add", {}), ("double", {})], "Well")])
    with pytest.raises(AssertionError, match="next is a response with calls of add, double"):
        unsaid.assert_done()


@pytest.mark.parametrize("item", [("add", {"a": 1}), 5, None, ([("add", {})], None), ([("add", {})], "a", "b")])
def test_what_is_no_item(item: Any) -> None:
    with pytest.raises(TypeError, match=r"an item of a script is a text, a list of calls .* and not "):
        ScriptedModel(["Well.", item])


def test_what_is_no_call() -> None:
    with pytest.raises(TypeError, match=r"a call is .*, and not 'add'"):
        ScriptedModel([["add"]])  # type: ignore[list-item]  # what it is about


@pytest.mark.parametrize("provider", ["mcp", "opnai"])
def test_formats_that_no_model_speaks(provider: str) -> None:
    with pytest.raises(tx.FormatError, match=f"format of '{provider}'; they can of: openai, .*bedrock$"):
        ScriptedModel([], provider)
