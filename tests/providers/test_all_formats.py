"""What holds for every provider's format: calls in, results out, names and ids alike in both."""

from __future__ import annotations

import copy
import json
import re
import threading
from enum import Enum
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its stubs are a package of their own
from pydantic import BaseModel

import toolexec as tx
from provider_formats import PROVIDERS, WITH_FLAG, WITH_IDS, Call, call_ids, response, results
from providers import outcome_tools
from toolexec import _formats
from toolexec._formats import named
from toolexec._points import points

every = pytest.mark.parametrize("provider", PROVIDERS)


@tx.tool
def a(x: int) -> str:
    """Give it back."""
    return f"a{x}"


@tx.tool
def fail() -> None:
    raise ValueError


@tx.tool
def give(what: str) -> Any:
    return {"none": None, "empty": "", "blank": "  \n", "list": [], "dict": {}, "set": {1}, "nan": float("nan")}[what]


@tx.tool(timeout=0.01, deliver="poll")
def late() -> None:
    threading.Event().wait(0.2)


@tx.tool(name="read file.v2")
def odd() -> str:
    return "odd"


TOOLS = [a, fail, give, late, odd]


def received(provider: str, *calls: Call) -> tx.Context:
    ctx = tx.Context(TOOLS, strategy="thread")
    assert len(calls) == len(ctx.receive(response(provider, *calls)))
    return ctx


@every
def test_a_response_is_recognised_whole_as_a_dict_and_as_json_text(provider: str) -> None:
    sent = response(provider, Call("a", {"x": 1}, "c1"), Call("a", {"x": 2}, "c2"))
    before = copy.deepcopy(sent)
    for form in (sent, json.dumps(sent), json.dumps(sent).encode()):
        ctx = tx.Context(TOOLS, strategy="sequential")
        ctx.receive(form)

        assert ["a1", "a2"] == [ret.value for ret in ctx.wait()]
        assert ["a1", "a2"] == [result.text for result in results(provider, ctx.messages())]
        assert (ctx.messages(), ctx.turn()) == (ctx.messages(), ctx.turn())
    assert before == sent


@every
def test_a_response_without_calls_asks_for_nothing(provider: str) -> None:
    if provider == "mcp":
        return
    ctx = tx.Context(TOOLS)

    assert not ctx.receive(response(provider))
    assert ([], []) == (ctx.messages(), ctx.turn())


@every
def test_what_is_no_response_of_it_is_refused_and_shown(provider: str) -> None:
    with pytest.raises(tx.FormatError, match=rf"no response of {provider}: .*'hello'"):
        tx.Context(TOOLS).receive({"hello": 1}, provider=provider)


@every
def test_A1_A11_every_call_is_answered_in_order_and_failures_say_so(provider: str) -> None:
    calls = [
        Call("a", {"x": 1}, "c1"),
        Call("fail", {}, "c2"),
        Call("a", {"x": "many"}, "c3"),
        Call("nobody", {}, "c4"),
        Call("a", {"x": 5}, "c5"),
        Call("late", {}, "c6"),
    ]
    ctx = received(provider, *calls)
    ctx.pending_functions[4].cancel("the user said no")
    ctx.wait()
    told = results(provider, ctx.messages())

    statuses = ["ok", "raised", "bad_arguments", "unknown_tool", "cancelled", "timeout"]
    assert statuses == [ret.status for ret in ctx.returns]
    assert "a1" == told[0].text
    words = ["ValueError", "ArgumentsError", "NoSuchToolError", "the user said no", "DeadlineExceeded"]
    for word, result in zip(words, told[1:], strict=True):
        assert word in result.text
        assert '"error": true' in result.text or '"cancelled": true' in result.text
    flag = [False] + [True] * 5 if provider in WITH_FLAG else [None] * 6
    assert flag == [result.failed for result in told]
    if provider in WITH_IDS:
        assert [call.id for call in calls] == [result.id for result in told]


@pytest.mark.parametrize("provider", WITH_IDS)
@pytest.mark.parametrize("ids", [("c", "c"), ("", ""), (None, None), ("c", None)])
def test_A5_A6_ids_are_rewritten_alike_in_call_and_result(provider: str, ids: tuple[Any, Any]) -> None:
    ctx = received(provider, Call("a", {"x": 1}, ids[0]), Call("a", {"x": 2}, ids[1]))
    ctx.wait()
    told = results(provider, ctx.messages())
    said = call_ids(provider, ctx.turn())

    assert ["a1", "a2"] == [result.text for result in told]
    assert 2 == len({result.id for result in told})
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", result.id) for result in told)
    assert said == [result.id for result in told]


