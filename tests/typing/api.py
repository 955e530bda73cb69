"""A user's code that must type-check, under mypy and pyright in strict mode; it is never run."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, ClassVar, Protocol, assert_type

import toolexec as tx
from toolexec.lowlevel import Job, Outcome
from toolexec.testing import ScriptedItem, ScriptedModel


@tx.tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@tx.tool(name="fetch", strategy="asyncio", max_in_flight=3)
async def fetch(url: str, *, timeout_s: float = 1.0) -> bytes:
    """Fetch."""
    return url.encode()


@tx.tool(exclusive=True, resource="db", loop="trio")
def parts(n: int) -> Iterator[int]:
    """Count."""
    yield from range(n)


class Files:
    """Tools that belong to an object."""

    @tx.tool
    def read(self, path: str) -> str:
        """Read."""
        return path


class ReadFile(tx.Tool):
    """The class form."""

    name = "read-file"
    description = "Read a file"
    strategy = "thread"

    def call(self, path: Annotated[str, "The path"]) -> dict[str, str]:
        """Read."""
        return {"contents": path}

    def on_cancel(self) -> None:
        """Stop."""


class Shout(tx.Tracer):
    """A tracer."""

    def on_tool_start(self, function: tx.Function) -> None:
        assert_type(function.name, str)

    def on_tool_error(self, function: tx.Function, ret: tx.Return) -> None:
        assert_type(ret.exception, BaseException | None)


class Inline(tx.Strategy):
    """The smallest strategy."""

    name = "inline"

    def start(self, job: Job) -> None:
        outcome = job.body() if job.begin() else job.stopped()
        assert isinstance(outcome, Outcome)
        job.deliver(outcome)


async def plain_calls() -> None:
    """A decorated function is still the function."""
    assert_type(add(1, b=2), int)
    assert_type(await fetch("x", timeout_s=2), bytes)
    assert_type(parts(3), Iterator[int])
    add("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a wrong call is an error


class Audit(tx.Intercept):
    """What supervises calls, with options of its own."""

    options: ClassVar = {"forbidden": {"rm"}}

    @classmethod
    async def call(cls, *, function: tx.Function, forbidden: set[str]) -> tx.Return | None:
        """Deny some."""
        return function.deny("this tool is switched off") if function.name in forbidden else None

    @classmethod
    def after(cls, *, function: tx.Function, ret: tx.Return, forbidden: set[str]) -> tx.Return | None:
        """Leave it."""
        return None


class Search(tx.Tool):
    """Parameters that are declared beside the signature."""

    name = "search"
    description = "Look things up"
    json = tx.Json(ignore_unknown=True)
    parameters = (
        tx.parameter("query", str, "What to look for"),
        tx.parameter("engine", enum=["web", "docs"], default="docs"),
    )

    def call(self, query: str, engine: str, call: tx.CurrentCall, db: Annotated[Files, tx.Inject]) -> list[str]:
        """Look up."""
        assert_type(call.id, str | None)
        return [query, engine]


def declared() -> None:
    """Parameters one by one, by a schema, by a function."""
    fn = tx.Function("run", "Runs", json=tx.Json(coerce=False))

    @fn.define
    @fn.param("command", str, "The command line")
    @fn.param("seconds", lambda: int, default=3)
    def run(command: str, seconds: int) -> int:
        return len(command) + seconds

    assert_type(run("x", 1), int)
    fn.params({"command": str})
    assert_type(fn.params["properties"], Any)
    assert_type(fn.adapt("openai"), dict[str, Any])
    handle = tx.ToolFunction("t", "d", run).add_parameters("a", "string", "text", enum=["x"], default="x")
    assert_type(handle, tx.ToolFunction)
    answer = handle.eval({"name": "t"})
    if answer:
        assert_type(answer, tuple[str, str])
    ctx = tx.Context(tools=[Search, fn, handle], deps={Files: Files()})
    assert_type(ctx.declarations(tx.OpenAI(strict=True)), list[dict[str, Any]])
    assert_type(tx.Context.restore(ctx.dump(), [Search], provider="openai"), tx.Context)


class Store:
    """Methods, with and without a mark."""

    def get(self, key: str, *, fresh: bool = False) -> bytes:
        """Get."""
        return key.encode()

    async def aget(self, key: str) -> bytes:
        """Get."""
        return key.encode()

    @classmethod
    def kind(cls, n: int) -> str:
        """Tell."""
        return cls.__name__ * n

    @tx.tool
    @staticmethod
    def still(n: int) -> int:
        """Give back."""
        return n

    @tx.tool(name="of-the-class", timeout=3)
    @classmethod
    def of_the_class(cls, n: int) -> int:
        """Give back."""
        return n


class Finder(Protocol):
    """An interface whose methods are tools."""

    @tx.tool
    def find(self, key: str) -> str:
        """Find."""
        ...


class Index(Finder):
    """Needs no mark of its own."""

    # pyright sees an attribute there; mypy does not mind
    def find(self, key: str) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  # it works at run time
        """Find."""
        return key


async def tools_of_functions() -> None:
    """A function made a tool is still the function, without what was filled in."""
    store = Store()
    assert_type(tx.as_tool(plain)(1, b="x"), float)
    assert_type(await tx.as_tool(aplain, name="other")(1), bytes)
    assert_type(tx.as_tool(store.get)("a", fresh=True), bytes)
    assert_type(tx.as_tool(Store.get, this=store)("a", fresh=True), bytes)
    assert_type(await tx.as_tool(Store.aget, this=store, description="Get.")("a"), bytes)
    assert_type(tx.as_tool(Store.kind)(2), str)
    assert_type(tx.as_tool(functools.partial(plain, b="x"), json=tx.Json(coerce=False))(1), float)
    assert_type(tx.as_tool(add)(1), int)
    assert_type(tx.as_tools(Index(), interface=Finder), list[tx.Function])
    assert_type(tx.as_tools(store), list[tx.Function])
    tx.as_tool(plain)("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a wrong call is an error
    tx.as_tool(3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]  # as it is here


def by_hand() -> None:
    """One call at a time."""
    ret = tx.run(add, {"a": 1}, "fork")
    assert_type(ret, tx.Return)
    task = add.bind({"a": 1}, id="c1").task("thread")
    assert_type(task.wait(timeout=1.0), tx.Return)
    assert_type(task.value(), tx.Return)
    function = tx.Function("run", "Runs", max_in_flight=1)

    @function.define
    def run(command: str) -> int:
        return len(command)

    assert_type(run("x"), int)
    made = tx.factory(ReadFile, tool=ReadFile)
    assert_type(made, tx.Function)


def in_a_context() -> None:
    """Many calls, waited for."""
    with tx.strategy("thread", window=3, grace=1.0) as strategy:
        ctx = tx.Context(tools=[add, fetch, ReadFile, ReadFile(), Files().read], strategy=strategy, tracer=Shout())
        functions = ctx.receive([{"name": "add", "arguments": {"a": 1}}])
        assert_type(functions[0], tx.Function)
        assert_type(functions[1:], tx.Functions)
        assert_type(functions - functions[1:], tx.Functions)
        assert_type(functions.except_(functions[0]).wait("fork", window=2), tuple[tx.Return, ...])
        group = ctx.group("auto")
        for ret in group:
            assert_type(ret, tx.Return)
        assert_type(group.returns, tuple[tx.Return | None, ...])
        with ctx.group() as inner:
            assert_type(inner.tasks, tuple[tx.Task, ...])


async def in_a_loop() -> None:
    """Many calls, awaited."""
    ctx = tx.Context(tools=[add])
    assert_type(await ctx.run(), tuple[tx.Return, ...])
    async with ctx.group(window=2) as group:
        async for ret in group:
            assert_type(ret, tx.Return)
    assert_type(await group, tuple[tx.Return, ...])
    assert_type(await group.settled(timeout=1), tuple[tx.Return, ...])
    assert_type(await group.tasks[0], tx.Return)
    assert_type(await tx.arun(add, '{"a": 1}'), tx.Return)

    def heard(progress: tx.Progress) -> None:
        assert_type(progress.done, float)

    ctx.submit({"name": "add", "arguments": {}}, on_progress=heard)


async def numbers() -> AsyncIterator[int]:
    """An async generator is a tool too."""
    yield 1


counted = tx.tool(numbers)


def plain(a: int, *, b: str = "") -> float:
    """A function that knows nothing of tools."""
    return a + len(b)


async def aplain(a: int) -> bytes:
    """The same, async."""
    return bytes(a)


@tx.wrap(strategy="fork", timeout=5)
def guarded(a: int) -> str:
    """Run in a process of its own."""
    return str(a)


@tx.wrap(as_async=False)
async def blocking(a: int) -> str:
    """Wait for it without a loop."""
    return str(a)


@tx.wrap(as_async=True)
def awaited(a: int) -> str:
    """Await what blocks."""
    return str(a)


class Lookup:
    """A wrapped method."""

    @tx.wrap
    def find(self, key: str) -> int:
        """Find."""
        return len(key)


async def wrapped() -> None:
    """A wrapped function has the types of the plain one, but for whether it is awaited."""
    assert_type(tx.wrap(plain)(1, b="x"), float)
    assert_type(await tx.wrap(aplain, strategy="asyncio")(1), bytes)
    assert_type(await tx.wrap(plain, as_async=True)(1), float)
    assert_type(await tx.wrap(aplain, as_async=True)(1), bytes)
    assert_type(tx.wrap(aplain, as_async=False)(1), bytes)
    assert_type(tx.wrap(plain, as_async=False)(1), float)
    assert_type(tx.wrap(add, timeout=2)(1, b=2), int)
    assert_type(guarded(1), str)
    assert_type(blocking(1), str)
    assert_type(await awaited(1), str)
    assert_type(Lookup().find("x"), int)
    guarded("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # a wrong call is an error


def scripted() -> None:
    model = ScriptedModel(["Well.", [("add", {"a": 1})], ([("add", {"a": 1}, "id"), ("add", {})], "Both.")], "google")
    items: list[ScriptedItem] = [[("add", {"a": 1}), ("add", {"b": "x"}, None)], "done"]
    assert_type(ScriptedModel(items).requests, list[list[Any]])
    assert_type(model.stream([{"role": "user", "content": "Hi."}], size=3, tools=[]), list[dict[str, Any]])
