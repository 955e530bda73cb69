"""fork, in a program that runs out of descriptors: calls are answered, and the next ones run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, resource
import toolexec as tx

@tx.tool
def echo(n: int) -> int:
    return n

def returns(count):
    ctx = tx.Context(tools=[echo], strategy="fork")
    ctx.receive([{"name": "echo", "arguments": {"n": n}} for n in range(count)])
    return ctx.wait(timeout=20)

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
assert [ret.status for ret in returns(1)] == ["ok"]
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
os.close(taken.pop())
for ret in returns(8):
    assert ret.status == "ok" or "Too many open files" in ret.value["message"], ret
while taken:
    os.close(taken.pop())
assert [ret.status for ret in returns(2)] == ["ok", "ok"]
"""


def test_a_host_without_descriptors_gets_answers(tmp_path: Path) -> None:
    """A child whose pipes cannot be handed over is no reason for its call, or the next, to wait."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50, check=False)

    assert (0, "") == (done.returncode, done.stderr)
