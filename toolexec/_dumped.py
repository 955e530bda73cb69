"""Dumped: what a conversation is as JSON.

A field that comes later gets a default, for dumps that were made before it; whatever else changes makes
another version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from toolexec._errors import (
    ArgumentsError,
    DeadlineExceeded,
    Interrupt,
    NoSuchToolError,
    ToolError,
    UnsendableError,
    WorkerLost,
)
from toolexec._return import Status

FORMAT = "toolexec conversation"
VERSION = 1

# Exceptions whose texts are all there is to them; of others there is only the name of the class.
OWN: dict[str, type[BaseException]] = {
    f"toolexec.{kind.__name__}": kind
    for kind in (
        ArgumentsError,
        NoSuchToolError,
        UnsendableError,
        DeadlineExceeded,
        WorkerLost,
        ToolError,
        Interrupt,
    )
}


@dataclass(slots=True)
class DumpedReturn:
    """One Return, but for what its call says already.

    Attributes:
        value: Packed.
        exception: Its class, as in ``OWN`` or by its own name, and its text.
        text: What the model reads, where that does not follow from the value that comes back: where it is another
            text, or one that ``reveal`` and ``redact`` have a say in.
    """

    value: Any
    status: Status
    exception: tuple[str, str] | None
    reason: str | None
    abandoned: bool
    strategy: str | None
    queued_s: float
    duration_s: float
    attempts: int
    output: str | None
    text: str | None


@dataclass(slots=True)
class DumpedCall:
    """One call, and how it stands.

    Attributes:
        arguments: Packed; an intercept may have changed what the model sent.
        known: Whether there was a tool of that name.
        admitted: Whether guard and Budget have counted it.
    """

    id: str | None
    name: str
    arguments: Any
    model: str | None
    known: bool
    called: bool
    cancelled: bool
    claimed: bool
    admitted: bool
    answer: DumpedReturn | None


@dataclass(slots=True)
class DumpedResponse:
    """One response.

    Attributes:
        turn: In which turn it came.
        native: Packed.
        records: Of each call the id, the name and the packed arguments, as the model sent them.
        ids: What its calls are rendered under, by provider.
    """

    provider: str | None
    turn: int
    state: Literal["whole", "broken"]
    text: str | None
    native: Any
    model: str | None
    records: list[tuple[str | None, str, Any]]
    calls: list[DumpedCall]
    ids: dict[str, list[str | None]]


@dataclass(slots=True)
class DumpedTurn:
    """What holds for the turn.

    Attributes:
        number: Which it is.
        asks: Why it was interrupted; the first counts.
        stopped_ids: Why the calls with these ids were.
        spent: How many calls the Budget has counted, by tool.
    """

    number: int = 0
    asks: list[str] = field(default_factory=list[str])
    stopped_ids: dict[str, str] = field(default_factory=dict[str, str])
    spent: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class Dumped:
    """All of it."""

    format: str
    version: int
    turn: DumpedTurn
    responses: list[DumpedResponse]
    submitted: list[DumpedCall] = field(default_factory=list[DumpedCall])  # deferred, and of no response
