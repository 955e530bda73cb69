"""What a stream of any SDK has to bear, with its real client against a server on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import toolexec as tx
from provider_formats import WITH_FLAG, WITH_IDS, Call, results
from provider_streams import events
from providers.json_server import JsonServer, Streamed
from providers.sdk_tools import SIX, STATUSES, TOOLS, Stuck, add

# How long a gate is waited for; only so that a hang is a failure with a story.
GATE_S = 20


@tx.tool(strategy="fork")
def die() -> None:
    """Takes its process down."""
    os.kill(os.getpid(), signal.SIGKILL)


@tx.tool(start_early=False)
def later() -> str:
    """Waits for the whole response."""
    return "late"


@dataclass
class SDK:
    """A client, and what its provider sends and takes.

    Attributes:
        provider: Its name.
        ask: Asks the server with the messages and tools given; gives a stream, or what is awaited for one.
        frame: An event as it goes over the wire.
        content_type: Of a stream.
        asked: The user's first message.
        messages: What a request calls its messages.
        runner: Where it is read, by a client that is awaited.
        said: The conversation so far.
    """

    provider: str
    ask: Callable[[list[Any], list[dict[str, Any]]], Any]
    frame: Callable[[dict[str, Any]], bytes]
    content_type: str
    asked: dict[str, Any]
    messages: str
    runner: asyncio.Runner | None = None
    said: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.said.append(self.asked)

    def streamed(self, pieces: Sequence[bytes] | Iterator[bytes], *, breaks: bool = False) -> Streamed:
        return Streamed(pieces, self.content_type, breaks)

    def answer(self, *calls: Call) -> Streamed:
        return self.streamed([self.frame(event) for event in events(self.provider, *calls)])

    def turn(
        self, ctx: tx.Context, each: Callable[[tx.Stream], None] = lambda stream: None, **options: Any
    ) -> list[str]:
        """Ask, read the answer to its end, wait for its calls, keep the turn; give how they ended."""
        if self.runner is None:
            with ctx.stream(self.ask(self.said, ctx.declarations(self.provider)), **options) as stream:
                for _ in stream:
                    each(stream)
                returns = ctx.wait()
        else:
            returns = self.runner.run(self._aturn(ctx, each, options))
        self.said += ctx.turn()
        return [ret.status for ret in returns]

    async def _aturn(
        self, ctx: tx.Context, each: Callable[[tx.Stream], None], options: dict[str, Any]
    ) -> tuple[tx.Return, ...]:
        come = self.ask(self.said, ctx.declarations(self.provider))
        async with ctx.stream(await come if inspect.isawaitable(come) else come, **options) as stream:
            async for _ in stream:
                each(stream)
            return await ctx.run()

    def sent(self, body: dict[str, Any]) -> list[Any]:
        return list(body[self.messages])


Answer = Callable[[SDK], Streamed]


@dataclass
class Served:
    """Makes a server, and a client of it, whose answers are made once the client is there to say how."""

    open: Callable[[str], contextlib.AbstractContextManager[SDK]]
    check: Callable[[dict[str, Any]], None]

    @contextlib.contextmanager
    def __call__(self, *answers: Answer) -> Iterator[tuple[SDK, JsonServer]]:
        made: list[Streamed] = []
        with JsonServer(self.check, (made.pop(0) for _ in answers)) as server, self.open(server.url) as sdk:
            made += [answer(sdk) for answer in answers]
            yield sdk, server


def whole(*calls: Call) -> Answer:
    return lambda sdk: sdk.answer(*calls)


def split(sdk: SDK, known: int, *calls: Call) -> tuple[bytes, list[bytes]]:
    """A stream up to the event that completes the call of that number, and the pieces after it."""
    made = events(sdk.provider, *calls)
    stream = tx.Context().stream(made, start=False)
    at = next(n for n, _ in enumerate(stream, 1) if len(stream.functions) == known)
    frames = [sdk.frame(event) for event in made]
    return b"".join(frames[:at]), frames[at:]


class Left(Exception):
    """The reader has no more interest."""


@dataclass
class Broken:
    """A way in which an answer does not come to its end.

    Attributes:
        comes_out: What the reader gets.
        last: What is sent after the calls that are known, made of the pieces that should come.
        breaks: Whether the connection is cut then.
        left: Whether it is the reader who goes.
    """

    comes_out: type[BaseException] | tuple[type[BaseException], ...]
    last: Callable[[list[bytes]], bytes] = lambda rest: b""
    breaks: bool = False
    left: bool = False


# The checks


def check_a_whole_loop(served: Served) -> None:
    """Two turns of parallel calls that end in every way, under ids that the API would not take again."""
    six = [Call(name, json.loads(text), f"c{n}") for n, (name, text) in enumerate(SIX)]
    ids = ["a", "a", "", None]
    again = [Call("add", {"x": n}, call_id) for n, call_id in enumerate(ids, 1)]

    def unwanted(stream: tx.Stream) -> None:
        for function in stream.functions:
            if function.name == "give" and function.pending:
                function.cancel("not wanted")

    stuck = Stuck()
    ctx = tx.Context([*TOOLS, stuck.tool(), die], strategy="thread")
    with served(whole(*six), whole(*again, Call("die", {}, "d")), whole()) as (sdk, server):
        try:
            statuses = [sdk.turn(ctx, unwanted, start=lambda fn: fn.name != "give") for _ in range(3)]
        finally:
            stuck.let_go.set()

    assert [] == server.faults
    assert [STATUSES, [*["ok"] * 4, "lost"], []] == statuses, statuses
    assert "Let me see." in str(ctx.history()[-1])
    first, second, third = (sdk.sent(body) for body in server.bodies)
    assert first == second[:1]
    assert second == third[: len(second)]
    told = [results(sdk.provider, answers(sdk, sent)) for sent in (second, third[len(second) :])]
    assert "3" == told[0][0].text
    assert "not wanted" in told[0][4].text
    assert ["2", "3", "4", "5"] == [result.text for result in told[1][:4]]
    if sdk.provider in WITH_FLAG:
        assert [[False, *[True] * 5], [*[False] * 4, True]] == [[it.failed for it in turn] for turn in told]
    if sdk.provider in WITH_IDS:
        assert [6, 5] == [len({result.id for result in turn}) for turn in told]


def check_a_call_runs_while_the_server_still_sends(served: Served) -> None:
    """The rest is sent only once the first call has run."""
    gate = threading.Event()

    @tx.tool
    async def begin() -> str:
        """Let the server go on."""
        gate.set()
        return "begun"

    def gated(sdk: SDK) -> Streamed:
        head, rest = split(sdk, 1, Call("begin", {}, "c1"), Call("add", {"x": 1}, "c2"))
        waits = (piece for piece in rest if gate.wait(GATE_S))
        return sdk.streamed(itertools.chain([head], waits))

    with served(gated, whole()) as (sdk, server):
        ctx = tx.Context([begin, add])
        assert [["ok", "ok"], []] == [sdk.turn(ctx), sdk.turn(ctx)]

    assert [] == server.faults
    assert ["begun", "2"] == [result.text for result in results(sdk.provider, answers(sdk, sdk.said))]


def check_a_broken_answer(served: Served, broken: Broken) -> None:
    """Its calls are interrupted, nothing of it is sent, and the conversation goes on."""
    running, stopped = threading.Event(), threading.Event()

    @tx.tool
    async def hold() -> None:
        """Does not end by itself."""
        try:
            running.set()
            await asyncio.sleep(GATE_S)
        except asyncio.CancelledError:
            stopped.set()
            raise

    def cut(sdk: SDK) -> Streamed:
        head, rest = split(sdk, 2, Call("hold", {}, "c1"), Call("later", {}, "c2"), Call("add", {"x": 1}, "c3"))
        last = broken.last(rest)

        def pieces() -> Iterator[bytes]:
            yield head
            if running.wait(GATE_S) and last:  # an empty chunk would be the end
                yield last

        return sdk.streamed(pieces(), breaks=broken.breaks)

    def leave(stream: tx.Stream) -> None:
        if broken.left and len(stream.functions) == 2:
            assert running.wait(GATE_S)
            raise Left

    with served(cut, whole(Call("add", {"x": 1}, "c1")), whole()) as (sdk, server):
        ctx = tx.Context([hold, later, add], strategy="thread")
        with pytest.raises(broken.comes_out):
            sdk.turn(ctx, leave)
        assert ["cancelled"] * 2 == [ret.status for ret in ctx.wait()]
        assert stopped.wait(GATE_S)
        assert [] == ctx.turn() == ctx.messages()
        assert [["ok"], []] == [sdk.turn(ctx), sdk.turn(ctx)]

    assert [] == server.faults
    first, second, third = (sdk.sent(body) for body in server.bodies)
    assert first == second
    assert ["2"] == [result.text for result in results(sdk.provider, answers(sdk, third))]


def half(rest: list[bytes]) -> bytes:
    return rest[0][: len(rest[0]) // 2]


def answers(sdk: SDK, sent: list[Any]) -> list[Any]:
    """The messages that hold results."""
    if sdk.provider == "ollama":
        return [message for message in sent if message["role"] == "tool"]
    key, holds = ("parts", "functionResponse") if sdk.provider == "google" else ("content", "toolResult")
    return [message for message in sent if any(holds in part for part in message[key])]
