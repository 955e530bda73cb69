"""An agent with Google's generateContent.

    GEMINI_API_KEY=... python examples/agent_google.py "What do my notes say?" [--stream]

Calls run at the same time; one that does harm is asked about first; Ctrl-C stops those that run, which the
model is told, and a second Ctrl-C ends the program.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from google import genai
from google.genai import types

import toolexec as tx
from agent_tools import TOOLS, approve, harmless

MODEL = os.environ.get("GEMINI_MODEL", "gemini-2.5-flash")


async def ask(client: genai.client.AsyncClient, ctx: tx.Context, contents: list[Any], stream: bool) -> None:
    """Have the model answer, and show what it says."""
    config: Any = {"tools": ctx.declarations()}
    if not stream:
        answer = await client.models.generate_content(model=MODEL, contents=contents, config=config)
        print(text(answer))
        ctx.receive(answer)
        return
    chunks = await client.models.generate_content_stream(model=MODEL, contents=contents, config=config)
    async with ctx.stream(chunks, start=harmless) as events:  # what is harmless starts at once
        async for chunk in events:
            print(text(chunk), end="", flush=True)
    print()


def text(answer: types.GenerateContentResponse) -> str:
    """What it says; its own ``text`` warns of calls beside that."""
    content = answer.candidates[0].content if answer.candidates else None
    parts = (content and content.parts) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


async def main(prompt: str, stream: bool) -> None:
    ctx = tx.Context(TOOLS, provider="google")
    contents: list[Any] = [{"role": "user", "parts": [{"text": prompt}]}]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ctx.interrupt("the user pressed Ctrl-C")
        loop.remove_signal_handler(signal.SIGINT)  # the next one ends the program

    async with genai.Client().aio as client:
        while True:
            loop.add_signal_handler(signal.SIGINT, stop)
            await ask(client, ctx, contents, stream)
            for function in ctx.pending_functions:
                if not await approve(function):
                    function.cancel("the user said no")
            async with ctx.group() as group:
                async for ret in group:
                    print(f"{ret.name}: {ret.status}")
            if not ctx.turn():
                break
            contents += ctx.turn()
            ctx.next_turn()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], "--stream" in sys.argv))
