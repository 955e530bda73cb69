"""What a plain call costs the engine, in function calls: no clock is asked, so that no neighbour has a say in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Some more than it was when this was written; who needs more has to say what for.  A call of a tool that does
# nothing, from what a model sends to its Return, its validation by pydantic included.
MOST = {"sequential": 71, "thread": 120, "asyncio": 114}

PROGRAM = """
import asyncio, cProfile, gc, json, pstats, sys
import toolexec as tx

@tx.tool
def add(a: int, b: int) -> int:
    return a + b

@tx.tool
async def aadd(a: int, b: int) -> int:
    return a + b

strategy = sys.argv[1]
ctx = tx.Context([add, aadd], strategy=strategy, history=False)

def calls(count):
    name = "aadd" if strategy == "asyncio" else "add"
    return [{"id": str(call), "name": name, "arguments": json.dumps({"a": call, "b": 1})} for call in range(count)]

async def main():
    await ctx.receive(calls(50)).run()
    sent = calls(400)
    gc.disable()
    with cProfile.Profile() as profile:
        returns = await ctx.receive(sent).run()
    assert all(ret.ok for ret in returns)
    return profile

def blocking():
    ctx.receive(calls(50)).wait()
    sent = calls(400)
    gc.disable()
    with cProfile.Profile() as profile:
        returns = ctx.receive(sent).wait()
    assert all(ret.ok for ret in returns)
    return profile

profile = asyncio.run(main()) if strategy == "asyncio" else blocking()
print(sum(entry[1] for entry in pstats.Stats(profile).stats.values()) / 400)
"""


@pytest.mark.parametrize("strategy", MOST)
def test_a_plain_call_takes_no_more_function_calls_than_are_granted(strategy: str) -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, strategy], capture_output=True, text=True, check=True)

    assert float(ran.stdout) <= MOST[strategy]
