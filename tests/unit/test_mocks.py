"""Mocks in place of tools and supervisors: they answer to every name, and mean nothing by it."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest

import toolexec as tx


@tx.tool
def pay(amount: int) -> str:
    raise AssertionError("the real one")


class Read(tx.Tool):
    """Read a file."""

    name = "Read"

    def call(self, path: str) -> str:
        raise AssertionError("the real one")


def answer(ctx: tx.Context, name: str = "pay", **arguments: Any) -> tx.Return:
    return ctx.submit({"name": name, "arguments": arguments or {"amount": 5}}).wait(10)


@pytest.mark.parametrize("kind", [Mock, MagicMock, AsyncMock])
def test_a_mock_in_place_of_a_tool_is_called_itself(kind: Any) -> None:
    fake = kind(return_value="paid")
    ctx = tx.Context([pay])
    with ctx.override(pay=fake):
        ret = answer(ctx)

    assert ("ok", "paid") == (ret.status, ret.value)
    fake.assert_called_once_with(amount=5)


def test_a_mock_of_a_tool_class_and_one_with_a_call_of_its_own_are_tools() -> None:
    of_class = Mock(spec=Read)
    of_class.call.return_value = "text"
    own = Mock(call=Mock(return_value="own"))
    ctx = tx.Context([Read])
    for fake, value in ((of_class, "text"), (own, "own")):
        with ctx.override(Read=fake):
            assert value == answer(ctx, "Read", path="a").value
        fake.call.assert_called_once_with(path="a")
        fake.assert_not_called()


def test_a_mock_is_a_function_to_make_a_tool_of_and_none_by_itself() -> None:
    fake = Mock(return_value=3)
    made = tx.as_tool(fake, name="made")

    assert 3 == made.bind({}).task().wait(10).value
    assert made.skill is False
    with pytest.raises(tx.DeclarationError, match=r"make one of it with tx\.as_tool"):
        tx.Context([fake])


def test_a_mock_as_the_body_of_a_function_may_have_a_hook() -> None:
    function = tx.Function("pay")
    fake = Mock(return_value=3)
    function.define(fake)
    function.on_interrupt(lambda: None)

    assert 3 == function.bind({}).task().wait(10).value


def test_a_mock_as_an_intercept_has_the_options_and_the_after_that_were_set() -> None:
    look = Mock()
    look.call.return_value = None
    rewrite = Mock(after=Mock(return_value=None), options={"limit": 1})
    rewrite.call.return_value = None
    for intercept in (look, rewrite):
        ctx = tx.Context([tx.as_tool(lambda amount: amount, name="pay")], intercept=intercept)
        assert "ok" == answer(ctx).status

    assert ["function"] == list(look.call.call_args.kwargs)
    assert ["function", "limit"] == sorted(rewrite.call.call_args.kwargs)
    rewrite.after.assert_called_once()
