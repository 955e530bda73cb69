"""Each provider's stream, cut wherever it can be: the same calls, and never half a one."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from growth import assert_linear
from provider_formats import Call
from provider_streams import LINES, SSE, STREAMS, body, events
from toolexec.providers.anthropic import Anthropic

CALLS = (
    Call("add", {"a": 1, "word": 'ü{}"x€\n'}, "c1"),
    Call("add", {}, "c2"),
    Call("nope", {"a": [1, {"b": None}]}, "c3"),
    Call("add", {"a": 2}, "c4"),
)


@tx.tool
def add(a: int = 0, word: str = "") -> str:
    return f"{a}{word}"


def context() -> tx.Context:
    return tx.Context([add], strategy="sequential")


def what(functions: tx.Functions) -> list[Any]:
    return [(fn.id, fn.name, fn.arguments) for fn in functions]


def read(items: Any, **options: Any) -> tuple[list[Any], list[dict[str, Any]]]:
    """The calls of a stream, and the turn they make."""
    ctx = context()
    stream = ctx.stream(items, **options)
    for _ in stream:
        pass
    ctx.wait()
    return what(stream.functions), ctx.turn()


def calls_in(items: Any) -> list[Any]:
    stream = context().stream(items)
    for _ in stream:
        pass
    return what(stream.functions)


def short(provider: str) -> list[dict[str, Any]]:
    """One that can be cut at each of its bytes in little time."""
    return events(provider, Call("add", {"a": "ü€{"}, "c1"), Call("nope", {}, "c2"), text="ü", size=20)


def longest(provider: str) -> list[dict[str, Any]]:
    return events(provider, *CALLS, text='Let me see: "ü€".')


@pytest.mark.parametrize("provider", STREAMS)
def test_the_calls_of_a_stream_are_those_of_the_whole_response(provider: str) -> None:
    calls, turn = read(longest(provider))

    assert [call.name for call in CALLS] == [name for _, name, _ in calls]
    rets = _returns(longest(provider))
    assert ['1ü{}"x€\n', "0", "2"] == [ret.value for ret in rets if ret.ok]
    assert ["ok", "ok", "unknown_tool", "ok"] == [ret.status for ret in rets]
    assert 'Let me see: "ü€".' in str(turn)


def _returns(items: Any) -> tuple[tx.Return, ...]:
    ctx = context()
    for _ in ctx.stream(items):
        pass
    return ctx.wait()


@pytest.mark.parametrize("provider", [*SSE, *LINES])
def test_every_cut_of_the_bytes_gives_the_same_calls(provider: str) -> None:
    expected = read(longest(provider))
    whole = body(provider, longest(provider))

    assert expected == read([whole])
    assert expected == read(whole)
    assert expected == read([whole[n : n + 1] for n in range(len(whole))])
    assert expected == read(whole.decode().split("\n"))
    whole = body(provider, short(provider))
    calls = calls_in(short(provider))
    assert ["add", "nope"] == [name for _, name, _ in calls]
    for cut in range(len(whole)):
        assert calls == calls_in([whole[:cut], whole[cut:]])


@pytest.mark.parametrize("provider", STREAMS)
def test_each_call_is_told_once_and_as_soon_as_it_is_whole(provider: str) -> None:
    ctx = context()
    stream = ctx.stream(longest(provider))
    told = [len(stream.functions) for _ in stream]

    assert sorted(told) == told
    assert {0, 1, 2, 3, 4} == set(told) or provider == "openai"
    assert told.index(2) < len(told) - 3


@pytest.mark.parametrize("provider", STREAMS)
def test_an_early_end_at_any_event_gives_no_half_call_and_nothing_to_send(provider: str) -> None:
    made = longest(provider)
    expected = read(made)
    ends = 0
    for end in range(len(made)):
        ctx = context()
        stream = ctx.stream(made[:end], provider=provider)
        fault = None
        try:
            for _ in stream:
                pass
        except tx.FormatError as exc:
            fault = str(exc)
        if fault is not None:
            assert "ended before its answer did" in fault
            assert what(stream.functions) == expected[0][: len(stream.functions)]
            assert [] == ctx.turn() == ctx.messages()
            assert ["cancelled"] * len(stream.functions) == [ret.status for ret in ctx.wait()]
        else:
            ends += 1
            ctx.wait()
            assert expected == (what(stream.functions), ctx.turn())
    # What comes after the end of the answer is not missed: usage, and markers that say it again.
    assert ends <= 2


@pytest.mark.parametrize("provider", [*SSE, *LINES])
def test_an_early_end_at_any_byte_gives_no_half_call(provider: str) -> None:
    expected = read(short(provider))
    whole = body(provider, short(provider))
    for end in range(len(whole)):
        ctx = context()
        stream = ctx.stream([whole[:end]])
        try:
            for _ in stream:
                pass
        except tx.FormatError:
            assert what(stream.functions) == expected[0][: len(stream.functions)]
            assert [] == ctx.turn()
        else:
            ctx.wait()
            assert expected == (what(stream.functions), ctx.turn())


@pytest.mark.parametrize("provider", STREAMS)
def test_a_stream_without_calls_is_what_was_said(provider: str) -> None:
    ctx = context()
    for _ in ctx.stream(events(provider)):
        pass

    assert () == ctx.wait()
    assert [] == ctx.turn() == ctx.messages()
    assert "Let me see." in str(ctx.history())


@pytest.mark.parametrize("provider", [*STREAMS, "mcp"])
def test_nothing_at_all_is_no_stream(provider: str) -> None:
    ctx = context()
    if provider == "mcp":  # no end has to be seen: requests come as long as they come
        assert [] == list(ctx.stream([], provider=provider))
        assert () == ctx.wait()
        return
    with pytest.raises(tx.FormatError, match="ended before its answer did"):
        list(ctx.stream([], provider=provider))


@pytest.mark.parametrize(
    ("provider", "last"),
    [
        ("openai", {"error": {"message": "overloaded", "code": 529}}),
        ("openai-responses", {"type": "error", "message": "overloaded", "code": "server_error", "param": None}),
        ("openai-responses", {"type": "response.failed", "response": {"error": {"message": "overloaded"}}}),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
        ("google", {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
        ("ollama", {"error": "overloaded"}),
        ("bedrock", {"modelStreamErrorException": {"message": "overloaded"}}),
    ],
)
def test_an_event_that_says_the_answer_failed_breaks_the_stream(provider: str, last: dict[str, Any]) -> None:
    ctx = context()
    stream = ctx.stream([*events(provider, *CALLS)[:-3], last])

    with pytest.raises(tx.FormatError, match="overloaded"):
        list(stream)
    assert stream.functions
    assert all(ret.status == "cancelled" and ret.reason == "the response broke off: FormatError" for ret in ctx.wait())
    assert [] == ctx.turn()


@pytest.mark.parametrize(
    ("broken", "why"),
    [('{"a": 1, "word": ', "not valid JSON"), ('{"a": 1, "a": 2}', "'a'"), ("[1]", "must be a JSON object")],
    ids=["cut", "a key twice", "no object"],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock"])
def test_broken_arguments_are_the_calls_and_not_the_streams(provider: str, broken: str, why: str) -> None:
    deltas: dict[str, list[dict[str, Any]]] = {
        "openai": [
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {
                            "tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": broken}}]
                        },
                        "finish_reason": None,
                    }
                ]
            },
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        ],
        "anthropic": [
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "c1", "name": "add"},
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": broken}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ],
        "bedrock": [
            {
                "contentBlockStart": {
                    "contentBlockIndex": 0,
                    "start": {"toolUse": {"toolUseId": "c1", "name": "add"}},
                }
            },
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": broken}}}},
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"messageStop": {"stopReason": "max_tokens"}},
        ],
    }
    ctx = context()
    for _ in ctx.stream(deltas[provider]):
        pass

    (ret,) = ctx.wait()
    assert "bad_arguments" == ret.status
    assert why in ret.value["message"]
    assert ctx.turn()


# Chat completions as its imitators stream them


def chunk(*entries: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(entries)}, "finish_reason": finish}]}


def entry(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    "made",
    [
        # whole calls, all with one index, as some give them
        [chunk(entry("add", '{"a":1}', index=0, id="x")), chunk(entry("add", '{"a":2}', index=0, id="y"))],
        # in one delta, without an index
        [chunk(entry("add", '{"a":1}', id="x"), entry("add", '{"a":2}', id="y"))],
        # without index or id
        [chunk(entry("add", '{"a":1}'), entry("add", '{"a":2}'))],
        # id and name said again in every chunk
        [
            chunk(entry("add", '{"a"', index=0, id="x")),
            chunk(entry("add", ":1}", index=0, id="x")),
            chunk(entry("add", '{"a":2', index=1, id="y")),
            chunk(entry("add", "}", index=1, id="y")),
        ],
        # id and name empty after the first
        [
            chunk(entry("add", "", index=0, id="x")),
            chunk(entry("", '{"a":1}', index=0, id="")),
            chunk(entry("add", '{"a":2}', index=1, id="y")),
            chunk(entry(None, "", index=1, id=None)),
        ],
        # interleaved
        [
            chunk(entry("add", '{"a"', index=0, id="x"), entry("add", '{"a"', index=1, id="y")),
            chunk(entry(None, ":1}", index=0), entry(None, ":2}", index=1)),
        ],
        # arguments as an object
        [chunk(entry("add", {"a": 1}, index=0, id="x")), chunk(entry("add", {"a": 2}, index=1, id="y"))],
        # the id late
        [
            chunk(entry("add", "", index=0)),
            chunk(entry(None, '{"a":1}', index=0, id="x")),
            chunk(entry("add", '{"a":2}', index=1, id="y")),
        ],
    ],
)
def test_imitators_of_openai_give_two_calls(made: list[dict[str, Any]]) -> None:
    for closing in ([chunk(finish="tool_calls")], [{"choices": [{"finish_reason": "stop"}]}, {"choices": []}]):
        ctx = context()
        for _ in ctx.stream([*made, *closing]):
            pass
        assert ["1", "2"] == [ret.value for ret in ctx.wait()]
        sent = ctx.turn()
        assert len({message["tool_call_id"] for message in sent[1:]}) == 2


def test_arguments_that_go_on_after_they_were_whole_break_the_stream() -> None:
    ctx = context()
    made = [
        chunk(entry("add", '{"a":1}', index=0, id="x")),
        chunk(entry("add", "", index=1, id="y")),
        chunk(entry(None, '{"a":2}', index=0)),
    ]
    with pytest.raises(tx.FormatError, match="go on after they were whole"):
        list(ctx.stream(made))


def test_a_call_of_an_earlier_kind_is_told_what_to_do() -> None:
    ctx = context()
    made = [{"choices": [{"index": 0, "delta": {"function_call": {"name": "add", "arguments": "{}"}}}]}]
    with pytest.raises(tx.FormatError, match="ask the model with tools="):
        list(ctx.stream(made))


def test_googles_arguments_in_pieces_are_refused() -> None:
    part = {
        "functionCall": {"name": "add", "partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": True}
    }
    with pytest.raises(tx.FormatError, match="streamFunctionCallArguments"):
        list(context().stream([{"candidates": [{"content": {"parts": [part]}}]}]))


def test_googles_signed_text_stays_a_part_of_its_own() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "a", "thought": True},
        {"text": "b", "thought": True},
        {"text": "c"},
        {"text": "d", "thoughtSignature": "c2ln"},
        {"text": "e"},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        {"text": "", "thoughtSignature": "c2ln"},
    ]
    ctx = context()
    chunks: list[Any] = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    for _ in ctx.stream([*chunks, {"candidates": [{"finishReason": "STOP"}]}]):
        pass

    said = [
        {"text": "ab", "thought": True},
        {"text": "cd", "thoughtSignature": "c2ln"},
        {"text": "e"},
        *parts[-2:],
    ]
    assert said == ctx.history()[0]["parts"]


def test_requests_of_mcp_are_calls_one_by_one() -> None:
    requests = [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "add", "arguments": {"a": n}}}
        for n in range(3)
    ]
    between = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
    made = list(itertools.chain.from_iterable((request, between) for request in requests))
    ctx = context()
    stream = ctx.stream(made)

    assert [1, 1, 2, 2, 3, 3] == [len(stream.functions) for _ in stream]
    ctx.wait()
    assert [(n, str(n)) for n in range(3)] == [
        (answer["id"], answer["result"]["content"][0]["text"]) for answer in ctx.messages()
    ]


def test_a_stream_of_nobody_shows_how_it_began() -> None:
    with pytest.raises(tx.FormatError, match=r"no stream of any provider.*first of all \{'a': 1\}"):
        list(context().stream([{"a": 1}, {"b": 2}]))
    with pytest.raises(tx.FormatError, match="nothing at all"):
        list(context().stream([]))


# Streams that contradict themselves: what has run must be what is said again


def test_a_call_that_is_told_twice_breaks_the_stream_and_runs_once() -> None:
    ran: list[int] = []

    @tx.tool
    def note(n: int) -> None:
        ran.append(n)

    made = events("anthropic", Call("note", {"n": 1}, "c1"))
    stop = next(place for place, event in enumerate(made) if event == {"type": "content_block_stop", "index": 2})
    ctx = tx.Context([note], strategy="thread")
    stream = ctx.stream([*made[: stop + 1], made[stop], *made[stop + 1 :]])
    with pytest.raises(tx.FormatError, match="twice of its call of 'note'"):
        list(stream)
    assert 1 == len(ctx.wait())
    assert len(ran) <= 1
    assert [] == ctx.turn()


@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock"])
def test_a_call_that_changes_after_it_was_whole_breaks_the_stream(provider: str) -> None:
    made = events(provider, Call("add", {"a": 1}, "c1"), Call("add", {"a": 2}, "c2"), size=100)
    late: dict[str, Any] = {
        "openai": chunk(entry(None, '{"a":3}', index=0)),
        "anthropic": {"type": "content_block_delta", "index": 2, "delta": {"partial_json": '{"a":3}'}},
        "bedrock": {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"a":3}'}}}},
    }
    with pytest.raises(tx.FormatError, match="after"):
        list(context().stream([*made[:-2], late[provider], *made[-2:]]))


@pytest.mark.parametrize(
    ("provider", "event"),
    [
        ("anthropic", {"type": "content_block_start", "index": [], "content_block": {"type": "text"}}),
        ("bedrock", {"contentBlockDelta": {"contentBlockIndex": 0, "delta": None}}),
        ("bedrock", "text"),
        ("openai", {"choices": [{"delta": {"tool_calls": [{"index": {}, "function": {"name": "add"}}]}}]}),
    ],
)
def test_an_event_that_cannot_be_is_a_format_error_that_shows_it(provider: str, event: Any) -> None:
    with pytest.raises(tx.FormatError):
        list(context().stream([event], provider=provider))


def test_citations_are_said_again_in_their_order() -> None:
    first, *more = [{"type": "char_location", "cited_text": text} for text in "abc"]
    for began in (None, [], [first]):
        block = {"type": "text", "text": "So.", "citations": began}
        assembler = Anthropic().assembler()
        assembler.feed({"type": "content_block_start", "index": 0, "content_block": block})
        for one in more if began else (first, *more):
            delta = {"type": "citations_delta", "citation": one}
            assembler.feed({"type": "content_block_delta", "index": 0, "delta": delta})
        assembler.feed({"type": "message_stop"})

        assert [{"type": "text", "text": "So.", "citations": [first, *more]}] == assembler.finish().native
        assert began in (None, [], [first])  # the event is the caller's


def test_many_citations_take_time_by_their_number() -> None:
    def prepare(count: int) -> Callable[[], object]:
        assembler = Anthropic().assembler()
        assembler.feed({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "So."}})
        deltas = [{"type": "citations_delta", "citation": {"cited_text": str(n)}} for n in range(count)]
        events = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
        return lambda: [assembler.feed(event) for event in events]

    assert_linear(prepare, 4000)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_many_calls_take_time_by_their_number(provider: str) -> None:
    calls = [Call("add", {"a": n}, f"c{n}") for n in range(3000)]
    ctx = context()
    stream = ctx.stream(events(provider, *calls, size=100), start=False)
    began = time.perf_counter()
    for _ in stream:
        pass
    # Some 0.3 s on an idle machine; by the square of their number it were 10 times that.
    assert time.perf_counter() - began < 3
    assert 3000 == len(stream.functions)
