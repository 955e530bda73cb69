"""Signals: the first asks the calls to stop, the second kills them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from typing import Any, Self

from toolexec._context import Context
from toolexec._control import CONTROL
from toolexec._group import LIVE
from toolexec._ladder import finish_off

_WORDS = {
    signal.SIGINT: ("Ctrl-C", "interrupting; press Ctrl-C again to kill what does not stop"),
    signal.SIGTERM: ("SIGTERM", "terminating; a second SIGTERM kills what does not stop"),
}


class Stopping:
    """While the block lasts, Ctrl-C and SIGTERM stop the calls of a Context, in two steps.

    The first signal interrupts them, and who waits gets their Returns.  The second kills, without
    grace, whatever runs, and raises KeyboardInterrupt on the main thread, where a body may be running
    that nothing else stops.  A third ends this process there and then; what it has forked ends with it.

    Attributes:
        code: The exit code that says which signal came first, or None when none came.
    """

    def __init__(self, context: Context) -> None:
        self.code: int | None = None
        self._context = context
        self._before: dict[signal.Signals, Any] = {}
        if hasattr(os, "register_at_fork"):
            # A process that a tool forks is to stop the way it would without us.
            os.register_at_fork(after_in_child=self._restore)

    def __enter__(self) -> Self:
        for number in _WORDS:
            # A shell starts what it runs in the background with SIGINT ignored, and that is to stay so.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *exc: object) -> None:
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _heard(self, number: int, frame: object) -> None:
        if self.code is None:
            self.code = 128 + number  # as a shell has it
            name, words = _WORDS[signal.Signals(number)]
            _say(words)
            self._context.interrupt(f"interrupted by {name}")
            return
        self._before.clear()
        for handled in _WORDS:
            signal.signal(handled, signal.SIG_DFL)
        _say("killing")
        for group in list(LIVE):
            for task in group.tasks:
                CONTROL.post(partial(finish_off, task))
        raise KeyboardInterrupt


def _say(words: str) -> None:
    # Past sys.stderr: this may have cut it short in the middle of a write.
    with suppress(OSError):
        os.write(2, f"toolexec: {words}\n".encode())
