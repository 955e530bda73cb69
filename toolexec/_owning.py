"""Owning calls: waiting for them, running the lazy ones meanwhile, stopping them all when that wait is cut."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from toolexec._call_state import Ask
from toolexec._clock import MONOTONIC, Clock
from toolexec._control import CONTROL
from toolexec._ladder import ask_all, finish_off
from toolexec._loop_kind import running_loop, shield
from toolexec._waiting import Wakers, apark, park, wake_all

if TYPE_CHECKING:
    from toolexec._group import Group
    from toolexec._task import Task

# What a wait after an interrupt allows beyond grace, for threads to get their turn.  A guess.
_SLACK_S = 1.0

# How much of an outer call's grace the wait for its inner calls may take: a little more than these
# have themselves (see the ladder), a little less than all.
_INNER_SHARE = 0.9


def wait(group: Group, wakers: Wakers, done: Callable[[], bool], timeout: float | None, owned: Sequence[Task]) -> None:
    clock = _threads_clock(group)
    until = None if timeout is None else clock.now() + timeout
    try:
        if not group._lazy:
            park(wakers, done, clock, until)
            return
        more = group._more if until is None and done == group._done else partial(_more, done, clock, until)
        while more():
            group._be_driven()
            for place in group._lazy:
                try:
                    place.drive(more)
                except BaseException:  # a Ctrl-C that ended a body ends the Group, not one Task alone
                    owned = group._tasks
                    raise
                finally:
                    wake_all(group._each)  # another waiter may be the one that drives from here on
            park(group._each, lambda: done() or any(place.ready() for place in group._lazy), clock, until)
    except BaseException as exc:
        abort(group, owned, wakers, done, exc)
        raise


async def await_(group: Group, wakers: Wakers, done: Callable[[], bool], owned: Sequence[Task]) -> None:
    clock = group._clock
    try:
        if done() and running_loop() == "trio":
            await sys.modules["trio"].lowlevel.checkpoint()
        if not group._lazy:
            await apark(wakers, done, clock, None)
            return
        more = partial(_more, done, clock, None)
        while more():
            group._be_driven()
            for place in group._lazy:
                try:
                    await place.adrive(more)
                finally:
                    wake_all(group._each)
            await apark(group._each, lambda: done() or any(place.ready() for place in group._lazy), clock, None)
    except GeneratorExit as exc:  # closed from outside: there is no loop any more to wait in
        _ask_all(group, owned, exc)
        raise
    except BaseException as exc:
        await aabort(group, owned, wakers, done, exc)
        raise


def abort(group: Group, owned: Sequence[Task], wakers: Wakers, done: Callable[[], bool], exc: BaseException) -> None:
    """Whoever owns these calls is leaving: stop them, and wait for at most their grace.

    A second Ctrl-C ends that wait at once, and what can be killed is.
    """
    clock = _threads_clock(group)
    over = _over(group, done, exc)
    try:
        park(wakers, over, clock, clock.now() + _ask_all(group, owned, exc))
    except BaseException:
        _finish_off(owned)
        raise
    _after_abort(group, owned, done, over)


async def aabort(
    group: Group, owned: Sequence[Task], wakers: Wakers, done: Callable[[], bool], exc: BaseException
) -> None:
    allowed = _ask_all(group, owned, exc)
    if isinstance(exc, GeneratorExit):
        return  # whoever awaited was thrown away, its loop perhaps closed: nothing can be awaited any more
    over = _over(group, done, exc)
    try:
        with shield():
            await apark(wakers, over, group._clock, group._clock.now() + allowed)
    except BaseException:
        _finish_off(owned)
        raise
    _after_abort(group, owned, done, over)


def _over(group: Group, done: Callable[[], bool], exc: BaseException) -> Callable[[], bool]:
    """Whether the wait after an interrupt is over: all have settled, or a second Ctrl-C ended a body."""
    before = 0 if isinstance(exc, KeyboardInterrupt) else len(group._pressed)
    return lambda: done() or len(group._pressed) > before


def _after_abort(group: Group, owned: Sequence[Task], done: Callable[[], bool], over: Callable[[], bool]) -> None:
    if over() and not done():
        _finish_off(owned)
    group._pressed.clear()  # whoever waits raises already


def _finish_off(owned: Sequence[Task]) -> None:
    for task in owned:
        CONTROL.post(partial(finish_off, task))


def _ask_all(group: Group, owned: Sequence[Task], exc: BaseException) -> float:
    """Ask them; how many seconds to wait for them then."""
    ask_all(owned, Ask(f"its caller was stopped by {type(exc).__name__}"))
    graces = [task._strategy.grace for task in owned if task._strategy is not None and task._return is None]
    allowed = max(graces, default=0.0) + _SLACK_S
    parent = group._parent
    if parent is not None and (left := parent.grace_left()) is not None:
        # Whoever waits here is itself a call that was asked to stop, and shall end in time.
        allowed = min(allowed, _INNER_SHARE * left)
    return allowed


def _threads_clock(group: Group) -> Clock:
    """What a thread waits by: a loop's clock may stand still, as long as something blocks the loop."""
    return MONOTONIC if group._in_loop else group._clock


def _more(done: Callable[[], bool], clock: Clock, until: float | None) -> bool:
    return not done() and (until is None or clock.now() < until)
