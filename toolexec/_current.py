"""The call that is running here: its state, where its body runs."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from toolexec._errors import Interrupt


class Progress(NamedTuple):
    """One report of progress from inside a tool.

    Attributes:
        done: How much is done, in the tool's own unit; for a generator tool the number of parts so far.
        total: How much there is, in the same unit, or None where unknown.
        message: Words for a person, or None.
        data: Anything; for a generator tool the part that was yielded.
    """

    done: float
    total: float | None = None
    message: str | None = None
    data: Any = None


class CurrentCall:
    """One attempt at a call as seen from inside its body, in whatever process or interpreter that runs.

    Attributes:
        id: The call's id, or None.
        name: The tool's name.
        parent: The call whose body made this one, or None.
        asked: Whether this call has been asked to stop; sticky.
        reason: Why.
        limits: What this call holds that others may wait for; calls it makes itself need not wait for these.
        cancels: At most one function, which cancels what the body awaits; whoever pops it calls it.
    """

    __slots__ = ("asked", "cancels", "id", "limits", "name", "parent", "reason", "sink")

    def __init__(
        self,
        id: str | None,
        name: str,
        sink: Callable[[Progress], object] | None = None,
        parent: CurrentCall | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.parent = parent
        self.sink = sink
        self.asked = False
        self.reason = "interrupted"
        self.limits: tuple[Any, ...] = ()
        self.cancels: list[Callable[[], object]] = []

    def cancellable(self, cancel: Callable[[], object]) -> None:
        """From now on ``cancel`` cancels what the body awaits: called once at most, at once if already asked."""
        self.cancels.append(cancel)
        if self.asked:
            self.cancel_once()

    def cancel_once(self) -> None:
        """Cancel what the body awaits, unless that was done or nothing is awaited.  Any thread."""
        # The pop is atomic: of those who were asked to cancel and the body that saw it, one cancels.
        try:
            cancel = self.cancels.pop()
        except IndexError:
            return
        cancel()

    def interrupt(self) -> Interrupt:
        """The exception that says so."""
        return Interrupt(self.reason)

    def report(self, progress: Progress) -> None:
        """Pass a report of progress on to whoever listens."""
        if self.sink is not None:
            self.sink(progress)


CURRENT: ContextVar[CurrentCall | None] = ContextVar("toolexec_current_call", default=None)
