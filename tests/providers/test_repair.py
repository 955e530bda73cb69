"""Repairing a history: whatever became of its run, the provider takes it again."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import anthropic.types
import google.genai.types
import ollama
import openai.types.chat
import openai.types.responses
import pytest

import toolexec as tx
from growth import assert_linear
from provider_formats import Call, response
from providers import (
    strict_anthropic,
    strict_bedrock,
    strict_google,
    strict_ollama,
    strict_openai,
    strict_responses,
)
from toolexec._history import Fitting
from toolexec.providing import Answered, CallRecord

PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock")
every = pytest.mark.parametrize("provider", PROVIDERS)


@tx.tool
def add(x: int) -> int:
    """Add one."""
    return x + 1


def check(provider: str, history: Sequence[Any]) -> None:
    """Take the history, as part of a request, or say why the API would not."""
    tools = tx.Context([add]).declarations(provider)
    messages = list(history)
    checks: dict[str, tuple[Callable[[dict[str, Any]], None], dict[str, Any]]] = {
        "openai": (strict_openai.check_request, {"messages": messages, "tools": tools}),
        "openai-responses": (strict_responses.check_request, {"input": messages, "tools": tools}),
        "anthropic": (strict_anthropic.check_request, {"messages": messages, "tools": tools, "max_tokens": 9}),
        "google": (strict_google.check_request, {"contents": messages, "tools": tools}),
        "ollama": (strict_ollama.check_request, {"model": "m", "messages": messages, "tools": tools}),
        "bedrock": (strict_bedrock.check_request, {"messages": messages, "toolConfig": {"tools": tools}}),
    }
    call, body = checks[provider]
    call(body)


def user(provider: str, text: str = "Do it.") -> dict[str, Any]:
    if provider == "google":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": [{"text": text}] if provider == "bedrock" else text}


def said(provider: str, text: str) -> dict[str, Any]:
    if provider == "google":
        return {"role": "model", "parts": [{"text": text}]}
    return {"role": "assistant", "content": [{"text": text}] if provider == "bedrock" else text}


def renumbered(answer: Any, number: int) -> Any:
    """The response with ids that no other has."""
    text = json.dumps(answer)
    for own in ("rs_1", "fc_"):
        text = text.replace(own, f"{own}{number}")
    return json.loads(text)


def loop(provider: str, ids: Sequence[str | None] = "abcdef") -> list[Any]:
    """A conversation with parallel calls in each of two turns."""
    ctx = tx.Context([add], strategy="sequential", provider=provider)
    messages = [user(provider)]
    for turn in range(2):
        calls = [Call("add", {"x": n}, ids[3 * turn + n]) for n in range(3)]
        ctx.receive(renumbered(response(provider, *calls), turn))
        ctx.wait()
        messages += ctx.turn()
    messages += [said(provider, "Done."), user(provider, "Thanks.")]
    check(provider, messages)
    return messages


def repaired(provider: str, history: Sequence[Any], *, named: bool = False) -> list[Any]:
    """The history repaired, which is checked; the input stays, and a second repair changes nothing."""
    ctx = tx.Context()
    before = copy.deepcopy(history)
    made = ctx.repair(history, provider if named else None)

    assert before == history
    assert made is not history
    again = ctx.repair(made)
    assert [True] * len(made) == [one is other for one, other in zip(again, made, strict=True)]
    check(provider, made)
    return made


def made_up(history: Sequence[Any]) -> int:
    return json.dumps(history).count("this call was not answered: it may or may not have run")


@every
def test_anc_C9_a_history_cut_at_any_message_is_taken_again(provider: str) -> None:
    whole = loop(provider)
    for end in range(1, len(whole) + 1):
        if whole[end - 1].get("type") == "reasoning":
            continue  # no message ends there
        for more in ([], [user(provider, "Go on.")]):
            cut = [*whole[:end], *more]
            if provider == "bedrock" and more and cut[-2]["role"] == "user":
                continue  # its roles alternate, whoever calls
            made = repaired(provider, cut)

            assert [message for message in made if message in whole] == [m for m in cut if m in whole] or more
            assert end < len(whole) or made == cut
            if end == len(whole):
                assert all(one is other for one, other in zip(made, cut, strict=True))


@every
@pytest.mark.parametrize("ids", ["abcdef", "abcabc", None])
def test_anc_C9_calls_are_answered_in_their_message_whatever_their_ids(provider: str, ids: Any) -> None:
    if provider == "anthropic" and ids == "abcabc":
        return  # the API takes each id once
    if ids is None and provider not in ("google", "ollama"):
        return
    whole = loop(provider, [None] * 6 if ids is None else ids)
    without = [message for message in whole if '"2"' not in json.dumps(message)]
    parts = [copy.deepcopy(message) for message in whole]
    for message in parts:
        for key in ("content", "parts"):
            if isinstance(message.get(key), list):
                message[key] = [part for part in message[key] if '"2"' not in json.dumps(part)]

    for broken in (without, parts):
        if broken != whole:
            assert made_up(repaired(provider, broken)) >= 2


@every
def test_A11_what_is_made_up_says_that_the_call_failed_and_may_have_run(provider: str) -> None:
    cut = loop(provider)[:2] if provider != "openai-responses" else loop(provider)[:5]
    made = repaired(provider, cut)
    text = json.dumps(made[len(cut) :])

    assert 3 == made_up(made)
    assert "ask again" in text
    assert 3 == text.count(r"\"cancelled\": true")
    flag = {"anthropic": '"is_error": true', "google": '"error":', "bedrock": '"status": "error"'}
    assert provider not in flag or 3 == text.count(flag[provider])


@every
@pytest.mark.parametrize("seed", range(30))
def test_whatever_happened_to_the_answers_the_history_is_taken(provider: str, seed: int) -> None:
    """Answers lost, doubled and moved, alone or with their message: all that is not the model's."""
    rng = random.Random(seed)
    history = copy.deepcopy(loop(provider))
    for _ in range(rng.randint(1, 4)):
        place = rng.choice([n for n, message in enumerate(history) if is_answer(message)])
        key = next((key for key in ("parts", "content") if isinstance(history[place].get(key), list)), None)
        taken = copy.deepcopy(history[place])
        if key is not None and len(taken[key]) > 1 and rng.random() < 0.7:
            taken[key] = [taken[key][rng.randrange(len(taken[key]))]]
        # Behind what answers with it: out of order among these the API takes it, and it stays there.
        end = next((n for n in range(place, len(history)) if not is_answer(history[n])), len(history) - 1) + 1
        what = rng.choice(("lost", "moved", "doubled"))
        if what != "lost":
            history.insert(rng.randint(end, len(history)), copy.deepcopy(taken))
        if what != "doubled" and (key is None or taken == history[place]):
            del history[place]
        elif what != "doubled" and key is not None:
            history[place][key].remove(taken[key][0])
        if not any(map(is_answer, history)):
            break
    if provider == "bedrock":
        history = alternating(history)
    check(provider, repaired(provider, history))


