"""What the messages of a history have to do with calls, whatever their format."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from toolexec._calls import CallRecord


class Answered(NamedTuple):
    """One answer, as it stands in a message of a history.

    Attributes:
        id: Of the call that it answers, or None.
        name: Of that call's tool, or None where the format does not say it.
        block: Its place among the message's blocks, or None where the message is the answer.
    """

    id: str | None
    name: str | None = None
    block: int | None = None

    @classmethod
    def of(cls, id: object, name: object = None, block: int | None = None) -> Answered:
        """From what stands in a message, whatever that is."""
        return cls(None if id is None else str(id), name if isinstance(name, str) else None, block)

    def fits(self, call: CallRecord) -> bool:
        """Whether it may answer ``call``: by id where both have one, else by name; else by order alone."""
        if self.id and call.id:
            return self.id == call.id
        return self.name == call.name if self.name else not self.id


class Fitting:
    """Finds the places of the calls that an answer may be for, without a look at every call.

    By the rule of :meth:`Answered.fits`.
    """

    __slots__ = ("_all", "_by_id", "_by_name", "_without_id")

    def __init__(self) -> None:
        self._all: deque[int] = deque()
        self._by_id: dict[str, deque[int]] = {}
        self._by_name: dict[str, deque[int]] = {}
        self._without_id: dict[str, deque[int]] = {}  # by name

    def add(self, call: CallRecord, place: int) -> None:
        """Have a call found, at a place that is not below those of the calls before."""
        self._all.append(place)
        self._by_name.setdefault(call.name, deque()).append(place)
        if call.id:
            self._by_id.setdefault(call.id, deque()).append(place)
        else:
            self._without_id.setdefault(call.name, deque()).append(place)

    def places(self, answer: Answered) -> list[deque[int]]:
        """Where the calls are that it fits: rising numbers, in one or two parts.

        Whoever wants a place no more takes it out at the front.
        """
        if not answer.id:
            found = [self._all if not answer.name else self._by_name.get(answer.name)]
        else:
            found = [self._by_id.get(answer.id), self._without_id.get(answer.name) if answer.name else None]
        return [places for places in found if places is not None]


class Said(NamedTuple):
    """What one message of a history has to do with calls.

    Attributes:
        calls: Those that it asks for, in order.
        answers: What it answers, in order.
        own: Whether it is this format's, and not that of another which is written alike.
        takes: Whether it is the user's, so that answers may be blocks of it.
        part: Whether what the model said may go on in the next message.
    """

    calls: Sequence[CallRecord] = ()
    answers: Sequence[Answered] = ()
    own: bool = True
    takes: bool = False
    part: bool = False


class Blocks(NamedTuple):
    """In a format whose answers are blocks of one user message: where that has them.

    Attributes:
        key: The message's key for its list of blocks.
        alone: Whether answers stand in a message without other blocks; else they come first.
    """

    key: str
    alone: bool = False
