"""Which calls may start now: windows, limits per tool and resource, and barriers.

Pure bookkeeping: nothing here starts a call, takes a lock or reads a clock.  All of it belongs to
the control thread, except a :class:`Window` that has not been opened yet.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_arrivals = itertools.count()


class Limit:
    """At most ``capacity`` calls at once, over all Groups of the process; first asked, first served."""

    __slots__ = ("__weakref__", "capacity", "held", "waiting")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.free_all()
        _limits.add(self)

    def free_all(self) -> None:
        """Nobody holds it or waits for it."""
        self.held = 0
        self.waiting: set[Window[Any]] = set()


_limits: weakref.WeakSet[Limit] = weakref.WeakSet()
_resources: dict[str, Limit] = {}


def resource_limit(name: str) -> Limit:
    """The limit that keeps calls which name one resource from overlapping."""
    return _resources.setdefault(name, Limit(1))


def _free_all_limits() -> None:
    for limit in list(_limits):
        limit.free_all()


if hasattr(os, "register_at_fork"):
    # Who held them in the parent does not run in the child.
    os.register_at_fork(after_in_child=_free_all_limits)


class Entry(Generic[T]):
    """One call in a Window.

    Attributes:
        item: The call.
        share: The key under which the window counts it.
        limits: The limits it has to hold while it runs.
        exclusive: Whether it runs alone in its Group.
        lazy: Whether it runs only while somebody waits; until then it must hold nothing others wait for.
        gated: Whether it is still to be decided if the call may run.
        window: The one it is in.
    """

    __slots__ = ("exclusive", "gated", "item", "lazy", "limits", "share", "window")

    def __init__(
        self,
        item: T,
        share: object,
        limits: Sequence[Limit],
        *,
        exclusive: bool = False,
        lazy: bool = False,
        gated: bool = False,
    ) -> None:
        self.item = item
        self.share = share
        self.limits = tuple(limits)
        self.exclusive = exclusive
        self.lazy = lazy
        self.gated = gated
        self.window: Window[T]


class Window(Generic[T]):
    """The calls of one Group in call order, and how many of them may be in flight at once.

    Attributes:
        driven: Whether somebody waits, so that lazy calls may start too.
    """

    __slots__ = ("_alone", "_free", "_limits", "_running", "_waiting", "arrival", "driven")

    def __init__(
        self, entries: Iterable[Entry[T]], shares: dict[object, int | None], running: Iterable[Entry[T]] = ()
    ) -> None:
        """Take the calls; nothing starts yet.

        Args:
            entries: The calls, in call order.
            shares: For each key how many of its calls may run at once; None for no bound.
            running: Calls that run already, and are to be settled like the others.
        """
        self.arrival = next(_arrivals)
        self.driven = False
        self._waiting: dict[Entry[T], None] = dict.fromkeys(entries)
        self._free = {key: float("inf") if size is None else size for key, size in shares.items()}
        self._running: set[Entry[T]] = set(running)
        self._alone = False
        self._limits = {limit for entry in self._waiting for limit in entry.limits}
        for entry in self._waiting:
            entry.window = self
        for entry in self._running:
            entry.window = self
            self._free[entry.share] -= 1

    def take(self) -> list[Entry[T]]:
        """Start all that may start now, in call order; they hold their places until ``settle``."""
        chosen: list[Entry[T]] = []
        passed_over = False
        out_of_turn = False  # a lazy call is yet to be decided on: lazy ones run one after another, in order
        for entry in self._waiting:
            if self._alone or not any(free > 0 for free in self._free.values()):
                break
            if entry.exclusive and (passed_over or self._running):
                break  # the barrier: nothing behind it starts before it, nor it before what is ahead
            if not self._may_start(entry) or (entry.lazy and out_of_turn):
                if entry.exclusive:
                    break  # it holds up what is behind it, whatever it waits for itself
                passed_over = True
                out_of_turn = out_of_turn or (entry.lazy and entry.gated)
                continue
            self._hold(entry)
            chosen.append(entry)
        for entry in chosen:
            del self._waiting[entry]
        for limit in self._limits:  # be looked at again when one is given back, while anything here waits
            (limit.waiting.add if self._waiting else limit.waiting.discard)(self)
        return chosen

    def _may_start(self, entry: Entry[T]) -> bool:
        if entry.gated or (entry.lazy and not self.driven):
            return False
        return self._free[entry.share] > 0 and all(limit.held < limit.capacity for limit in entry.limits)

    def _hold(self, entry: Entry[T]) -> None:
        self._running.add(entry)
        self._free[entry.share] -= 1
        self._alone = entry.exclusive
        for limit in entry.limits:
            limit.held += 1

    def settle(self, entry: Entry[T]) -> list[Entry[T]]:
        """The call has its answer, whether it ran or only waited; start what may start because of it."""
        windows: set[Window[T]] = {self}
        if entry in self._running:
            self._running.remove(entry)
            self._free[entry.share] += 1
            if entry.exclusive:
                self._alone = False
            for limit in entry.limits:
                limit.held -= 1
                windows.update(limit.waiting)
        else:
            self._waiting.pop(entry, None)
        return [start for window in sorted(windows, key=lambda window: window.arrival) for start in window.take()]
