"""The examples do what they say, the same under every strategy."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

import toolexec as tx
from command import CHECKOUT, essence, records, toolexec

EXAMPLES = CHECKOUT / "examples"
STRATEGIES = ("auto", "sequential", "thread", "asyncio", "trio", "fork", "interpreter")

EXPECTED = [
    (
        "read-file",
        "ok",
        {
            "path": "examples/orders.csv",
            "lines": ["order,country,product,amount", "1001,DE,kettle,39.90", "1002,FR,toaster,54.50"],
            "more": 4,
        },
    ),
    ("sha256", "ok", hashlib.sha256((EXAMPLES / "orders.csv").read_bytes()).hexdigest()),
    (
        "sales_by_country",
        "ok",
        [
            {"country": "DE", "orders": 3, "total": "152.90"},
            {"country": "FR", "orders": 2, "total": "78.50"},
            {"country": "PT", "orders": 1, "total": "39.90"},
        ],
    ),
    ("run-python", "ok", {"exit_code": 0, "stdout": "338350\n", "stderr": ""}),
    ("exchange_rate", "ok", {"currency": "CHF", "rate": 0.94}),
    ("count-primes", "ok", 348513),
    ("wait", "ok", "waited 0.1 s"),
    ("resize-image", "lost", "WorkerLost"),
    ("exchange_rate", "bad_arguments", "ArgumentsError"),
    ("send_email", "unknown_tool", "NoSuchToolError"),
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_returns(strategy: str) -> None:
    """The README's own command, once for each strategy; the tool that dies is `lost` every time."""
    if strategy != "auto":
        try:
            tx.strategy(strategy).close()
        except tx.StrategyUnavailable as exc:
            pytest.skip(str(exc))

    done = toolexec("run", "examples/calls.json", "--tools", "examples/tools.py", "--strategy", strategy, cwd=CHECKOUT)

    assert EXPECTED == [essence(record) for record in records(done)]
    assert done.returncode == 1, "not every call is ok"
    assert done.stderr == ""


def test_the_response_calls_every_tool() -> None:
    """What is not called would not be shown, and not be tested above."""
    response = json.loads((EXAMPLES / "calls.json").read_text("utf-8"))
    called = {call["function"]["name"] for call in response["choices"][0]["message"]["tool_calls"]}

    shown = json.loads(toolexec("tools", "examples/tools.py", "--format", "json", cwd=CHECKOUT).stdout)

    assert set() == {tool["name"] for tool in shown} - called


def test_the_readme_runs_the_examples() -> None:
    """The command whose output is checked above is the one that the README tells to try."""
    block = re.search(r"<!-- try: run -->\s*```sh\n(.*?)```", (CHECKOUT / "README.md").read_text("utf-8"), re.DOTALL)

    assert block is not None
    assert "toolexec run examples/calls.json --tools examples/tools.py" in block[1]
