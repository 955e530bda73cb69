"""Fakes that run in place of a Context's tools."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import toolexec as tx


class Network:
    """What a tool needs, and a test has not."""


@tx.tool(strategy="fork", timeout=5)
def weather(city: Annotated[str, "Where"], days: int = 1) -> str:
    """Look the weather up."""
    raise AssertionError("the real one")


@tx.tool
def other() -> str:
    return "real"


def answers(ctx: tx.Context, name: str = "weather", **arguments: Any) -> tx.Return:
    ctx.receive([{"name": name, "arguments": arguments}])
    return ctx.wait()[0]


def test_a_function_gets_what_the_real_tool_would_in_this_process() -> None:
    seen: list[dict[str, Any]] = []
    ctx = tx.Context([weather, other])
    before = ctx.declarations()

    def fake(**arguments: Any) -> str:
        seen.append(arguments)
        return "sunny"

    with ctx.override(weather=fake):
        ret = answers(ctx, city="Bonn")
        assert before == ctx.declarations()
        assert "real" == answers(ctx, "other").value
        refused = answers(ctx, city=5)

    assert ("weather", "sunny", "thread") == (ret.name, ret.value, ret.strategy)
    assert [{"city": "Bonn"}] == seen, "a default is for each function to say"
    assert "bad_arguments" == refused.status
    assert "the real one" in str(answers(ctx, city="Bonn").exception)


class Fake(tx.Tool):
    """Give something else."""

    name = "something-else"

    def call(self, city: str, days: int) -> str:
        return f"{city} {days}"


@tx.tool(strategy="sequential")
async def afake(city: str, days: int) -> str:
    return f"{city} {days}"


@pytest.mark.parametrize("fake", [Fake, Fake(), afake, lambda city, days: f"{city} {days}"])
def test_every_form_of_a_tool_is_a_fake(fake: Any) -> None:
    ctx = tx.Context([weather])
    with ctx.override(weather=fake):
        ret = answers(ctx, city="Bonn", days=2)

    assert ("weather", "Bonn 2") == (ret.name, ret.value)
    assert ("sequential" if fake is afake else "thread") == ret.strategy


def test_the_real_tool_is_back_after_an_exception_and_inner_fakes_end_first() -> None:
    ctx = tx.Context([other], strategy="sequential")
    with pytest.raises(KeyError), ctx.override(other=lambda: "outer"):
        with pytest.raises(IndexError), ctx.override(other=lambda: "inner"):
            assert "inner" == answers(ctx, "other").value
            raise IndexError
        assert "outer" == answers(ctx, "other").value
        raise KeyError
    assert "real" == answers(ctx, "other").value


def test_a_call_keeps_the_tool_that_it_was_bound_to() -> None:
    ctx = tx.Context([other], strategy="sequential")
    with ctx.override(other=lambda: "fake"):
        (inside,) = ctx.receive([{"name": "other"}])
    (outside,) = ctx.receive([{"name": "other"}])

    assert ("fake", "real") == (inside.call().value, outside.call().value)


def test_a_name_that_a_provider_made_us_give_is_overridden_too() -> None:
    ctx = tx.Context([tx.as_tool(lambda: "real", name="read file")], provider="openai", strategy="sequential")
    declared = ctx.declarations()[0]["function"]["name"]
    call = {"id": "c", "type": "function", "function": {"name": declared, "arguments": "{}"}}
    with ctx.override(**{"read file": lambda: "fake"}):
        ctx.receive({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]})
        assert "fake" == ctx.wait()[0].value


def test_what_the_real_tool_is_injected_the_fake_gets() -> None:
    network = Network()

    @tx.tool
    def fetch(url: str, network: Annotated[Network, tx.Inject]) -> str:
        return "real"

    ctx = tx.Context([fetch], deps={Network: network}, strategy="sequential")
    with ctx.override(fetch=lambda url, network: network):
        assert network is answers(ctx, "fetch", url="x").value


def test_mistakes_name_what_to_write() -> None:
    ctx = tx.Context([weather, other])
    closest = r"no tool named 'wether' to override \(did you mean 'weather'\?\); this Context has: weather, other"
    with pytest.raises(tx.ToolexecError, match=closest), ctx.override(wether=lambda: 1):
        raise AssertionError
    with pytest.raises(tx.DeclarationError, match="'other': 3 is neither callable"), ctx.override(other=3):
        raise AssertionError
    assert "real" == answers(ctx, "other").value