@pytest.mark.parametrize("provider", ["google", "ollama"])
def test_A6_no_id_is_made_up_where_the_model_sent_none(provider: str) -> None:
    ctx = received(provider, Call("a", {"x": 1}), Call("a", {"x": 2}))
    ctx.wait()

    assert [(None, "a1"), (None, "a2")] == [result[:2] for result in results(provider, ctx.messages())]
    assert [None, None] == call_ids(provider, ctx.turn())


def test_mcp_gives_a_numbers_id_back_as_a_number_also_when_it_came_twice() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a", "arguments": {"x": 1}}}
    ctx.receive([request, request])
    ctx.wait()

    assert [7, 7] == [message["id"] for message in ctx.messages()]


@every
@pytest.mark.parametrize("what", ["none", "empty", "blank", "list", "dict", "set", "nan"])
def test_A8_A9_A10_no_result_is_blank(provider: str, what: str) -> None:
    ctx = received(provider, Call("give", {"what": what}, "c1"), Call("fail", {}, "c2"))
    ctx.wait()
    text, failed = (result.text for result in results(provider, ctx.messages()))

    assert text.strip()
    assert "NaN" not in text or '"NaN"' == text
    assert "ValueError (no message)" in failed
    json.dumps(ctx.messages(), allow_nan=False)


def test_A13_anthropic_gets_one_user_message_and_google_as_many_responses_as_calls() -> None:
    calls = [Call("a", {"x": n}, f"c{n}") for n in range(3)]
    for provider in ("anthropic", "google"):
        ctx = received(provider, *calls)
        ctx.wait()
        assistant, user = ctx.turn()

        assert "user" == user["role"]
        assert ["a0", "a1", "a2"] == [result.text for result in results(provider, [user])]
        assert {"tool_result"} == {p["type"] for p in user["content"]} if provider == "anthropic" else True
        assert ("assistant" if provider == "anthropic" else "model") == assistant["role"]


@every
@pytest.mark.parametrize("parts", [tx.Text(""), [tx.Text(" ")], [tx.Text(" "), ""]])
def test_A9_no_result_of_blank_parts_is_blank(provider: str, parts: Any) -> None:
    ctx = tx.Context([tx.as_tool(lambda: parts, name="blank")], strategy="sequential")
    ctx.receive(response(provider, Call("blank", {}, "c1")))
    ctx.wait()

    assert results(provider, ctx.messages())[0].text.strip()


def test_a_provider_whose_look_at_a_response_raises_recognises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, response: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(type(named("anthropic")), "recognises", broken)
    ctx = tx.Context(TOOLS, strategy="sequential")

    assert ["a1"] == [ret.value for ret in ctx.receive(response("openai", Call("a", {"x": 1}, "c1"))).wait()]


def test_G13_a_mapped_name_in_a_list_of_call_dicts_is_the_providers_of_the_context() -> None:
    ctx = tx.Context(TOOLS, strategy="sequential", provider="openai")

    assert ["odd"] == [ret.value for ret in ctx.receive([{"name": tx.OpenAI().rename("read file.v2")}]).wait()]


@every
def test_A14_a_very_large_result_is_rendered_whole(provider: str) -> None:
    text = "\N{PILE OF POO}" * 1_250_000
    ctx = tx.Context([tx.as_tool(lambda: text, name="big")], strategy="sequential")
    ctx.receive(response(provider, Call("big", {}, "c1")))

    assert text == ctx.wait()[0].value == results(provider, ctx.messages())[0].text


