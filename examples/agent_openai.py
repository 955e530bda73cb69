"""An agent with OpenAI's chat completions, or a server that speaks the same (OPENAI_BASE_URL).

    OPENAI_API_KEY=... python examples/agent_openai.py "What do my notes say?" [--stream]

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


async def ask(client: openai.AsyncOpenAI, ctx: tx.Context, messages: list[Any], stream: bool) -> None:
    """Have the model answer, and show what it says."""
    tools: Any = ctx.declarations()
    if not stream:
        answer = await client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        print(answer.choices[0].message.content or "")
        ctx.receive(answer)
        return
    chunks = await client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True)
    async with chunks, ctx.stream(chunks, start=harmless) as events:  # what is harmless starts at once
        async for chunk in events:
            for choice in chunk.choices:
                print(choice.delta.content or "", end="", flush=True)
    print()


async def main(prompt: str, stream: bool) -> None:
    ctx = tx.Context(TOOLS, provider="openai")
    messages: list[Any] = [{"role": "user", "content": prompt}]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ctx.interrupt("the user pressed Ctrl-C")
        loop.remove_signal_handler(signal.SIGINT)  # the next one ends the program

    async with openai.AsyncOpenAI() as client:
        while True:
            loop.add_signal_handler(signal.SIGINT, stop)
            await ask(client, ctx, messages, stream)
            for function in ctx.pending_functions:
                if not await approve(function):
                    function.cancel("the user said no")
            async with ctx.group() as group:
                async for ret in group:
                    print(f"{ret.name}: {ret.status}")
            if not ctx.turn():
                break
            messages += ctx.turn()
            ctx.next_turn()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], "--stream" in sys.argv))