def is_answer(message: Any) -> bool:
    text = json.dumps(message)
    words = ('"role": "tool"', "function_call_output", '"tool_result"', '"functionResponse"', '"toolResult"')
    return any(word in text for word in words)


def alternating(history: list[Any]) -> list[Any]:
    """With roles that alternate, as this API wants them whoever calls."""
    made: list[Any] = []
    for message in history:
        if made and made[-1]["role"] == message["role"] == "assistant":
            made += [user("bedrock"), message]
        elif made and made[-1]["role"] == message["role"]:
            made[-1] = {**made[-1], "content": [*made[-1]["content"], *message["content"]]}
        else:
            made.append(message)
    return made


def call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}


def tool(call_id: str, text: str = "2") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(call_id) for call_id in ids]}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "add", "input": {"x": 1}}


def result(call_id: str, text: str = "2") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def message(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


TEXT = {"type": "text", "text": "Go on."}


def test_answers_in_another_order_stay_and_what_is_missing_follows_the_call_before() -> None:
    ask = user("openai")
    made = tx.Context().repair([ask, calls(*"abcd"), tool("d"), tool("b"), ask])

    assert ["a", "d", "b", "c"] == [m["tool_call_id"] for m in made if m["role"] == "tool"]
    assert 2 == made_up(made)


def test_a_misplaced_answer_goes_to_its_place_and_the_first_of_two_counts() -> None:
    ask = user("openai")
    history = [
        ask,
        calls("a", "b"),
        ask,
        tool("b", "late"),
        tool("a", "late"),
        tool("a", "twice"),
        tool("c", "of none"),
    ]
    made = repaired("openai", history)

    assert [ask, calls("a", "b"), tool("a", "late"), tool("b", "late"), ask] == made


def test_an_answer_is_for_the_last_call_of_its_id_and_never_for_one_still_to_come() -> None:
    ask = user("openai")
    made = repaired("openai", [ask, tool("a", "none"), calls("a"), ask, calls("a"), tool("a", "one"), tool("a", "two")])

    assert "one" == made[-1]["content"]
    assert [ask, calls("a"), "not answered", ask, calls("a"), tool("a", "one")] == [
        "not answered" if made_up([one]) else one for one in made
    ]


def test_what_an_assistant_says_otherwise_is_left_alone() -> None:
    history: list[Any] = [
        {"role": "system", "content": "Be brief."},
        user("openai"),
        {**calls("a"), "tool_calls": []},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "{}"}},
        {"role": "function", "name": "add", "content": "1"},
    ]
    made = tx.Context().repair(history, "openai")

    assert history == made
    assert [1, 0] == [made_up(tx.Context().repair([calls("a")], name)) for name in ("openai", "anthropic")]


