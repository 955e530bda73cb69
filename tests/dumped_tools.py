"""Tools of a conversation that goes on in another process, and that process.

Each line of its input is a dump and the ids of the calls to approve; each line of its output the history.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import toolexec as tx


@tx.tool
def note(n: int) -> str:
    """Say where it ran, once for each time."""
    with Path(os.environ["DUMPED_LOG"]).open("a", encoding="utf-8") as log:
        log.write(f"{n}\n")
    return f"noted {n}"


@tx.tool
def fail() -> None:
    raise ValueError("broken")


TOOLS = [note, fail]


def main() -> None:
    for line in sys.stdin:
        dumped, approved = json.loads(line)
        ctx = tx.Context.restore(dumped, TOOLS, strategy="thread")
        for call_id in approved:
            ctx.approve(call_id).wait()
        ctx.pending_functions.wait()
        sys.stdout.write(f"{json.dumps(ctx.history())}\n")


if __name__ == "__main__":
    main()
