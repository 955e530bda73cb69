"""A web service whose model calls tools; one endpoint answers in one piece, one streams, and clients may leave.

    OPENAI_API_KEY=... python examples/web_service.py
    curl -N 127.0.0.1:8000/chat/stream -d '{"conversation": "c1", "messages": [{"role": "user", "content": "Hi"}]}'

A client that leaves interrupts the calls of its request, and cancels nobody: so each call has its answer, within the
grace, and the conversation goes on with the next request.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import openai
import uvicorn
from openai.types.chat import ChatCompletionChunk
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import toolexec as tx
from web_tools import tools

# What is asked for an answer: messages and declarations of tools in, the pieces of one response out.
Model = Callable[[list[Any], list[Any]], AsyncGenerator[ChatCompletionChunk]]
Tell = Callable[[dict[str, Any]], Awaitable[None]]

GRACE_S = 5.0  # what a call has to stop, once its client has left
LEFT = "the client disconnected"
log = logging.getLogger("web_service")


class Conversation:
    """What was said; one request at a time adds to it, and only whole turns."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.lock = asyncio.Lock()


class ChatService:
    """The endpoints, and what they share: the model, the conversations, the strategies, the tools."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._conversations: defaultdict[str, Conversation] = defaultdict(Conversation)  # a database, elsewhere

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncGenerator[None]:
        """Make the strategies, and close them: no call, thread or process outlives the service."""
        async with (
            tx.strategy("thread", grace=GRACE_S) as threads,
            tx.strategy("asyncio", grace=GRACE_S) as loop,
            tx.strategy("fork", grace=GRACE_S) as self._forks,
        ):
            self._tools = tools(threads, loop)
            yield

    async def chat(self, request: Request) -> Response:
        """Answer in one piece."""
        conversation, sent, ctx = await self._begin(request)

        async def tell(_event: dict[str, Any]) -> None:
            """Nobody reads meanwhile."""

        async with ctx.interrupt_when(left(request.receive), LEFT):
            answer = await self._converse(conversation, sent, ctx, tell)
        return JSONResponse(answer)

    async def chat_stream(self, request: Request) -> ASGIApp:
        """Answer by server-sent events: text, what the calls do, and in the end what ``chat`` answers."""
        conversation, sent, ctx = await self._begin(request)

        # No StreamingResponse: some servers have it cancel what it streams, others tell it only when it sends.
        async def respond(_scope: Scope, receive: Receive, send: Send) -> None:
            async def write(data: str, *, more: bool = True) -> None:
                if not ctx.interrupted:
                    try:
                        await send({"type": "http.response.body", "body": data.encode(), "more_body": more})
                    except OSError:  # what servers of ASGI 2.4 raise when nobody is there any more
                        ctx.interrupt(LEFT)

            async def tell(event: dict[str, Any]) -> None:
                await write(f"data: {json.dumps(event)}\n\n")

            headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with ctx.interrupt_when(left(receive), LEFT):
                answer = await self._converse(conversation, sent, ctx, tell)
            await tell({"type": "answer", **answer})
            await write("", more=False)

        return respond

    async def _begin(self, request: Request) -> tuple[Conversation, list[Any], tx.Context]:
        """Read the request, and make the Context that serves it alone."""
        ctx = tx.Context(self._tools, strategy=self._forks, provider="openai")
        try:
            body = await request.json()
            # What a client sends may be anything; repaired, it does at least not spoil the conversation.
            name, sent = str(body["conversation"]), ctx.repair(body["messages"])
        except (ValueError, TypeError, KeyError) as exc:
            raise HTTPException(400, f"{type(exc).__name__}: {exc}") from exc
        log.info("%s in conversation %s", request.url.path, name)
        return self._conversations[name], sent, ctx

    async def _converse(
        self, conversation: Conversation, sent: list[Any], ctx: tx.Context, tell: Tell
    ) -> dict[str, Any]:
        """Ask the model and run its calls, until it has answered or the client has left; keep what was said."""
        async with conversation.lock:  # who comes back at once waits until the calls from before have ended
            before = [*conversation.messages, *sent]
            text = ""
            try:
                while not ctx.interrupted:
                    text = await self._ask([*before, *ctx.history()], ctx, tell)
                    if not await self._run_calls(ctx, tell):
                        break
            finally:  # also when the model's API fails, or the server gives up on us
                conversation.messages = [*before, *ctx.history()]
            return {"text": text, "messages": conversation.messages}

    async def _ask(self, messages: list[Any], ctx: tx.Context, tell: Tell) -> str:
        text = ""
        async with aclosing(self._model(messages, ctx.declarations())) as chunks, ctx.stream(chunks) as response:
            async for chunk in response:
                # Calls start while it still streams in, and shall stand in the conversation if they did.
                if ctx.interrupted and not response.functions:
                    break
                if chunk.choices and (delta := chunk.choices[0].delta.content):
                    text += delta
                    await tell({"type": "text", "delta": delta})
        return text

    async def _run_calls(self, ctx: tx.Context, tell: Tell) -> bool:
        """Whether there were any."""
        async with ctx.group() as group:
            async for event in group.events():
                told = described(event)
                log.info("%s", json.dumps(told))
                await tell(told)
        return len(group) > 0


async def left(receive: Receive) -> None:
    """Wait until the client has left; ``is_disconnected()`` does not wait, and behind ``Timed`` it is always False."""
    while (await receive())["type"] != "http.disconnect":
        pass
    log.info("a client has left")


def described(event: tx.Event) -> dict[str, Any]:
    """What the client is told of a call."""
    assert event.task is not None
    call = {"type": type(event).__name__.lower(), "id": event.task.function.id, "tool": event.task.function.name}
    match event:
        case tx.Progress(done, total, message):
            return {**call, "done": done, "total": total, "message": message}
        case tx.Settled(_, ret):
            return {**call, "status": ret.status, "abandoned": ret.abandoned}
        case _:
            return call


class Timed(BaseHTTPMiddleware):
    """Log how long requests take; stands for all that wraps a request in this way."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        began = time.monotonic()
        response = await call_next(request)
        log.info("%s began to answer after %.3f s", request.url.path, time.monotonic() - began)
        return response


def create_app(model: Model, middleware: Sequence[Middleware] = ()) -> Starlette:
    service = ChatService(model)
    routes = [
        Route("/chat", service.chat, methods=["POST"]),
        Route("/chat/stream", service.chat_stream, methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=middleware, lifespan=service.lifespan)


async def gpt(messages: list[Any], tools: list[Any]) -> AsyncGenerator[ChatCompletionChunk]:
    model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
    async with (
        openai.AsyncOpenAI() as client,
        await client.chat.completions.create(model=model, messages=messages, tools=tools, stream=True) as chunks,
    ):
        async for chunk in chunks:
            yield chunk


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    # Without that limit, a stop of the server waits for as long as a client stays.
    uvicorn.run(create_app(gpt, [Middleware(Timed)]), timeout_graceful_shutdown=10)
