"""Assembling: from the events of a stream to the calls and the reply they make up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from toolexec._arguments import excerpt
from toolexec._calls import CallRecord
from toolexec._errors import FormatError
from toolexec._provider import Reply, get, plain


class Whole(NamedTuple):
    """A call whose arguments are complete.

    Attributes:
        place: Which of the reply's calls it is, from 0.
        record: The call.
    """

    place: int
    record: CallRecord


class Assembler(ABC):
    """What one stream has said so far; used by one thread at a time.

    Attributes:
        model: The name of the model that speaks, once it is known.
    """

    model: str | None = None

    @abstractmethod
    def feed(self, event: Any) -> Iterable[Whole]:
        """Take one event, an SDK's object or a dict; the calls that are whole by it.

        A call is told of once, and as soon as nothing that can follow may change it.

        Raises:
            FormatError: It says that the answer has failed, or is no event of this format.
        """

    @abstractmethod
    def finish(self) -> Reply:
        """The whole reply, once the stream is at its end; its calls are in the places that were told.

        Raises:
            FormatError: The stream ended before its answer did.
        """


def check_no_error(event: Any) -> None:
    """Refuse an event that says what went wrong, in the field where most servers do.

    Raises:
        FormatError: It does.
    """
    error = get(event, "error")
    if error is not None:
        raise failed(error)


def failed(error: Any) -> FormatError:
    """The error for a stream that says that its answer has failed."""
    return FormatError(f"the stream says that its answer has failed: {excerpt(repr(plain(error)))}")


def cut_short(what: str) -> FormatError:
    """The error for a stream that ended early."""
    return FormatError(f"the stream ended before its answer did: {what} has not come")
