"""Send odd arguments, and odd responses, to tools of many signatures: every call has a Return, at once.

    python tests/fuzz/arguments.py --seconds 60 --seed 1

Ends with 1, and prints what was sent, at the first exception out of the engine, the first value in a body
that its annotation does not allow, and the first call that takes over a second.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import toolexec as tx

sys.path.insert(0, str(Path(__file__).parents[1]))
from properties.signatures import FUNCTIONS, STRICT, TABLE, TOOLS, VALUES, names_of

# What a call may take, also on a machine that does much else.
STALL_S = 1.0

TEXTS = ["", "a", "\ud800", "\x00", "é\u2028", "x" * 10_000, "NaN", "Infinity", "[" * 50, '"', "\\", "}{", "id", "self"]
SNIPPETS = ['"', ",", ":", "{", "]", "NaN", "1e999", "\\u", "\x00", "\ud800", "9" * 5000]
NUMBERS = [0, -1, 2**31, 2**53 + 1, 2**64, 10**400, 0.1, -0.0, 1e308, 5e-324, 1e20, 3.0]


def json_value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and now and then what no JSON is."""
    kind = rng.randrange(12 if depth < 6 else 6)
    if kind < 3:
        return rng.choice(VALUES)
    if kind == 3:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice(TEXTS)
    if kind == 5:
        return rng.choice([None, True, False, float("nan"), float("inf"), b"x", (1, 2), {1: 2}, object()])
    if kind < 9:
        return [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(TEXTS): json_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def as_text(value: Any) -> str:
    try:
        return json.dumps(value, default=repr)
    except (TypeError, ValueError):
        return repr(value)


def mutated(rng: random.Random, text: str) -> str:
    """A text with some of it cut out, doubled, or something put between."""
    for _ in range(rng.randrange(4)):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        text = rng.choice([
            text[:at],
            text[:at] + text[end:],
            text[:end] + text[at:],
            text[:at] + rng.choice(SNIPPETS) + text[at:],
            text[:at] + rng.choice(["[", '{"a":']) * rng.randrange(3000) + text[at:],
        ])  # fmt: skip
    return text


def arguments(rng: random.Random, number: int) -> Any:
    """What might be sent to one of the tools."""
    way = rng.randrange(8)
    if way == 0:
        return json_value(rng)
    sent = {
        name: json_value(rng) for name in rng.sample(names_of(number), rng.randrange(min(3, len(names_of(number))) + 1))
    }
    if way < 4:
        return sent
    if way == 4:
        return as_text(as_text(sent))
    if way == 5:
        return rng.randbytes(rng.randrange(40))
    if way == 6:
        return as_text([as_text(json_value(rng))] * rng.randrange(2000)) if rng.random() < 0.05 else as_text(sent)
    return mutated(rng, as_text(sent))


def outside(number: int, value: dict[str, Any]) -> list[str]:
    """The parameters whose value is not what they were annotated with."""
    wrong: list[str] = []
    for name, annotation in FUNCTIONS[number].__annotations__.items():
        if f"**{name}" not in TABLE[number]:
            try:
                TypeAdapter(annotation).validate_python(value[name], strict=True)
            except ValueError:
                wrong.append(name)
    return wrong


def one_call(rng: random.Random) -> None:
    number = rng.randrange(len(TABLE))
    sent = arguments(rng, number)
    tool = rng.choice([TOOLS, STRICT])[number]
    _watched(lambda: _check(number, tx.run(tool, sent, "sequential")), (number, tool, sent))


def _check(number: int, ret: tx.Return) -> None:
    assert ret.status in ("ok", "bad_arguments"), ret
    assert len(tx.render(ret)) < 10_000_000
    if ret.ok:
        assert not (wrong := outside(number, ret.value)), wrong


def one_response(rng: random.Random) -> None:
    """A response with odd calls in it: refused as a whole, or every call answered once, in call order."""
    ctx = tx.Context(tools=rng.sample(TOOLS, 3))
    names = [*ctx.functions, "nobody", "", None, 3]
    calls = [
        {
            "id": rng.choice([None, "", "a", "a", "\ud800", 7, f"c{place}"]),
            "type": rng.choice(["function", "custom", None]),
            "function": rng.choice([{"name": rng.choice(names), "arguments": json_value(rng)}] * 5 + [None, 3, {}]),
        }
        for place in range(rng.randrange(6))
    ]
    if rng.random() < 0.1:
        calls[rng.randrange(len(calls) + 1) :] = [json_value(rng)]
    response: Any = rng.choice(
        [
            {"choices": [{"message": {"content": rng.choice([None, *TEXTS]), "tool_calls": calls}}]},
            [{"id": rng.choice(["a", None]), "name": rng.choice(names), "arguments": json_value(rng)} for _ in calls],
            json_value(rng),
        ]
    )
    _watched(lambda: _answer(ctx, response), response)


def _answer(ctx: tx.Context, response: Any) -> None:
    try:
        functions = ctx.receive(response)
    except tx.FormatError:
        return
    returns = ctx.wait("sequential")
    assert [fn.name for fn in functions] == [ret.name for ret in returns]
    json.dumps(ctx.messages()).encode()
    json.dumps(ctx.turn()).encode()


def _watched(act: Callable[[], None], sent: Any) -> None:
    began = time.perf_counter()
    try:
        act()
    except BaseException:
        print(f"sent: {sent!r}", file=sys.stderr)
        raise
    took = time.perf_counter() - began
    if took > STALL_S:
        raise AssertionError(f"it took {took:.2f} s: {sent!r}"[:2000])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(given)
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    rng = random.Random(seed)
    for tool in [*TOOLS, *STRICT]:
        _ = tool.params  # what is built on first use is not what a call takes
    calls = responses = 0
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        for _ in range(20):
            one_call(rng)
        one_response(rng)
        calls, responses = calls + 20, responses + 1
    print(f"seed {seed}: {calls} calls and {responses} responses, every one answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