@pytest.mark.parametrize("text", ["Go on.", [TEXT]])
def test_a_users_text_that_follows_anthropics_calls_stands_behind_the_results(text: Any) -> None:
    history = [user("anthropic"), message("assistant", use("a"), use("b")), {"role": "user", "content": text}]
    made = repaired("anthropic", history)

    assert 3 == len(made)
    assert ["a", "b", "Go on."] == [block.get("tool_use_id") or block["text"] for block in made[2]["content"]]
    marked = {**message("user", TEXT, {**result("b"), "cache_control": {"type": "ephemeral"}})}
    made = repaired("anthropic", [*history[:2], marked])
    assert [("a", None), ("b", {"type": "ephemeral"}), (None, None)] == [
        (block.get("tool_use_id"), block.get("cache_control")) for block in made[2]["content"]
    ]


def test_googles_responses_stand_alone_in_the_order_of_their_calls() -> None:
    asked = {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g", "f")]}
    given = {"functionResponse": {"name": "g", "response": {"output": "g"}}}
    first = {"functionResponse": {"name": "f", "response": {"output": "f"}}}
    text = {"text": "Go on."}
    history = [user("google"), asked, {"role": "user", "parts": [text, given, first]}]
    made = repaired("google", history)

    assert [first, given] == made[2]["parts"][:2]
    assert "f" == made[2]["parts"][2]["functionResponse"]["name"]
    assert 1 == made_up(made)
    assert {"role": "user", "parts": [text]} == made[3]
    before = {"role": "user", "parts": [text]}
    assert before is tx.Context().repair([asked, before])[2]


@pytest.mark.parametrize("provider", ["anthropic", "google", "bedrock"])
def test_a_message_of_orphans_is_left_out_or_says_what_it_was(provider: str) -> None:
    whole = loop(provider)
    trimmed = whole[2:]
    made = repaired(provider, trimmed)

    assert "is not in this conversation" in json.dumps(made[0])
    assert made[1:] == trimmed[1:]
    if provider != "bedrock":
        assert [user(provider), *trimmed[1:]] == repaired(provider, [user(provider), *trimmed])


def test_anthropics_results_in_several_messages_come_into_one() -> None:
    asked = message("assistant", use("a"), use("b"))
    made = repaired("anthropic", [user("anthropic"), asked, message("user", result("a")), message("user", result("b"))])

    assert message("user", result("a"), result("b")) == made[2]
    assert 3 == len(made)


def test_results_of_a_server_tool_are_no_answers_of_ours() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    history = [user("anthropic"), message("assistant", search, found, use("a"))]
    made = tx.Context().repair(history)

    assert history == made[:2]
    assert ["a"] == [block["tool_use_id"] for block in made[2]["content"]]


def test_items_of_responses_between_calls_and_outputs_stay_where_they_are() -> None:
    made = {"type": "function_call", "name": "add", "arguments": "{}"}
    aside = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]}
    output = {"type": "function_call_output", "call_id": "b", "output": "2"}
    items = [
        user("openai"),
        {**made, "call_id": "a"},
        {"type": "web_search_call", "id": "ws_1"},
        {**made, "call_id": "b"},
    ]
    context = tx.Context()

    with_output = context.repair([*items, aside, output])
    assert [*items, aside] == with_output[:5]
    assert ["a", "b"] == [item["call_id"] for item in with_output[5:]]
    without = context.repair([*items, aside])
    assert items == without[:4]
    assert (["a", "b"], aside) == ([item["call_id"] for item in without[4:6]], without[6])


