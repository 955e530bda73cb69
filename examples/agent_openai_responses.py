"""An agent with OpenAI's Responses, which keeps no conversation on the server.

    OPENAI_API_KEY=... python examples/agent_openai_responses.py "What do my notes say?" [--stream]

Calls run at the same time; one that does harm is asked about first; Ctrl-C stops those that run, which the
model is told, and a second Ctrl-C ends the program.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import openai

import toolexec as tx
from agent_tools import TOOLS, approve, harmless

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5-mini")


async def ask(client: openai.AsyncOpenAI, ctx: tx.Context, items: list[Any], stream: bool) -> None:
    """Have the model answer, and show what it says."""
    options: dict[str, Any] = {
        "model": MODEL,
        "input": items,
        "tools": ctx.declarations(),
        "store": False,
        "include": ["reasoning.encrypted_content"],  # so that the model's thoughts can be sent back
    }
    if not stream:
        answer = await client.responses.create(**options)
        print(answer.output_text)
        ctx.receive(answer)
        return
    async with (
        client.responses.stream(**options) as answering,
        ctx.stream(answering, start=harmless) as events,  # what is harmless starts at once
    ):
        async for event in events:
            if event.type == "response.output_text.delta":
                print(event.delta, end="", flush=True)
    print()


async def main(prompt: str, stream: bool) -> None:
    ctx = tx.Context(TOOLS, provider="openai-responses")
    items: list[Any] = [{"role": "user", "content": prompt}]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ctx.interrupt("the user pressed Ctrl-C")
        loop.remove_signal_handler(signal.SIGINT)  # the next one ends the program

    async with openai.AsyncOpenAI() as client:
        while True:
            loop.add_signal_handler(signal.SIGINT, stop)
            await ask(client, ctx, items, stream)
            for function in ctx.pending_functions:
                if not await approve(function):
                    function.cancel("the user said no")
            async with ctx.group() as group:
                async for ret in group:
                    print(f"{ret.name}: {ret.status}")
            if not ctx.turn():
                break
            items += ctx.turn()
            ctx.next_turn()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], "--stream" in sys.argv))
