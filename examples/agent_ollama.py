"""An agent with a model that Ollama runs (OLLAMA_HOST).

    python examples/agent_ollama.py "What do my notes say?" [--stream]

Calls run at the same time; one that does harm is asked about first; Ctrl-C stops those that run, which the
model is told, and a second Ctrl-C ends the program.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import ollama

import toolexec as tx
from agent_tools import TOOLS, approve, harmless

MODEL = os.environ.get("OLLAMA_MODEL", "qwen3")


async def ask(client: ollama.AsyncClient, ctx: tx.Context, messages: list[Any], stream: bool) -> None:
    """Have the model answer, and show what it says."""
    tools: Any = ctx.declarations()
    if not stream:
        answer = await client.chat(model=MODEL, messages=messages, tools=tools)
        print(answer.message.content or "")
        ctx.receive(answer)
        return
    parts = await client.chat(model=MODEL, messages=messages, tools=tools, stream=True)
    async with ctx.stream(parts, start=harmless) as events:  # what is harmless starts at once
        async for part in events:
            print(part.message.content or "", end="", flush=True)
    print()


async def main(prompt: str, stream: bool) -> None:
    ctx = tx.Context(TOOLS, provider="ollama")
    messages: list[Any] = [{"role": "user", "content": prompt}]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ctx.interrupt("the user pressed Ctrl-C")
        loop.remove_signal_handler(signal.SIGINT)  # the next one ends the program

    async with ollama.AsyncClient() as client:
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
