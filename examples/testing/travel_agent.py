"""The loop of the agent; whom it asks is given, so that a test can give somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import toolexec as tx


def answer(ask: Callable[..., Any], ctx: tx.Context, question: str) -> str:
    """Answer a question, with as many calls of tools as that takes."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while ctx.receive(response := ask(messages, tools=ctx.declarations())):
        ctx.wait()
        messages += ctx.turn()
        ctx.next_turn()
    text: str = response["choices"][0]["message"]["content"]
    return text


async def astream(
    ask: Callable[..., Awaitable[AsyncIterator[Any]]], ctx: tx.Context, question: str
) -> AsyncIterator[str]:
    """The same, piece by piece."""
    conversation: list[Any] = [{"role": "user", "content": question}]
    while True:
        async with ctx.stream(await ask(conversation, tools=ctx.declarations())) as events:
            async for event in events:
                for choice in event["choices"]:
                    yield choice["delta"].get("content") or ""
        if not await ctx.run():
            return
        conversation.extend(ctx.turn())
        ctx.next_turn()
