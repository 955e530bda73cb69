"""Progress: one line on standard error for each call that has settled, where a person looks on."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolexec._cli._text import STYLES, answer, duration, one_line, seconds, status
from toolexec._function import Function
from toolexec._return import STATUSES, Return

_STATUS_WIDTH = max(map(len, STATUSES))
_TIME_WIDTH = len("1234 ms")
_MOST_NAME_WIDTH = 30  # a longer name, a made-up one most likely, is cut


class Progress:
    """Tells a person at the terminal how the run goes; says nothing when standard error is no terminal.

    Whole lines, and no bar that is drawn anew: what tools print goes to the same place, from other
    threads and processes, and would tear it up.
    """

    def __init__(self, functions: Sequence[Function]) -> None:
        shown = sys.stderr is not None and sys.stderr.isatty()
        self._console = Console(stderr=True, quiet=not shown, highlight=False)
        self._count = len(functions)
        self._width = max((min(_MOST_NAME_WIDTH, one_line(fn.name).cell_len) for fn in functions), default=0)
        self._statuses: Counter[str] = Counter()
        self._begun_at = time.monotonic()

    def started(self, strategy: str) -> None:
        """The run begins."""
        self._console.print(Text(f"{_calls(self._count)}, strategy {strategy}", "dim"))

    def settled(self, ret: Return) -> None:
        """A call has its Return."""
        self._statuses[ret.status] += 1
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_column(width=_STATUS_WIDTH)
        row.add_column(width=self._width)
        row.add_column(width=_TIME_WIDTH, justify="right")
        row.add_column()
        name = one_line(ret.name)
        name.no_wrap = True
        row.add_row(status(ret), name, duration(ret), answer(ret))
        self._console.print(Padding(row, (0, 0, 0, 2)))

    def ended(self) -> None:
        """All calls have settled."""
        parts = [Text(f"{count} {name}", STYLES.get(name, "red")) for name, count in self._statuses.most_common()]
        took = seconds(time.monotonic() - self._begun_at)
        self._console.print(
            Text.assemble(f"{_calls(self._count)} in ", took, ": " if parts else "", Text(", ").join(parts))
        )


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"
