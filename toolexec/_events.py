"""What happens to the calls of a Group, as it happens."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from toolexec._call_state import Progress
from toolexec._return import Return
from toolexec._waiting import wake_all

if TYPE_CHECKING:
    from toolexec._group import Group
    from toolexec._task import Task


class Started(NamedTuple):
    """A body has begun.

    Attributes:
        task: Whose.
    """

    task: Task


class Output(NamedTuple):
    """A tool printed something, where the strategy captures that.

    Attributes:
        task: Whose tool.
        text: What; not always whole lines.
    """

    task: Task
    text: str


class Settled(NamedTuple):
    """A call has its Return.

    Attributes:
        task: Which.
        ret: Its Return.
    """

    task: Task
    ret: Return


Event = Started | Progress | Output | Settled


class Events:
    """One walk over what happens in a Group, sync or async; several may be under way at once.

    It begins with what has started and settled before it was asked for, and ends once every call's
    ``Settled`` was given.  Progress and output are not kept for who comes later.
    """

    __slots__ = ("__weakref__", "_group", "_queue", "_settled", "_started")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._queue: deque[Event] = deque()
        self._started: set[int] = set()
        self._settled: set[int] = set()
        # In this order: what happens from here on comes by itself, and what comes twice is told once.
        # Calls that were started ahead tell of themselves in the Groups they were started in.
        for source in dict.fromkeys((group, *(task._group for task in group._tasks))):
            source._listeners.append(_listener(weakref.WeakMethod(self._add), source))
        for task in sorted((task for task in group._tasks if task._begun_at is not None), key=_begun_at):
            self._queue.append(Started(task))
        for task in group._finished[:]:
            if task._return is not None:
                self._queue.append(Settled(task, task._return))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """Block until something happens.

        Raises:
            WrongLoop: On a running loop's thread, when nothing is ready; use ``async for``.
        """
        group = self._group
        while True:
            while self._queue:
                event = self._queue.popleft()
                if self._is_new(event):
                    return event
            if len(self._settled) == len(group):
                raise StopIteration
            group._refuse_loop(None, "async for")
            group._wait(group._each, self._ready, None, group._tasks)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Await that something happens."""
        group = self._group
        while True:
            while self._queue:
                event = self._queue.popleft()
                if self._is_new(event):
                    return event
            if len(self._settled) == len(group):
                raise StopAsyncIteration
            await group._await(group._each, self._ready, group._tasks)

    def _add(self, event: Event) -> None:
        self._queue.append(event)
        wake_all(self._group._each)

    def _ready(self) -> bool:
        return bool(self._queue)

    def _is_new(self, event: Event) -> bool:
        if isinstance(event, Started | Settled):
            seen = self._started if isinstance(event, Started) else self._settled
            if id(event.task) in seen:
                return False
            seen.add(id(event.task))
        return True


def _listener(add: weakref.WeakMethod[Callable[[Event], None]], source: Group) -> Callable[[Event], None]:
    def listener(event: Event) -> None:
        walk = add()
        if walk is None:  # left early
            with suppress(ValueError):  # another thread has seen it too
                source._listeners.remove(listener)
        else:
            walk(event)

    return listener


def _begun_at(task: Task) -> float:
    assert task._begun_at is not None
    return task._begun_at
