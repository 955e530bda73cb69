"""The tools that show in which order calls ran, and which ran at once."""

from __future__ import annotations

import time

import toolexec
from toolexec.testing._gate import Gate
from toolexec.testing._journal import Journal
from toolexec.testing._rendezvous import Rendezvous
from toolexec.testing._tools import one_step


@toolexec.tool
def note(journal: str, label: str) -> str:
    """Write a line and return it."""
    Journal(journal).write(label)
    return label


@toolexec.tool
async def anote(journal: str, label: str) -> str:
    """Write a line and return it, a step of the loop later."""
    await one_step()
    Journal(journal).write(label)
    return label


@toolexec.tool
def span(journal: str, label: str) -> str:
    """Write a line at the begin and one at the end."""
    with Journal(journal).span(label):
        # Not to wait for anything: to give others the processor, who then must not be there.
        time.sleep(0.001)
    return label


@toolexec.tool
async def aspan(journal: str, label: str) -> str:
    """Write a line at the begin and one at the end, steps of the loop apart."""
    with Journal(journal).span(label):
        for _ in range(5):
            await one_step()
    return label


@toolexec.tool
def gated_span(journal: str, gate: str, label: str) -> str:
    """Write a line at the begin, pass a gate, write one at the end."""
    with Journal(journal).span(label):
        Gate(gate).pass_through(label)
    return label


@toolexec.tool
async def agated_span(journal: str, gate: str, label: str) -> str:
    """As ``gated_span``, without blocking the loop."""
    with Journal(journal).span(label):
        await Gate(gate).apass_through(label)
    return label


@toolexec.tool(max_in_flight=2)
def two_at_a_time(journal: str, gate: str, label: str) -> str:
    """As ``gated_span``, never more than two at once."""
    with Journal(journal).span(label):
        Gate(gate).pass_through(label)
    return label


@toolexec.tool(resource="toolexec-testing")
def first_user(journal: str, label: str) -> str:
    """As ``span``, with a resource."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool(resource="toolexec-testing")
def other_user(journal: str, label: str) -> str:
    """As ``span``, another tool with the same resource."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool(exclusive=True)
def alone(journal: str, label: str) -> str:
    """As ``span``, as a barrier."""
    with Journal(journal).span(label):
        time.sleep(0.001)
    return label


@toolexec.tool
def pass_gate(gate: str, label: str) -> str:
    """Pass a gate."""
    Gate(gate).pass_through(label)
    return label


@toolexec.tool
async def apass_gate(gate: str, label: str) -> str:
    """Pass a gate without blocking the loop."""
    await Gate(gate).apass_through(label)
    return label


@toolexec.tool
def meet(meeting: str, parties: int) -> str:
    """Meet others."""
    Rendezvous(meeting, parties).meet()
    return "met"


@toolexec.tool
async def ameet(meeting: str, parties: int) -> str:
    """Meet others without blocking the loop."""
    await Rendezvous(meeting, parties).ameet()
    return "met"


# Work that lets nobody else in

# A quarter of a second in one C function that never gives the interpreter's lock away.
_ADDENDS = 15_000_000


@toolexec.tool
def hold_interpreter(meeting: str, done: str) -> list[float]:
    """Keep this interpreter to itself for a while; from when to when."""
    Rendezvous(meeting, 2).meet()
    start = time.monotonic()
    sum(range(_ADDENDS))
    end = time.monotonic()
    Journal(done).write("done")
    return [start, end]


@toolexec.tool
def take_steps(meeting: str, done: str) -> list[float]:
    """Take steps until the other is done; the times of them."""
    Rendezvous(meeting, 2).meet()
    steps: list[float] = []
    while not Journal(done).lines():
        steps.append(time.monotonic())
    return steps


# Calls that make calls


@toolexec.tool
def nest(strategy: str, depth: int) -> int:
    """Call itself, a level deeper."""
    if depth == 0:
        return 0
    ret = toolexec.run(nest, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())


@toolexec.tool
async def anest(strategy: str, depth: int) -> int:
    """Call itself, a level deeper, and await that."""
    if depth == 0:
        return 0
    ret = await toolexec.arun(anest, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())


@toolexec.tool(max_in_flight=1)
def nest_alone(strategy: str, depth: int) -> int:
    """Call itself, a level deeper, while it holds the only place there is."""
    if depth == 0:
        return 0
    ret = toolexec.run(nest_alone, {"strategy": strategy, "depth": depth - 1}, strategy)
    return 1 + int(ret.unwrap())
