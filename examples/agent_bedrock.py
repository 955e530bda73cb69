"""An agent with Amazon Bedrock's Converse.

    AWS_PROFILE=... python examples/agent_bedrock.py "What do my notes say?" [--stream]

Calls run at the same time; one that does harm is asked about first; Ctrl-C stops those that run, which the
model is told, and a second Ctrl-C ends the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

import boto3  # type: ignore[import-untyped]  # its stubs are a package of their own

import toolexec as tx
from agent_tools import TOOLS, approve, harmless

MODEL = os.environ.get("BEDROCK_MODEL", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")


def ask(client: Any, ctx: tx.Context, messages: list[Any], stream: bool) -> None:
    """Have the model answer, and show what it says."""
    options: dict[str, Any] = {"modelId": MODEL, "messages": messages, "toolConfig": {"tools": ctx.declarations()}}
    if not stream:
        answer = client.converse(**options)
        print(*(block["text"] for block in answer["output"]["message"]["content"] if "text" in block))
        ctx.receive(answer)
        return
    with (
        contextlib.closing(client.converse_stream(**options)["stream"]) as answering,
        ctx.stream(answering, start=harmless) as events,  # what is harmless starts at once
    ):
        for event in events:
            print(event.get("contentBlockDelta", {}).get("delta", {}).get("text", ""), end="", flush=True)
    print()


async def main(prompt: str, stream: bool) -> None:
    ctx = tx.Context(TOOLS, provider="bedrock")
    messages: list[Any] = [{"role": "user", "content": [{"text": prompt}]}]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        ctx.interrupt("the user pressed Ctrl-C")
        loop.remove_signal_handler(signal.SIGINT)  # the next one ends the program

    with contextlib.closing(boto3.client("bedrock-runtime")) as client:
        while True:
            loop.add_signal_handler(signal.SIGINT, stop)
            await asyncio.to_thread(ask, client, ctx, messages, stream)  # its client blocks
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
