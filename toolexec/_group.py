"""Group: the tasks of one batch, in call order; waits on them."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from toolexec._as_finished import AsFinished
from toolexec._clock import Clock
from toolexec._control import CONTROL
from toolexec._errors import WaitTimeout, WrongLoop
from toolexec._loop_kind import running_loop
from toolexec._waiting import Wakers, apark, check_timeout, park, refuse_running_loop, wake_all

if TYPE_CHECKING:
    from toolexec._outcome import Outcome
    from toolexec._return import Return
    from toolexec._schedule import Window
    from toolexec._strategy import Place
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

# What a wait after an interrupt allows beyond grace, for threads to get their turn.  A guess.
_SLACK_S = 1.0

# Groups with a call that has not settled: a Group nobody holds goes on all the same.
LIVE: set[Group] = set()


class Group:
    """The tasks of one batch, in call order.

    Made by ``group()``; its calls are running when it is returned (under sequential they run when
    someone waits).  May be waited for from any number of threads and loops, any number of times.
    Both ``group.wait()`` and ``await group`` give the Returns in call order and raise nothing for a
    call that failed.

    As a context manager, sync or async, it is left only when every call has settled; an exception
    in the block interrupts them first.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: tuple[Task, ...] = ()
        self._places: tuple[Place, ...] = ()
        self._lazy: tuple[Place, ...] = ()
        self._finished: list[Task] = []  # in the order they settled; only ever appended to
        self._each: Wakers = []  # woken at every settle
        self._all: Wakers = []  # woken when all have settled
        self._completing = [1]
        self._starter: Callable[[Task], None]
        self._window: Window[Task] | None = None  # where the calls wait for each other or for limits
        self._stack: AsyncExitStack | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """One Task per call, in call order."""
        return self._tasks

    @property
    def returns(self) -> tuple[Return | None, ...]:
        """The Returns so far, in call order; None where a call has not settled."""
        return tuple(task._return for task in self._tasks)

    @property
    def alive(self) -> bool:
        """Whether a call has not settled."""
        return not self._done()

    def __len__(self) -> int:
        return len(self._tasks)

    def __bool__(self) -> bool:
        return True  # a Group of no calls is a Group

    def __repr__(self) -> str:
        return f"<Group of {len(self._tasks)}, {len(self._finished)} settled>"

    # Waiting

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> tuple[Return, ...]:
        """Block until every call has settled.

        Waiting again gives the same Returns and runs nothing again.

        Args:
            timeout: Seconds to wait at most; nothing is interrupted when they are over.  0 polls.
                Under sequential it is looked at between bodies.
            block_loop: Allow it on a running loop's thread, if no call needs that loop.

        Returns:
            The Returns, in call order.

        Raises:
            WrongLoop: This would block a running event loop; ``await group`` instead.
            WaitTimeout: Some have not settled; its ``unsettled`` has their ids.

        Cancellation: a KeyboardInterrupt, or anything else raised in here, interrupts the Group and
        is raised on once every call has settled or the grace is over.
        """
        check_timeout(timeout)
        if not self._done():
            self._refuse_loop(timeout, "await group", block_loop=block_loop, polls=True)
            self._wait(self._all, self._done, timeout, self._tasks)
        return self._answer(timeout)

    def __await__(self) -> Generator[Any, Any, tuple[Return, ...]]:
        return self._await_all().__await__()

    async def settled(self, timeout: float | None = None) -> tuple[Return, ...]:
        """Await that every call has settled, without owning them: being cancelled here interrupts nothing.

        Raises:
            WaitTimeout: Some have not settled after ``timeout`` seconds.
        """
        check_timeout(timeout)
        until = None if timeout is None else self._clock.now() + timeout
        await apark(self._all, self._done, self._clock, until)
        return self._answer(timeout)

    def __iter__(self) -> Iterator[Return]:
        """The Returns as calls finish.  Leaving early interrupts nothing.

        Raises:
            WrongLoop: On a running loop's thread, while a call has not settled; use ``async for``.
        """
        if not self._done():
            self._refuse_loop(None, "async for")
        return AsFinished(self)

    def __aiter__(self) -> AsyncIterator[Return]:
        """The Returns as calls finish.  Leaving early interrupts nothing."""
        return AsFinished(self)

    def __enter__(self) -> Self:
        if not self._done():
            self._refuse_loop(None, "async with")
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        if exc is None:
            self.wait()
        else:
            self._abort(self._tasks, self._all, self._done, exc)

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        for place in self._places:
            nursery = place.nursery()
            if nursery is not None:
                await self._stack.enter_async_context(nursery)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        assert self._stack is not None
        async with self._stack:
            if exc is None:
                await self._await_all()
            else:
                await self._aabort(self._tasks, self._all, self._done, exc)

    # The two ways to wait: on a thread, in a loop.  Lazy places run their calls in here.

    def _wait(self, wakers: Wakers, done: Callable[[], bool], timeout: float | None, owned: Sequence[Task]) -> None:
        clock = self._clock
        until = None if timeout is None else clock.now() + timeout
        try:
            if not self._lazy:
                park(wakers, done, clock, until)
                return
            more = partial(_more, done, clock, until)
            while more():
                self._be_driven()
                for place in self._lazy:
                    try:
                        place.drive(more)
                    except BaseException:  # a Ctrl-C that ended a body ends the Group, not one Task alone
                        owned = self._tasks
                        raise
                    finally:
                        wake_all(self._each)  # another waiter may be the one that drives from here on
                park(self._each, lambda: done() or any(place.ready() for place in self._lazy), clock, until)
        except BaseException as exc:
            self._abort(owned, wakers, done, exc)
            raise

    async def _await(self, wakers: Wakers, done: Callable[[], bool], owned: Sequence[Task]) -> None:
        clock = self._clock
        try:
            if done() and running_loop() == "trio":
                await sys.modules["trio"].lowlevel.checkpoint()
            if not self._lazy:
                await apark(wakers, done, clock, None)
                return
            more = partial(_more, done, clock, None)
            while more():
                self._be_driven()
                for place in self._lazy:
                    try:
                        await place.adrive(more)
                    finally:
                        wake_all(self._each)
                await apark(self._each, lambda: done() or any(place.ready() for place in self._lazy), clock, None)
        except GeneratorExit as exc:  # closed from outside: there is no loop any more to wait in
            self._ask_all(owned, exc)
            raise
        except BaseException as exc:
            await self._aabort(owned, wakers, done, exc)
            raise

    async def _await_all(self) -> tuple[Return, ...]:
        await self._await(self._all, self._done, self._tasks)
        return self._answer(None)

    def _be_driven(self) -> None:
        """Somebody waits: lazy calls may take their turn at windows and limits."""
        window = self._window
        if window is not None and not window.driven:
            CONTROL.post(partial(self._drive_window, window))

    def _drive_window(self, window: Window[Task]) -> None:
        window.driven = True
        for entry in window.take():
            self._starter(entry.item)

    def _abort(self, owned: Sequence[Task], wakers: Wakers, done: Callable[[], bool], exc: BaseException) -> None:
        """Whoever owns these calls is leaving: stop them, and wait for at most their grace."""
        park(wakers, done, self._clock, self._ask_all(owned, exc))

    async def _aabort(
        self, owned: Sequence[Task], wakers: Wakers, done: Callable[[], bool], exc: BaseException
    ) -> None:
        until = self._ask_all(owned, exc)
        if isinstance(exc, GeneratorExit):
            return  # whoever awaited was thrown away, its loop perhaps closed: nothing can be awaited any more
        with _shield():
            await apark(wakers, done, self._clock, until)

    def _ask_all(self, owned: Sequence[Task], exc: BaseException) -> float:
        for task in owned:
            task._ask(f"its caller was stopped by {type(exc).__name__}")
        graces = [task._strategy.grace for task in owned if task._strategy is not None and task._return is None]
        return self._clock.now() + max(graces, default=0.0) + _SLACK_S

    def _refuse_loop(
        self, timeout: float | None, instead: str, *, block_loop: bool = False, polls: bool = False
    ) -> None:
        if timeout == 0:
            return
        kind = running_loop()
        if kind is None:
            return
        if not block_loop:
            refuse_running_loop(f"{instead} (timeout=0 only polls)" if polls else instead)
        here: Any = sys.modules[kind]
        loop = here.get_running_loop() if kind == "asyncio" else here.lowlevel.current_trio_token()
        if any(place.bound_to(loop) for place in self._places):
            raise WrongLoop(f"a call here runs on the {kind} loop that this would block; use {instead}")

    def _done(self) -> bool:
        return len(self._finished) == len(self._tasks)

    def _answer(self, timeout: float | None) -> tuple[Return, ...]:
        if not self._done():
            raise WaitTimeout(timeout or 0.0, [task.function.id for task in self._tasks if task.alive])
        return tuple(self._answer_of(task) for task in self._tasks)

    def _answer_of(self, task: Task) -> Return:
        assert task._return is not None
        return task._return

    # For tasks

    def _publish(self, task: Task, outcome: Outcome) -> None:
        """A task has its outcome: trace it, make it visible, start what waited for it, wake who waits."""
        if task._tracing is not None and CONTROL.is_current():
            # The tracer is the user's code, and may block; the control thread must not.
            self._on_helper(self._finish, task, outcome)
        else:
            self._finish(task, outcome)

    def _on_helper(self, call: Callable[[Task, Outcome], None], task: Task, outcome: Outcome) -> None:
        try:
            threading.Thread(target=call, args=(task, outcome), name="toolexec-trace", daemon=True).start()
        except RuntimeError:  # the program exits, and starts no threads any more
            call(task, outcome)

    def _finish(self, task: Task, outcome: Outcome) -> None:
        task._publish(outcome)
        if task._strategy is not None:
            task._strategy._live.discard(task)
        self._finished.append(task)
        self._let_go(task)

    def _mend(self, task: Task, outcome: Outcome) -> None:
        """Do what is missing of a :meth:`_finish` that was cut short; on the control thread."""
        if task._return is None:
            self._on_helper(self._finish, task, outcome)
            return
        if task._strategy is not None:
            task._strategy._live.discard(task)
        if task not in self._finished:
            self._finished.append(task)
        wake_all(task._wakers)
        self._let_go(task)

    def _let_go(self, task: Task) -> None:
        """A task has finished: start what waited for it, wake who waits.  More than once does no harm."""
        entry = task._entry
        if entry is not None:
            CONTROL.post(lambda: [self._starter(start.item) for start in entry.window.settle(entry)])
        if self._done():
            self._complete()
            wake_all(self._all)
        wake_all(self._each)

    def _complete(self) -> None:
        try:
            self._completing.pop()
        except IndexError:  # two calls settled at once, and both saw that all had
            return
        for place in self._places:
            place.release()
        LIVE.discard(self)

    def _tell(self, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """Call a user's callback in a copy of the submitter's context; one that raises is logged."""
        try:
            context.copy().run(callback, *args)
        except Exception:  # noqa: BLE001 - a callback is the user's code
            _log.exception("toolexec: the callback %r raised", callback)


def _more(done: Callable[[], bool], clock: Clock, until: float | None) -> bool:
    return not done() and (until is None or clock.now() < until)


def _shield() -> AbstractContextManager[Any]:
    """Under trio a cancelled scope raises at every await; asyncio cancels once, and needs nothing."""
    if running_loop() == "trio":
        return sys.modules["trio"].CancelScope(shield=True)  # type: ignore[no-any-return]  # trio is not imported here
    return nullcontext()