@every
def test_the_format_is_seen_or_said_and_nothing_to_do_is_no_fault(provider: str) -> None:
    cut = loop(provider)[:-4]
    talk = [user(provider), said(provider, "Hello.")]

    assert repaired(provider, cut) == repaired(provider, cut, named=True)
    assert repaired(provider, cut) == tx.Context(provider="mcp").repair(cut)
    for context in (tx.Context(), tx.Context(provider=provider)):
        assert talk == context.repair(talk) == context.repair(talk, provider)
        assert [] == context.repair([])


def test_openais_and_ollamas_histories_are_told_apart() -> None:
    asked = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"x": 1}}}]}

    assert "add" == tx.Context(provider="openai").repair([asked])[1]["tool_name"]
    assert "a" == tx.Context(provider="ollama").repair([calls("a")])[1]["tool_call_id"]
    nameless = {"role": "tool", "content": "2"}
    assert [asked, nameless] == tx.Context().repair([asked, nameless])


def test_a_provider_that_keeps_no_histories_says_so() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {}}}

    for context, provider in ((tx.Context(), "mcp"), (tx.Context(provider="mcp"), None)):
        with pytest.raises(tx.FormatError, match="MCP has no histories to repair"):
            context.repair([request], provider)
    with pytest.raises(tx.FormatError, match=r"message 0 is none of any provider that is installed \(.*'tools/call'"):
        tx.Context().repair([request])


def test_a_provider_that_does_not_say_what_messages_hold_still_works_elsewhere() -> None:
    class Old(tx.OpenAI):
        name = "old"
        said = tx.Provider.said

    with pytest.raises(tx.FormatError, match=r"a history of old cannot .* Old has no method said\(message\)"):
        tx.Context().repair([user("openai")], Old())
    with pytest.raises(tx.FormatError, match="a history of old"):
        tx.Context(provider=Old()).repair([user("openai")])
    assert 1 == made_up(tx.Context(provider=Old()).repair([calls("a")]))


@pytest.mark.parametrize("wrong", [None, "text", 5, {"messages": []}, b"[]"])
def test_what_is_no_list_of_messages_is_refused(wrong: Any) -> None:
    with pytest.raises(tx.FormatError, match="a history is a list of messages, not"):
        tx.Context().repair(wrong)


def test_a_long_history_is_repaired_in_no_time() -> None:
    history = [one for n in range(3000) for one in (user("openai"), calls(f"a{n}", f"b{n}"), tool(f"b{n}"))]

    assert 3000 == made_up(repaired("openai", history))


def many_calls(count: int) -> list[Any]:
    """In one message; every second one is answered, the last first."""
    return [calls(*map(str, range(count))), *(tool(str(n)) for n in reversed(range(0, count, 2)))]


def many_of_one_id(count: int) -> list[Any]:
    return [calls(*["same"] * count), *[tool("same")] * count]