@every
def test_G13_a_name_it_does_not_take_is_mapped_both_ways(provider: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential", provider=provider)
    told = [name for name in re.findall(r'"name": "([^"]+)"', json.dumps(ctx.declarations())) if "read" in name]
    ctx.receive(response(provider, Call(told[0], {}, "c1")))

    assert 1 == len(told)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", told[0])
    assert ("odd", "read file.v2") == (ctx.wait()[0].value, ctx.returns[0].name)
    assert provider == "mcp" or f'"{told[0]}"' in json.dumps(ctx.turn()[:-1])


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Model(BaseModel):
    count: int | None = None


@tx.tool
def unions(
    size: Size,
    kind: Literal["x", 1] | None,
    either: int | str,
    items: list[Literal["p", "q"]],
    models: list[Model],
    pair: tuple[int, str] = (1, "a"),
    anything: Any = None,
) -> str:
    assert isinstance(size, Size)
    return f"{size.name} {kind!r} {either!r} {items} {models[0].count} {pair}"


def _schema_of(provider: str, declared: list[dict[str, Any]]) -> Any:
    [tool] = declared
    if provider in ("openai", "ollama"):
        return tool["function"]["parameters"]
    if provider == "google":
        return tool["functionDeclarations"][0]["parameters"]
    if provider == "bedrock":
        return tool["toolSpec"]["inputSchema"]["json"]
    return tool[{"openai-responses": "parameters", "anthropic": "input_schema", "mcp": "inputSchema"}[provider]]


def _is_google_subset(schema: Any) -> None:
    """https://ai.google.dev/api/caching#Schema."""
    known = "type format title description nullable enum items properties required minItems maxItems anyOf default"
    assert set(schema) <= set(known.split())
    assert isinstance(schema.get("type", ""), str)
    assert all(isinstance(value, str) for value in schema.get("enum", ()))
    assert "items" in schema or schema.get("type") != "array"
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        _is_google_subset(inner)
    if "items" in schema:
        _is_google_subset(schema["items"])


@every
def test_G8_unions_literals_and_enums_are_legal_and_members_reach_the_body(provider: str) -> None:
    ctx = tx.Context([unions], strategy="sequential", provider=provider)
    schema = _schema_of(provider, ctx.declarations())
    arguments = {"size": 2, "kind": None, "either": "5", "items": ["q"], "models": [{"count": None}], "pair": [3, "b"]}
    ctx.receive(response(provider, Call("unions", arguments, "c1")))

    assert "LARGE None '5' ['q'] None (3, 'b')" == ctx.wait()[0].value
    if provider == "google":
        _is_google_subset(schema)
        assert ["p", "q"] == schema["properties"]["items"]["items"]["enum"]
    else:
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(arguments)
        assert ["p", "q"] == schema["properties"]["items"]["items"]["enum"]
    if provider == "ollama":
        assert "$ref" not in json.dumps(schema)


class Node(BaseModel):
    value: int
    children: list[Node] = []


@every
def test_G9_a_recursive_type_is_declared_or_refused_where_the_context_takes_the_tool(provider: str) -> None:
    @tx.tool
    def walk(tree: Node) -> int:
        return tree.children[0].children[0].value

    if provider in ("google", "ollama"):
        with pytest.raises(tx.DeclarationError, match=f"'walk' cannot be declared to {provider}: the type 'Node'"):
            tx.Context([walk], provider=provider)
        return
    ctx = tx.Context([walk], strategy="sequential", provider=provider)
    tree = {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}
    ctx.receive(response(provider, Call("walk", {"tree": tree}, "c1")))

    assert "#/$defs/Node" in json.dumps(ctx.declarations())
    assert 3 == ctx.wait()[0].value


@every
def test_images_and_files_go_where_the_format_has_a_place_and_are_stated_where_not(provider: str) -> None:
    @tx.tool
    def look() -> list[Any]:
        return ["here:", tx.Image(b"PNG", "image/png"), tx.File(b"%PDF", "application/pdf", "a report.pdf")]

    ctx = tx.Context([look], strategy="thread")
    ctx.receive(response(provider, Call("look", {}, "c1")))
    ctx.wait()
    text = repr(ctx.messages())

    assert "here:" in results(provider, ctx.messages())[0].text
    if provider in ("openai", "ollama"):
        assert "(an image, image/png, 3 bytes, which cannot be shown here)" in text
        assert "(the file 'a report.pdf', application/pdf, 4 bytes, which cannot be shown here)" in text
    else:
        assert "UE5H" in text or "b'PNG'" in text
        assert "JVBERg==" in text or "b'%PDF'" in text


def test_what_stands_beside_the_calls_is_said_again_as_it_came() -> None:
    kept = {
        "anthropic": {"type": "thinking", "thinking": "hm", "signature": "s1"},
        "bedrock": {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}},
        "openai-responses": {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
    }
    for provider, block in kept.items():
        ctx = received(provider, Call("a", {"x": 1}, "c1"))
        ctx.wait()
        assistant = ctx.turn()[0]

        assert block == (assistant if provider == "openai-responses" else assistant["content"][0])
        assert "''" not in repr(assistant), "no blank text, which is refused"
    ctx = received("google", Call("a", {"x": 1}))
    ctx.wait()
    assert "c2ln" == ctx.turn()[0]["parts"][-1]["thoughtSignature"]
    ctx = received("ollama", Call("a", {"x": 1}))
    ctx.wait()
    assert "hm" == ctx.turn()[0]["thinking"]


def test_what_is_installed_is_looked_up_once_and_not_at_all_for_plain_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads files: some 10 ms, and a descriptor that a host may not have."""
    looked: list[str] = []

    def look(group: str) -> dict[str, Any]:
        looked.append(group)
        return points(group)

    monkeypatch.setattr(_formats, "points", look)
    _formats._there.cache_clear()
    ctx = tx.Context(TOOLS)
    for _ in range(3):
        ctx.receive([{"name": "a", "arguments": {"x": 1}}])
        ctx.receive([])
    assert [] == looked
    for provider in (*PROVIDERS, *PROVIDERS):
        ctx.receive(response(provider, Call("a", {"x": 1}, "c1")))
    assert ["toolexec.providers"] == looked


@every
def test_what_is_given_out_is_the_callers_to_change(provider: str) -> None:
    """People mark blocks for a provider's cache."""
    sent = response(provider, Call("a", {"x": 1}, "c1"))
    before = copy.deepcopy(sent)
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(sent)
    ctx.wait()
    turn = copy.deepcopy(ctx.turn())
    for message in ctx.turn():
        for value in message.values():
            for part in value if isinstance(value, list) else ():
                part["cache_control"] = {"type": "ephemeral"}
        message.clear()

    assert (before, turn) == (sent, ctx.turn())


@every
@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio", "fork", "interpreter"])
def test_parts_come_from_wherever_the_tool_ran(provider: str, strategy: str) -> None:
    try:
        ctx = tx.Context([outcome_tools.mixed], strategy=strategy)
    except tx.StrategyUnavailable as exc:
        pytest.skip(str(exc))
    ctx.receive(response(provider, Call("mixed", {}, "c1")))
    returns = ctx.wait()

    assert outcome_tools.mixed() == returns[0].value
    assert "see:" in results(provider, ctx.messages())[0].text


@every
def test_what_no_request_may_hold_is_replaced_in_parts_too(provider: str) -> None:
    parts = ["half \ud800 a pair", tx.Text("\udc80"), tx.File(b"%PDF", "application/pdf", "\udcff.pdf")]
    ctx = tx.Context([tx.as_tool(lambda: parts, name="odd")], strategy="sequential")
    ctx.receive(response(provider, Call("odd", {}, "c1")))
    ctx.wait()

    assert "half ? a pair" in results(provider, ctx.messages())[0].text
    json.dumps(ctx.messages(), ensure_ascii=False, default=repr).encode()


@every
def test_a_response_of_one_provider_is_answered_in_the_format_of_another(provider: str) -> None:
    ctx = received("anthropic", Call("a", {"x": 1}, "c1"), Call("a", {"x": 2}, "c2"))
    ctx.wait()

    assert ["a1", "a2"] == [result.text for result in results(provider, ctx.messages(provider))] or provider == "mcp"
    if provider != "mcp":  # a server says nothing
        turn = ctx.turn(provider)
        assert "Let me see." in repr(turn[0])
        assert ["c1", "c2"] == call_ids(provider, turn[1:] if provider == "openai-responses" else turn)
        assert "signature" not in json.dumps(ctx.turn(provider)).lower() or provider == "anthropic"


def test_history_is_of_all_responses_those_without_calls_included() -> None:
    ctx = received("anthropic", Call("a", {"x": 1}, "c1"))
    ctx.wait()
    ctx.receive(response("anthropic"))

    assert ["assistant", "user", "assistant"] == [message["role"] for message in ctx.history()]
    assert ["model", "user", "model"] == [message["role"] for message in ctx.history("google")]


def test_returns_made_by_hand_settle_their_calls_or_nothing_at_all() -> None:
    ctx = received("openai", Call("a", {"x": 1}, "c"), Call("a", {"x": 2}, "c"), Call("fail", {}, "d"))
    first, second, third = ctx.pending_functions
    with pytest.raises(tx.ToolexecError, match="'a' with the id 'nope' answers no call that is open"):
        ctx.record([first.return_("by hand"), a.bind({}, "nope").return_(1)])
    assert 3 == len(ctx.pending_functions)
    ctx.record([first.return_("by hand"), second.return_("too")])

    assert [third] == list(ctx.pending_functions)
    assert ["by hand", "too", None] == [ret.value if ret.ok else None for ret in ctx.wait()]
    with pytest.raises(tx.ToolexecError, match="no call that is open"):
        ctx.record([first.return_("again")])


def test_a_provider_is_a_name_or_an_instance() -> None:
    ctx = tx.Context(TOOLS)
    for wrong in (3, object()):
        with pytest.raises(tx.FormatError, match=r"a provider is a name \(anthropic, .*\) or an instance"):
            ctx.messages(wrong)
    with pytest.raises(tx.FormatError, match=r"no provider named 'antropic' \(did you mean 'anthropic'\?\)"):
        ctx.messages("antropic")
    assert [] == ctx.messages(tx.OpenAI())


@every
def test_strict_declarations_say_so_where_the_provider_can(provider: str) -> None:
    declared = json.dumps(tx.Context([a]).declarations(provider, strict=True))

    assert ('"strict": true' in declared) == (provider in ("openai", "openai-responses", "anthropic"))
