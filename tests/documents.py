"""Running what stands in documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def examples_in(text: str) -> list[str]:
    """The fenced blocks of Python."""
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


# Has an example that receives call dicts receive a response of a provider instead.
_AS_RESPONSES = """
import toolexec as tx
from toolexec.testing import response

_receive = tx.Context.receive


def _received(self, calls):
    asked = [(call["name"], call.get("arguments") or {{}}, call.get("id", f"c{{n}}")) for n, call in enumerate(calls)]
    return _receive(self, response({provider!r}, asked))


tx.Context.receive = _received
"""


def as_responses(example: str, provider: str) -> str:
    """The example, its calls received as a response of a provider."""
    assert "ctx.receive(" in example
    return _AS_RESPONSES.format(provider=provider) + example


def run_example(example: str, folder: Path) -> None:
    """Run an example as a script of its own, without a warning; its assertions have to hold."""
    script = folder / "example.py"
    tests = re.findall(r"^def (test_\w+)", example, re.MULTILINE)  # what pytest would call
    script.write_text("\n".join([example, *(f"{test}()" for test in tests)]), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=folder,
    )

    said = [line for line in done.stderr.splitlines() if "on Python 3.14 can leave a lock taken" not in line]
    # In words, for pytest does not look into what is no test module.
    assert (done.returncode, said) == (0, []), f"it ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"


def table_after(text: str, mark: str) -> list[dict[str, str]]:
    """The rows of the table after a comment, by the names of its columns."""
    lines = text[text.index(mark) :].splitlines()[1:]
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("| ").split("|")])
        elif rows:
            break
    head, _, *body = rows
    return [dict(zip(head, row, strict=True)) for row in body]