def many_orphans(count: int) -> list[Any]:
    """Each behind a call of its own that is answered, and for none."""
    ask = user("openai")
    return [one for n in range(count) for one in (calls(f"a{n}"), tool(f"a{n}"), ask, tool(f"none {n}"), ask)]


@pytest.mark.parametrize("history", [many_calls, many_of_one_id, many_orphans])
def test_the_time_grows_with_the_number_of_calls(history: Callable[[int], list[Any]]) -> None:
    def prepare(count: int) -> Callable[[], object]:
        messages = history(count)
        return lambda: tx.Context().repair(messages)

    assert_linear(prepare, 500)


def test_the_time_grows_with_the_number_of_blocks() -> None:
    def prepare(count: int) -> Callable[[], object]:
        ids = list(map(str, range(count)))
        messages = [message("assistant", *map(use, ids)), message("user", *map(result, reversed(ids)))]
        return lambda: tx.Context().repair(messages)

    assert_linear(prepare, 500)


def test_calls_are_found_by_the_rule_that_says_which_an_answer_fits() -> None:
    ids, names = (None, "", "a", "b"), ("", "f", "g")
    calls = [CallRecord(call_id, name, None) for call_id in ids for name in names] * 2
    fitting = Fitting()
    for place, one in enumerate(calls):
        fitting.add(one, place)
    for call_id in (*ids, "c"):
        for name in (None, *names, "h"):
            answer = Answered(call_id, name)
            found = [place for places in fitting.places(answer) for place in places]
            assert [place for place, one in enumerate(calls) if answer.fits(one)] == sorted(found), answer


def model_said(provider: str) -> list[Any]:
    """Calls "a" and "b", as what people append to their history: the SDK's own objects."""
    answer = renumbered(response(provider, Call("add", {"x": 1}, "a"), Call("add", {"x": 2}, "b")), 0)
    if provider == "openai":
        return [openai.types.chat.ChatCompletion.model_validate(answer).choices[0].message]
    if provider == "openai-responses":
        return list(openai.types.responses.Response.model_validate(answer).output)
    if provider == "anthropic":
        return [anthropic.types.Message.model_validate(answer)]
    if provider == "google":
        candidates = google.genai.types.GenerateContentResponse.model_validate(answer).candidates or []
        return [candidates[0].content]
    return [ollama.ChatResponse.model_validate(answer).message]


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "bedrock"])
def test_objects_of_an_sdk_are_repaired_too(provider: str) -> None:
    objects = model_said(provider)
    dicts = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in objects]
    made = tx.Context().repair([user(provider), *objects, user(provider)])
    same = repaired(provider, [user(provider), *renamed(provider, dicts), user(provider)])

    assert all(one is other for one, other in zip(made[1:], objects, strict=False))
    assert made[1 + len(objects) :] == same[1 + len(objects) :]
    assert 2 == made_up(same)


def renamed(provider: str, dicts: list[Any]) -> list[Any]:
    """A dump without what the API only sends."""
    if provider == "anthropic":
        blocks = [block for block in dicts[0]["content"] if block.get("text") != ""]
        return [{"role": "assistant", "content": blocks}]
    return dicts


def test_googles_objects_can_be_changed_and_sent() -> None:
    types = google.genai.types
    asked = types.Content.model_validate(
        {"role": "model", "parts": [{"function_call": {"name": "add", "args": {"x": n}}} for n in range(2)]}
    )
    picture = types.Part.from_bytes(data=b"\xff\x00", mime_type="image/png")
    given = types.Part.from_function_response(name="add", response={"output": "1"})
    before = types.Content(role="user", parts=[given, picture])
    made = tx.Context().repair([asked, before])
    sent = [types.Content.model_validate(one) for one in made]

    assert [given, picture] == before.parts
    assert (asked, 3) == (sent[0], len(sent))
    assert sent[1].parts is not None
    assert (given, 2) == (sent[1].parts[0], len(sent[1].parts))
    assert 1 == made_up([sent[1].model_dump(mode="json")])
    assert [picture] == sent[2].parts
