"""Parameters that the engine fills: never in the schema, never a model's, passed the way their kind needs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NewType, Protocol

import pytest

import toolexec as tx


class Database:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, what: str) -> str:
        self.asked.append(what)
        return f"answer to {what}"


@tx.tool
def everything(
    call: tx.CurrentCall, /, q: str, *, ctx: tx.Context, tracer: tx.Tracer, db: Annotated[Database, tx.Inject]
) -> dict[str, Any]:
    """Uses all of them."""
    return {"id": call.id, "answer": db.ask(q), "ctx": id(ctx), "tracer": type(tracer).__name__}


def test_G4_what_is_injected_is_not_in_the_schema_and_comes_by_its_kind() -> None:
    db = Database()
    ctx = tx.Context(tools=[everything], deps={Database: db})
    (ret,) = ctx.receive([{"id": "c1", "name": "everything", "arguments": '{"q": "x"}'}]).call()

    assert ["q"] == list(everything.params["properties"])
    assert {"id": "c1", "answer": "answer to x", "ctx": id(ctx), "tracer": "Tracer"} == ret.unwrap()
    assert ["x"] == db.asked


@tx.tool
async def aeverything(
    call: tx.CurrentCall, /, q: str, *, ctx: tx.Context, tracer: tx.Tracer, db: Annotated[Database, tx.Inject]
) -> dict[str, Any]:
    """The same, async."""
    return {"id": call.id, "answer": db.ask(q), "ctx": id(ctx), "tracer": type(tracer).__name__}


class Log(tx.Tracer):
    pass


@pytest.mark.parametrize("tool", [everything, aeverything], ids=["sync", "async"])
@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio"])
def test_all_of_them_are_there_in_this_process(strategy: str, tool: Any) -> None:
    db = Database()
    ctx = tx.Context(tools=[tool], deps={Database: db}, tracer=Log())
    ctx.receive([{"id": f"c{n}", "name": tool.name, "arguments": {"q": str(n)}} for n in range(2)])

    assert [{"id": f"c{n}", "answer": f"answer to {n}", "ctx": id(ctx), "tracer": "Log"} for n in range(2)] == [
        ret.unwrap() for ret in ctx.wait(strategy)
    ]
    assert ["0", "1"] == sorted(db.asked)


@pytest.mark.parametrize("name", ["call", "ctx", "db"])
def test_a_model_cannot_send_what_is_injected(name: str) -> None:
    ctx = tx.Context(tools=[everything], deps={Database: Database()})
    (ret,) = ctx.receive([{"name": "everything", "arguments": {"q": "x", name: 1}}]).call()

    assert "bad_arguments" == ret.status
    assert f"{name}: not a parameter" in ret.value["message"]


def test_not_even_through_an_open_end() -> None:
    @tx.tool
    def tool(call: tx.CurrentCall, **more: Any) -> Any:
        return call.name, more

    ctx = tx.Context(tools=[tool])
    forged, fine = ctx.receive(
        [{"name": "tool", "arguments": {"call": 1}}, {"name": "tool", "arguments": {"x": 1}}]
    ).call()

    assert "bad_arguments" == forged.status
    assert ("tool", {"x": 1}) == fine.value


def test_a_call_that_has_nothing_to_fill_it_from_is_refused_before_it_starts() -> None:
    with pytest.raises(tx.ToolexecError, match=r"'everything': parameter 'ctx' is filled from a Context"):
        tx.run(everything, {"q": "x"})


def test_a_context_without_what_a_tool_needs_does_not_take_it() -> None:
    """Taken, its first call would keep all others of the response from their Returns."""
    with pytest.raises(tx.ToolexecError, match=r"parameter 'db' is filled from Context\(deps=\{Database: ...\}\)"):
        tx.Context(tools=[everything])


def test_one_with_a_default_is_then_left_to_it() -> None:
    @tx.tool
    def tool(ctx: tx.Context | None = None, call: tx.CurrentCall | None = None) -> tuple[bool, bool]:
        return ctx is None, call is None

    assert (True, False) == tx.run(tool).value


def test_deps_have_to_be_a_mapping() -> None:
    with pytest.raises(tx.DeclarationError, match="deps is"):
        tx.Context(deps=[Database()])  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("strategy", ["sequential", "thread", "asyncio", "trio"])
def test_the_current_call_is_the_one_that_runs(strategy: str) -> None:
    @tx.tool
    def tool(call: tx.CurrentCall) -> bool:
        return call == tx.current_call()

    assert tx.run(tool, {}, strategy).value is True


Price = NewType("Price", int)


class Made:
    """What a function makes."""


def make_one() -> Made:
    return Made()


def test_a_function_in_place_of_an_instance_is_refused_naming_the_factory() -> None:
    with pytest.raises(tx.DeclarationError, match=r"write  Made: tx\.factory\(make_one\)"):
        tx.Context([], deps={Made: make_one})


def test_a_function_that_may_be_what_is_asked_for_is_taken() -> None:
    class Maker(Protocol):
        def __call__(self) -> Made: ...

    for kind in (Maker, Callable, Callable[[], Made], Price, Any, object, types.FunctionType):
        tx.Context([], deps={kind: make_one})


def _generating() -> Iterator[Made]:
    yield Made()


@pytest.mark.parametrize(
    ("make", "words"),
    [(_generating, "generator"), (contextmanager(_generating), "generator"), (Made(), "as it is")],
)
def test_what_makes_no_instance_is_no_factory(make: Any, words: str) -> None:
    with pytest.raises(tx.DeclarationError, match=words):
        tx.factory(make)
