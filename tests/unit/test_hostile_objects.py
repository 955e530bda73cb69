"""Whatever the code of an exception, a value or a tracer does, the call gets its Return, and it renders."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

import toolexec as tx


class Unreadable(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class WrongNotes(Exception):
    def __init__(self) -> None:
        super().__init__("with notes")
        self.__notes__: Any = 5


class Unlisted(dict[str, int]):
    def items(self) -> Any:
        raise SystemExit


class Text(str):
    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        raise ValueError(encoding, errors)


@tx.tool
def unreadable() -> None:
    raise Unreadable("x")


@tx.tool
def wrong_notes() -> None:
    raise WrongNotes


STRATEGIES = ["sequential", "thread", "asyncio", "trio", "fork"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("tool", [unreadable, wrong_notes], ids=lambda tool: tool.name)
def test_an_exception_that_resists_is_raised_all_the_same(tool: tx.Function, strategy: str) -> None:
    ret = tool.bind().task(strategy).wait(timeout=20)

    assert ("raised", True) == (ret.status, bool(ret.value["message"]))
    assert json.loads(tx.render(ret))["error"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_tracer_that_raises_what_nobody_catches_costs_no_call(strategy: str) -> None:
    class Bad(tx.Tracer):
        def on_tool_finish(self, function: tx.Function, ret: tx.Return) -> None:
            raise asyncio.CancelledError

    @tx.tool
    def fine() -> int:
        return 1

    ctx = tx.Context([fine], tracer=Bad())
    ctx.receive([{"name": "fine"}, {"name": "fine"}])

    assert [1, 1] == [ret.value for ret in ctx.wait(strategy, timeout=20)]


@pytest.mark.parametrize("value", [Unlisted(a=1), Text("é")], ids=lambda value: type(value).__qualname__)
def test_a_value_that_resists_is_rendered_all_the_same(value: Any) -> None:
    ret = tx.Return(id=None, name="t", value=value)

    assert tx.render(ret).strip()
    assert json.loads(ret.to_json())["name"] == "t"


def test_what_no_request_body_can_hold_is_replaced_alike_in_call_and_result() -> None:
    ctx = tx.Context()
    ctx.receive([{"id": "\ud801", "name": "\ud800", "arguments": "\ud802"}])
    ctx.wait("sequential")
    call, result = ctx.turn()

    json.dumps([call, result], ensure_ascii=False).encode()
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]


def test_fork_works_in_a_program_without_stderr() -> None:
    """Its first socket has the number 2 then."""
    script = (
        "import toolexec as tx\n@tx.tool\ndef one() -> int:\n    print('noise')\n    return 1\n"
        "assert tx.run(one, {}, 'fork').value == 1\nprint('done')"
    )
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        timeout=50,
        check=False,
    )

    assert (0, "done\n") == (done.returncode, done.stdout)
