"""The cases that are about rendering, for every provider."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import trio

import toolexec as tx
from cases.case_tools import PATIENCE_S, RICH
from toolexec.providing import Provider

NAMES = ("openai", "openai-responses", "anthropic", "google", "ollama", "bedrock", "mcp")
# Those whose own responses need no id, or have none.
WITHOUT_IDS = ("google", "ollama", "mcp")
every = pytest.mark.parametrize("provider", NAMES)


class Result(NamedTuple):
    """One result, wherever the format puts its parts; ``failed`` is None where it has no flag."""

    id: Any
    name: str | None
    text: str
    failed: bool | None


def results(provider: str, messages: list[dict[str, Any]]) -> list[Result]:
    """The results in what ``messages()`` gives, after a trip through JSON."""
    sent: list[dict[str, Any]] = json.loads(json.dumps(messages, allow_nan=False))
    return list(_READERS[provider](sent))


def _openai(sent: list[dict[str, Any]]) -> Iterator[Result]:
    for message in sent:
        assert "tool" == message["role"]
        yield Result(message["tool_call_id"], None, message["content"], None)


def _responses(sent: list[dict[str, Any]]) -> Iterator[Result]:
    for item in sent:
        assert "function_call_output" == item["type"]
        yield Result(item["call_id"], None, item["output"], None)


def _anthropic(sent: list[dict[str, Any]]) -> Iterator[Result]:
    (message,) = sent
    assert "user" == message["role"]
    for block in message["content"]:
        assert "tool_result" == block["type"]
        yield Result(block["tool_use_id"], None, block["content"], block.get("is_error", False))


def _google(sent: list[dict[str, Any]]) -> Iterator[Result]:
    (message,) = sent
    assert "user" == message["role"]
    for part in message["parts"]:
        response = part["functionResponse"]
        ((key, text),) = response["response"].items()
        yield Result(response.get("id"), response["name"], text, key == "error")


def _ollama(sent: list[dict[str, Any]]) -> Iterator[Result]:
    for message in sent:
        assert "tool" == message["role"]
        yield Result(message.get("tool_call_id"), message["tool_name"], message["content"], None)


def _bedrock(sent: list[dict[str, Any]]) -> Iterator[Result]:
    (message,) = sent
    assert "user" == message["role"]
    for block in message["content"]:
        result = block["toolResult"]
        (content,) = result["content"]
        yield Result(result["toolUseId"], None, content["text"], result["status"] == "error")


def _mcp(sent: list[dict[str, Any]]) -> Iterator[Result]:
    for response in sent:
        if "error" in response:  # of an unknown tool
            yield Result(response["id"], None, response["error"]["data"], failed=True)
            continue
        result = response.get("result", response)
        (content,) = result["content"]
        yield Result(response.get("id"), None, content["text"], result["isError"])


_READERS: dict[str, Callable[[list[dict[str, Any]]], Iterator[Result]]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
    "bedrock": _bedrock,
    "mcp": _mcp,
}


def called(provider: str, turn: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    """Ids and names of the calls in what ``turn()`` gives; a server's turn has none."""
    if provider == "openai-responses":
        return [(item["call_id"], item["name"]) for item in turn if item["type"] == "function_call"]
    if provider == "mcp":
        return []
    said = turn[0]
    if provider in ("openai", "ollama"):
        return [(each.get("id"), each["function"]["name"]) for each in said["tool_calls"]]
    if provider == "anthropic":
        return [(block["id"], block["name"]) for block in said["content"] if block["type"] == "tool_use"]
    if provider == "google":
        return [(part["functionCall"].get("id"), part["functionCall"]["name"]) for part in said["parts"]]
    return [(block["toolUse"]["toolUseId"], block["toolUse"]["name"]) for block in said["content"]]


