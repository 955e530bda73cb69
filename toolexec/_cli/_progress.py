"""Progress: one line on standard error for each call that has settled, where a person looks on."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from toolexec._cli._text import STYLES, answer, one_line, seconds, status
from toolexec._function import Function
from toolexec._return import Return


class Progress:
    """Tells a person at the terminal how the run goes; says nothing when standard error is no terminal.

    Whole lines, and no bar that is drawn anew: what tools print goes to the same place, from other
    threads and processes, and would tear it up.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        shown = sys.stderr is not None and sys.stderr.isatty()
        self._console = Console(stderr=True, quiet=not shown, highlight=False)
        self._count = len(functions)
        self._width = max((len(one_line(function.name)) for function in functions), default=0)
        self._statuses: Counter[str] = Counter()
        self._begun_at = time.monotonic()

    def started(self, strategy: str) -> None:
        """The run begins."""
        self._line(Text(f"{_calls(self._count)}, strategy {strategy}", "dim"))

    def settled(self, ret: Return) -> None:
        """A call has its Return."""
        self._statuses[ret.status] += 1
        name = one_line(ret.name)
        name.pad_right(max(0, min(self._width, 30) - len(name)))
        state = status(ret)
        state.pad_right(max(0, 13 - len(ret.status)))  # the longest status there is
        duration = seconds(ret.duration_s)
        duration.pad_left(max(0, 7 - len(duration)))
        self._line(Text("  ").join([Text(), state, name, duration, answer(ret)]))

    def ended(self) -> None:
        """All calls have settled."""
        parts = [Text(f"{count} {name}", STYLES.get(name, "red")) for name, count in self._statuses.most_common()]
        took = seconds(time.monotonic() - self._begun_at)
        self._line(Text.assemble(f"{_calls(self._count)} in ", took, ": " if parts else "", Text(", ").join(parts)))

    def _line(self, text: Text) -> None:
        self._console.print(text, no_wrap=True, overflow="ellipsis")


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"
