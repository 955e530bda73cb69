"""The ways in which SDKs stream a response, one like another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anthropic
import openai

import toolexec as tx
from provider_streams import body
from providers import strict_anthropic, strict_openai, strict_responses
from providers.json_server import JsonServer, Streamed

ASKED: dict[str, Any] = {"role": "user", "content": "Do it."}

_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "openai": strict_openai.check_request,
    "openai-responses": strict_responses.check_request,
    "anthropic": strict_anthropic.check_request,
}
# What a request has to say beside the conversation and the tools.
_MORE: dict[str, dict[str, Any]] = {"anthropic": {"max_tokens": 100}}


class Way(NamedTuple):
    """How a response is streamed.

    Attributes:
        provider: Whose.
        helper: Whether by the SDK's ``stream()``, or else by its ``create(stream=True)``.
        is_async: Whether with the client for async code.
    """

    provider: str
    helper: bool
    is_async: bool

    def __str__(self) -> str:
        return f"{self.provider}-{'stream' if self.helper else 'create'}{'-async' if self.is_async else ''}"

    @property
    def conversation(self) -> str:
        """Under which key a request has it."""
        return "input" if self.provider == "openai-responses" else "messages"

    def server(self, *answers: list[dict[str, Any]] | Streamed | Iterator[bytes]) -> JsonServer:
        """One that answers each request with the next of these: the events of a body, or its pieces."""
        return JsonServer(_CHECKS[self.provider], [self._streamed(n, answer) for n, answer in enumerate(answers)])

    def _streamed(self, number: int, answer: list[dict[str, Any]] | Streamed | Iterator[bytes]) -> Streamed:
        if isinstance(answer, list):
            answer = iter([body(self.provider, answer)])
        if not isinstance(answer, Streamed):
            answer = Streamed(answer)
        return answer._replace(pieces=(_renumbered(piece, number) for piece in answer.pieces))

    def client(self, url: str) -> Any:
        if self.provider == "anthropic":
            made = anthropic.AsyncAnthropic if self.is_async else anthropic.Anthropic
            return made(base_url=url, api_key="x", max_retries=0)
        client = openai.AsyncOpenAI if self.is_async else openai.OpenAI
        return client(base_url=f"{url}/v1", api_key="x", max_retries=0)

    def request(self, client: Any, ctx: tx.Context, conversation: list[Any], *, strict: bool = False) -> Any:
        """What the SDK gives: a stream, something awaitable, or a context manager."""
        resource = {
            "openai": lambda: client.chat.completions,
            "openai-responses": lambda: client.responses,
            "anthropic": lambda: client.messages,
        }[self.provider]()
        tools = ctx.declarations(self.provider, strict=strict)
        options = {"model": "m", self.conversation: conversation, "tools": tools, **_MORE.get(self.provider, {})}
        return resource.stream(**options) if self.helper else resource.create(**options, stream=True)


WAYS = [
    Way(provider, helper, is_async)
    for provider in ("openai", "openai-responses", "anthropic")
    for helper in (False, True)
    for is_async in (False, True)
]


@dataclass
class Talk:
    """A conversation that is streamed, for whichever kind of client.

    Attributes:
        way: How.
        ctx: Its calls.
        conversation: What was said so far.
        strict: As for ``ctx.declarations``.
        start: As for ``ctx.stream``.
        each: Is told every event.
        whole: Is told of the calls once the response has ended, before what did not start early starts.
    """

    way: Way
    ctx: tx.Context
    conversation: list[Any] = field(default_factory=lambda: [ASKED])
    strict: bool = False
    start: Callable[[tx.Function], bool] | bool = True
    each: Callable[[Any], object] = lambda event: None
    whole: Callable[[tx.Functions], object] = lambda functions: None

    def run(self, url: str) -> list[list[str]]:
        """Go on until the model asks for nothing more; give each response's statuses."""
        if self.way.is_async:
            return asyncio.run(self.arun(url))
        statuses: list[list[str]] = []
        with self.way.client(url) as client:
            while not statuses or statuses[-1]:
                statuses.append([ret.status for ret in self._turn(client)])
        return statuses

    async def arun(self, url: str) -> list[list[str]]:
        statuses: list[list[str]] = []
        async with self.way.client(url) as client:
            while not statuses or statuses[-1]:
                statuses.append([ret.status for ret in await self._aturn(client)])
        return statuses

    def _turn(self, client: Any) -> tuple[tx.Return, ...]:
        with (
            self.way.request(client, self.ctx, self.conversation, strict=self.strict) as source,
            self.ctx.stream(source, start=self.start) as stream,
        ):
            for event in stream:
                self.each(event)
            self.whole(stream.functions)
            returns = self.ctx.wait()
        self.conversation += self.ctx.turn()
        return returns

    async def _aturn(self, client: Any) -> tuple[tx.Return, ...]:
        request = self.way.request(client, self.ctx, self.conversation, strict=self.strict)
        async with (
            request if self.way.helper else await request as source,
            self.ctx.stream(source, start=self.start) as stream,
        ):
            async for event in stream:
                self.each(event)
            self.whole(stream.functions)
            returns = await self.ctx.run()
        self.conversation += self.ctx.turn()
        return returns


def held(provider: str, made: list[dict[str, Any]], wait: Callable[[], object]) -> Iterator[bytes]:
    """A body that waits with its end until something has happened."""
    whole = body(provider, made)
    end = body(provider, made[-2:])  # with the last call's own end, or what comes behind it
    yield whole[: -len(end)]
    wait()
    yield end


def _renumbered(piece: bytes, number: int) -> bytes:
    """With ids of items that no other response has."""
    for kind in (b"rs", b"fc", b"msg"):
        piece = piece.replace(b'"%b_' % kind, b'"%b_%d' % (kind, number))
    return piece
