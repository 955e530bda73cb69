"""Theme A: exactly one Return per call, in call order, whatever happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

import toolexec as tx
from cases.case_tools import ALL, CONCURRENT, PATIENCE_S, RICH, received

every = pytest.mark.parametrize("strategy", ALL)


@every
def test_A2_one_failing_tool_leaves_its_siblings_their_results(strategy: str) -> None:
    ctx = received(("late", {"value": 1}), ("fail", {}), ("late", {"value": 3, "seconds": 0.04}))
    group = ctx.group(strategy)
    returns = group.wait(PATIENCE_S)

    assert [("ok", 1), ("raised", None), ("ok", 3)] == [(r.status, r.value if r.ok else None) for r in returns]
    assert ("ValueError", "on purpose") == (returns[1].value["type"], returns[1].value["message"])
    assert not group.alive


@every
def test_A3_an_unknown_tool_is_answered_in_its_place(strategy: str) -> None:
    returns = received(("ech", {}), ("echo", {"value": 1}), ("", {})).wait(strategy, timeout=PATIENCE_S)

    assert ["unknown_tool", "ok", "unknown_tool"] == [ret.status for ret in returns]
    assert ["ech", "echo", ""] == [ret.name for ret in returns]
    assert isinstance(returns[0].exception, tx.NoSuchToolError)
    assert "'ech'" in str(returns[0].exception)


@every
def test_A5_two_calls_with_one_id_run_once_each_and_are_answered_by_position(strategy: str, tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    ctx = received(
        {"id": "c", "name": "note", "arguments": {"path": path, "line": "one"}},
        {"id": "c", "name": "echo", "arguments": {"value": 2}},
        {"id": "c", "name": "note", "arguments": {"path": path, "line": "three"}},
    )
    returns = ctx.wait(strategy, timeout=PATIENCE_S)
    assistant, *results = ctx.turn()

    assert ["one", 2, "three"] == [ret.value for ret in returns]
    assert ["one", "three"] == sorted(Path(path).read_text().split())
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert 3 == len(set(ids))
    assert list(zip(ids, ["one", "2", "three"], strict=True)) == [(r["tool_call_id"], r["content"]) for r in results]


@pytest.mark.parametrize("strategy", CONCURRENT)
def test_A7_returns_keep_call_order_whatever_finishes_first(strategy: str, tmp_path: Path) -> None:
    """The first call cannot end before the third has, and the second is refused before any begins."""
    gate = tmp_path / "gate"
    ctx = received(("after", {"path": str(gate), "value": 1}), ("late", {"seconds": "soon"}), ("echo", {"value": 3}))
    group = ctx.group(strategy)
    finished: list[str | None] = []
    for ret in group:
        finished.append(ret.id)
        if ret.id == "c3":
            gate.touch()

    assert ["c2", "c3", "c1"] == finished
    assert [("c1", "ok"), ("c2", "bad_arguments"), ("c3", "ok")] == [(ret.id, ret.status) for ret in group.wait()]
    assert ["c1", "c2", "c3"] == [message["tool_call_id"] for message in ctx.messages()]


@every
def test_A9_empty_results_are_told_apart_and_render_to_something(strategy: str) -> None:
    values: list[Any] = [None, "", "  \n", [], {}]
    ctx = received(*(("echo", {"value": value}) for value in values))
    returns = ctx.wait(strategy, timeout=PATIENCE_S)

    assert values == [ret.value for ret in returns]
    assert [type(value) for value in values] == [type(ret.value) for ret in returns]
    texts = [message["content"] for message in ctx.messages()]
    assert all(text.strip() for text in texts)
    assert values == [json.loads(text) for text in texts]


@every
def test_A10_any_result_becomes_a_text_and_never_an_exception(strategy: str) -> None:
    ctx = received(*(("rich", {"kind": kind}) for kind in RICH))
    returns = ctx.wait(strategy, timeout=PATIENCE_S)

    def refuse(token: str) -> None:
        raise AssertionError(f"bare {token}")

    assert {"ok"} == {ret.status for ret in returns}
    shown: dict[str, Any] = {
        kind: json.loads(message["content"], parse_constant=refuse)
        for kind, message in zip(RICH, ctx.messages(), strict=True)
    }
    assert "2026-05-01T12:00:00Z" == shown["datetime"]
    assert ([1], "1.10", "red", ["NaN", "Infinity"]) == tuple(shown[k] for k in ("set", "Decimal", "Enum", "NaN"))
    assert {"x": 1, "when": "2026-05-01"} == shown["dataclass"]
    for kind in ("ring", "Unshowable", "object"):
        assert ("UnsendableError", True) == (shown[kind]["type"], shown[kind]["error"])


@every
def test_A14_a_very_large_text_arrives_and_renders_whole(strategy: str) -> None:
    ctx = received(("large", {"megabytes": 5}))
    ret = ctx.wait(strategy, timeout=PATIENCE_S)[0]

    text = ret.unwrap()
    assert (5 * 1024 * 1024 // 4, {"\U0001f4a1"}) == (len(text), set(text))
    assert text == ctx.messages()[0]["content"]


def test_the_cases_render_into_messages_that_the_providers_types_accept() -> None:
    """Through the real response type and back: what we send has the shape the SDK declares."""
    call = {"id": "c1", "type": "function", "function": {"name": "fail", "arguments": "{}"}}
    response = ChatCompletion.model_validate(
        {
            "id": "r",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": None, "tool_calls": [call, dict(call, id="c2")]},
                }
            ],
        }
    )
    ctx = received()
    ctx.receive(response)
    ctx.wait("thread", timeout=PATIENCE_S)
    assistant, *results = ctx.turn()

    sent = response.model_dump()
    sent["choices"][0]["message"].update(assistant)
    assert response.choices[0].message.tool_calls == ChatCompletion.model_validate(sent).choices[0].message.tool_calls
    assert [{"role", "tool_call_id", "content"}] * 2 == [set(result) for result in results]
    assert all(isinstance(result["content"], str) for result in results)