def response(provider: str, *calls: tuple[Any, str, dict[str, Any]]) -> Any:
    """What this provider's model would have sent; an id of None is left out."""

    def own(field: str, value: Any) -> dict[str, Any]:
        return {} if value is None else {field: value}

    if provider == "openai":
        entries = [
            {**own("id", id_), "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for id_, name, args in calls
        ]
        return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": entries}}]}
    if provider == "openai-responses":
        items = [
            {"type": "function_call", **own("call_id", id_), "name": name, "arguments": json.dumps(args)}
            for id_, name, args in calls
        ]
        return {"object": "response", "output": items}
    if provider == "anthropic":
        blocks = [{"type": "tool_use", **own("id", id_), "name": name, "input": args} for id_, name, args in calls]
        return {"type": "message", "role": "assistant", "content": blocks}
    if provider == "google":
        parts = [{"functionCall": {**own("id", id_), "name": name, "args": args}} for id_, name, args in calls]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    if provider == "ollama":
        entries = [{**own("id", id_), "function": {"name": name, "arguments": args}} for id_, name, args in calls]
        return {"message": {"role": "assistant", "content": "", "tool_calls": entries}, "done": True}
    if provider == "bedrock":
        uses = [{"toolUse": {**own("toolUseId", id_), "name": name, "input": args}} for id_, name, args in calls]
        return {"output": {"message": {"role": "assistant", "content": uses}}}
    return [
        {"jsonrpc": "2.0", **own("id", id_), "method": "tools/call", "params": {"name": name, "arguments": args}}
        for id_, name, args in calls
    ]


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


RAISED: dict[str, Callable[[], BaseException]] = {
    "ValueError": ValueError,
    "KeyError": lambda: KeyError("k"),
    "AssertionError": AssertionError,
    "Silent": Silent,
}


@tx.tool
def echo(value: Any = None) -> Any:
    return value


@tx.tool
def other(value: Any = None) -> Any:
    return ["other", value]


@tx.tool
def rich(kind: str) -> Any:
    return RICH[kind]()


@tx.tool
def burst(kind: str) -> None:
    error = RAISED[kind]()
    raise error


@tx.tool
def huge() -> str:
    return HUGE


HUGE = "\U0001f4a1" * (5 * 1024 * 1024 // 4)
TOOLS = [echo, other, rich, burst, huge]


def settled(provider: str, *calls: tuple[Any, str, dict[str, Any]]) -> tx.Context:
    ctx = tx.Context(TOOLS, strategy="sequential")
    ctx.receive(response(provider, *calls))
    ctx.wait(timeout=PATIENCE_S)
    return ctx


# A1

RELEASED = "the wait is over"


@every
@pytest.mark.parametrize("strategy", ["asyncio", "trio"])
def test_A1_a_cancelled_call_is_answered_and_its_sibling_keeps_its_value(provider: str, strategy: str) -> None:
    begun = threading.Event()

    @tx.tool
    async def soon() -> str:
        return "done"

    @tx.tool
    async def never() -> None:
        begun.set()
        if strategy == "trio":
            await trio.sleep_forever()
        await asyncio.Event().wait()

    ctx = tx.Context([soon, never])
    group = ctx.receive(response(provider, ("c1", "soon", {}), ("c2", "never", {}))).group(strategy)
    group.tasks[0].wait(PATIENCE_S)
    assert begun.wait(PATIENCE_S)
    group.interrupt(RELEASED)
    returns = group.wait(PATIENCE_S)

    assert [("c1", "ok", "done"), ("c2", "cancelled", RELEASED)] == [
        (ret.id, ret.status, ret.value if ret.ok else ret.reason) for ret in returns
    ]
    one, two = results(provider, ctx.messages())
    assert ("c1", "done") == (one.id, one.text)
    assert "c2" == two.id
    assert RELEASED in two.text
    if provider != "mcp":
        assert [("c1", "soon"), ("c2", "never")] == called(provider, ctx.turn())


# A5, A6


@every
def test_A5_two_calls_of_one_id_are_told_apart_alike_in_call_and_result(provider: str) -> None:
    ctx = settled(provider, ("c", "echo", {"value": 1}), ("c", "other", {"value": 2}))
    answered = results(provider, ctx.messages())

    assert [1, ["other", 2]] == [ret.value for ret in ctx.returns]
    assert ["1", '["other",2]'] == [result.text.replace(" ", "") for result in answered]
    if provider == "mcp":  # a client waits for the id that it sent
        assert ["c", "c"] == [result.id for result in answered]
        return
    ids = [result.id for result in answered]
    assert 2 == len(set(ids))
    assert list(zip(ids, ["echo", "other"], strict=True)) == called(provider, ctx.turn())


@every
@pytest.mark.parametrize("missing", [None, ""])
def test_A6_calls_without_an_id_are_matched_all_the_same(provider: str, missing: str | None) -> None:
    ctx = settled(provider, (missing, "echo", {"value": 1}), (missing, "echo", {"value": 2}))
    answered = results(provider, ctx.messages())

    assert [1, 2] == [ret.value for ret in ctx.returns]
    assert ["1", "2"] == [result.text for result in answered]
    ids = [result.id for result in answered]
    if provider in WITHOUT_IDS:
        assert [missing if provider == "mcp" else None] * 2 == ids
    else:
        assert 2 == len(set(ids))
        assert not {"None", "null", "", "echo", None} & set(ids)
    if provider != "mcp":
        assert [(own, "echo") for own in ids] == called(provider, ctx.turn())


# A8 to A14


@every
@pytest.mark.parametrize("kind", RAISED)
def test_A8_an_error_has_its_id_its_name_and_a_text(provider: str, kind: str) -> None:
    ctx = settled(provider, ("c1", "burst", {"kind": kind}))
    (result,) = results(provider, ctx.messages())

    assert ("c1", "burst", "raised") == (ctx.returns[0].id, ctx.returns[0].name, ctx.returns[0].status)
    assert "c1" == result.id
    assert result.name in (None, "burst")
    assert kind in result.text


@every
def test_A9_empty_results_are_no_empty_texts(provider: str) -> None:
    values: list[Any] = [None, "", "  \n", [], {}]
    ctx = settled(provider, *((f"c{place}", "echo", {"value": value}) for place, value in enumerate(values)))
    answered = results(provider, ctx.messages())

    assert values == [ret.value for ret in ctx.returns]
    assert [type(value) for value in values] == [type(ret.value) for ret in ctx.returns]
    assert ["null", '""', '"  \\n"', "[]", "{}"] == [result.text for result in answered]
    assert not any(result.failed for result in answered)


@every
def test_A10_whatever_a_tool_returns_is_rendered(provider: str) -> None:
    ctx = settled(provider, *((kind, "rich", {"kind": kind}) for kind in RICH))
    answered = results(provider, ctx.messages())

    assert ["ok"] * len(RICH) == [ret.status for ret in ctx.returns]
    assert len(RICH) == len(answered)
    assert all(result.text.strip() for result in answered)
    told = dict(zip(RICH, (result.text for result in answered), strict=True))
    assert ["NaN", "Infinity"] == json.loads(told["NaN"])
    assert "list" in told["ring"]
    assert "Unshowable" in told["Unshowable"]
    assert "object" in told["object"]


@every
def test_A11_what_failed_says_so(provider: str) -> None:
    ctx = tx.Context(TOOLS, strategy="sequential")
    functions = ctx.receive(
        response(
            provider,
            ("c0", "echo", {"value": "fine"}),
            ("c1", "burst", {"kind": "ValueError"}),
            ("c2", "echo", {"value": "never"}),
            ("c3", "rich", {}),
            ("c4", "no_such", {}),
        )
    )
    functions[2].cancel()
    ctx.wait(timeout=PATIENCE_S)
    first, *failed = results(provider, ctx.messages())

    assert ["ok", "raised", "cancelled", "bad_arguments", "unknown_tool"] == [ret.status for ret in ctx.returns]
    assert "fine" == first.text
    assert not first.failed
    flagged = provider in ("anthropic", "google", "bedrock", "mcp")
    assert [True if flagged else None] * 4 == [result.failed for result in failed]
    told = [json.loads(result.text) for result in failed]
    assert [True, None, True, True] == [text.get("error") for text in told]
    assert True is told[1]["cancelled"]


@every
def test_A11_a_value_that_looks_like_an_error_is_none(provider: str) -> None:
    ctx = settled(provider, ("c", "echo", {"value": {"error": True, "cancelled": True}}))
    (result,) = results(provider, ctx.messages())

    assert not result.failed


@every
def test_A13_three_parallel_calls_have_three_results_in_their_order(provider: str) -> None:
    ctx = settled(provider, *((f"c{place}", "echo", {"value": place}) for place in range(3)))
    messages = ctx.messages()

    # The readers take one message only where the provider wants all results in one.
    assert (1 if provider in ("anthropic", "google", "bedrock") else 3) == len(messages)
    assert [("c0", "0"), ("c1", "1"), ("c2", "2")] == [(it.id, it.text) for it in results(provider, messages)]
    turn = ctx.turn()
    assert messages == turn[len(turn) - len(messages) :]


@every
def test_A14_a_large_text_is_whole_and_no_character_is_split(provider: str) -> None:
    ctx = settled(provider, ("c", "huge", {}))
    (result,) = results(provider, ctx.messages())

    assert HUGE == ctx.returns[0].value
    assert HUGE == result.text
    assert 5 * 1024 * 1024 == len(result.text.encode())


# G8, G9, G13


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Size(enum.Enum):
    ONE = 1
    TWO = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int | None = None


@tx.tool
def choose(
    optional: int | None,
    union: int | str,
    words: Literal["a", "b"],
    mixed: Literal["a", 1] | None,
    colour: Colour,
    size: Size,
    listed: list[Literal["x", "y"]],
    points: list[Point],
) -> list[Any]:
    """Take one of each."""
    return [optional, union, words, mixed, colour, size, listed, points]


def schema_of(provider: str, declared: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of the first tool's arguments."""
    tool = declared[0]
    found: Any = {
        "openai": lambda: tool["function"]["parameters"],
        "openai-responses": lambda: tool["parameters"],
        "anthropic": lambda: tool["input_schema"],
        "google": lambda: tool["functionDeclarations"][0]["parameters"],
        "ollama": lambda: tool["function"]["parameters"],
        "bedrock": lambda: tool["toolSpec"]["inputSchema"]["json"],
        "mcp": lambda: tool["inputSchema"],
    }[provider]()
    made: dict[str, Any] = json.loads(json.dumps(found))
    return made


def name_of(provider: str, declared: dict[str, Any]) -> str:
    """The name that a tool has there."""
    holder = declared.get("toolSpec") or declared.get("function") or declared
    if provider == "google":
        holder = declared["functionDeclarations"][0]
    name: str = holder["name"]
    return name


def words(schema: Any) -> Iterator[str]:
    """All the keywords of a schema."""
    if isinstance(schema, list):
        for inner in schema:
            yield from words(inner)
    elif isinstance(schema, dict):
        for key, inner in schema.items():
            if key in ("properties", "$defs"):
                yield from words(list(inner.values()))
                yield key
            elif key not in ("enum", "default", "const"):
                yield key
                yield from words(inner)
            else:
                yield key


@every
def test_G8_unions_and_choices_are_legal_and_come_in_as_members(provider: str) -> None:
    ctx = tx.Context([choose], strategy="sequential", provider=provider)
    schema = schema_of(provider, ctx.declarations())
    used = set(words(schema))

    kinds = schema["properties"]
    if provider in ("google", "ollama"):
        assert not {"$ref", "$defs"} & used
        assert ["red", "green"] == kinds["colour"]["enum"]
        assert ["x", "y"] == kinds["listed"]["items"]["enum"]
        assert "object" == kinds["points"]["items"]["type"]
    if provider == "google":
        assert not {"const", "oneOf", "allOf", "additionalProperties"} & used
        assert not any(isinstance(kind["type"], list) for kind in kinds.values() if "type" in kind)
        assert True is kinds["optional"]["nullable"]
        assert "one of 1, 2" in kinds["size"]["description"]
    arguments = {
        "optional": None,
        "union": "u",
        "words": "b",
        "mixed": 1,
        "colour": "green",
        "size": 2,
        "listed": ["x", "y"],
        "points": [{"x": 1}, {"x": 2, "y": None}],
    }
    ctx.receive(response(provider, ("c", "choose", arguments)))
    expected = [None, "u", "b", 1, Colour.GREEN, Size.TWO, ["x", "y"], [Point(1), Point(2)]]

    assert [expected] == [ret.value for ret in ctx.wait()]


@dataclasses.dataclass
class Node:
    value: int
    children: Annotated[list[Node], "what is below"]


@dataclasses.dataclass
class Left:
    right: Right | None = None


@dataclasses.dataclass
class Right:
    left: Left | None = None


@tx.tool
def total(node: Node) -> int:
    return node.value + sum(total(child) for child in node.children)


@tx.tool
def depth(left: Left) -> int:
    one = left.right
    return 0 if one is None else 1 if one.left is None else 2 + depth(one.left)


@every
@pytest.mark.parametrize("recursive", [total, depth], ids=["to itself", "in a pair"])
def test_G9_a_recursive_type_is_declared_or_refused(provider: str, recursive: tx.Function) -> None:
    if provider in ("google", "ollama"):
        with pytest.raises(tx.DeclarationError, match="contains itself"):
            tx.Context([recursive], provider=provider)
        with pytest.raises(tx.DeclarationError, match="contains itself"):
            tx.Context([recursive]).declarations(provider)
        return
    schema = schema_of(provider, tx.Context([recursive], provider=provider).declarations())

    assert {"$ref", "$defs"} <= set(words(schema))
    assert {each.rsplit("/", 1)[-1] for each in references(schema)} <= schema["$defs"].keys()


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for inner in schema:
            yield from references(inner)
    elif isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for inner in schema.values():
            yield from references(inner)


@every
def test_G9_deep_data_of_a_recursive_type_comes_in(provider: str) -> None:
    node: dict[str, Any] = {"value": 1, "children": []}
    for _ in range(20):
        node = {"value": 1, "children": [node]}
    ctx = tx.Context([total, depth], strategy="sequential")
    ctx.receive(
        response(provider, ("c", "total", {"node": node}), ("d", "depth", {"left": {"right": {"left": {"right": {}}}}}))
    )

    assert [21, 3] == [ret.value for ret in ctx.wait()]


ODD_NAMES = ("two words", "a.b", "a_b", "a b", "größe", "größé", "数", "n" * 80, "n" * 81, "1st", "-x", "!")


@every
def test_G13_names_are_legal_for_the_provider_and_lead_back(provider: str) -> None:
    def named(name: str) -> tx.Function:
        @tx.tool(name=name)
        def it() -> str:
            return name

        return it

    made = [named(name) for name in ODD_NAMES]
    ctx = tx.Context(made, strategy="sequential")
    shown = [name_of(provider, tx.Context([each]).declarations(provider)[0]) for each in made]
    ctx.receive(response(provider, *((f"c{place}", name, {}) for place, name in enumerate(shown))))

    assert len(ODD_NAMES) == len(set(shown))
    legal = class_of(provider)
    assert [] == [name for name in shown if len(name) > legal.most_name_chars or not legal.legal_name.fullmatch(name)]
    assert shown == [name_of(provider, tx.Context([each]).declarations(provider)[0]) for each in made]
    assert list(ODD_NAMES) == [ret.value for ret in ctx.wait()]
    if provider != "mcp":
        assert shown == [name for _, name in called(provider, ctx.turn())]


def class_of(name: str) -> type[Provider]:
    (point,) = entry_points(group="toolexec.providers", name=name)
    cls: type[Provider] = point.load()
    return cls


@every
def test_G13_two_tools_of_one_name_are_refused_and_one_tool_twice_is_not(provider: str) -> None:
    @tx.tool(name="run")
    def one() -> int:
        return 1

    @tx.tool(name="run")
    def two() -> int:
        return 2

    with pytest.raises(tx.DeclarationError, match="two tools are named 'run'"):
        tx.Context([one, two], provider=provider)
    declared = tx.Context([one, one], provider=provider).declarations()
    assert 1 == len(declared)
    assert "run" == name_of(provider, declared[0])
