"""Group: the tasks of one batch, in call order; waits on them."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from toolexec._as_finished import AsFinished
from toolexec._beside import run_beside
from toolexec._call_state import Ask, check_reason
from toolexec._clock import Clock
from toolexec._control import CONTROL
from toolexec._errors import WaitTimeout, WrongLoop
from toolexec._events import Event, Events, Settled
from toolexec._ladder import ask_all, interrupt_all
from toolexec._loop_kind import running_loop
from toolexec._owning import aabort, abort, await_, wait
from toolexec._waiting import Wakers, apark, check_timeout, refuse_running_loop, wake_all

if TYPE_CHECKING:
    from toolexec._call_state import CallState
    from toolexec._function import Function
    from toolexec._job import Owner
    from toolexec._outcome import Outcome
    from toolexec._return import Return
    from toolexec._schedule import Entry, Window
    from toolexec._strategy import Place, Strategy
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

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
        # Those that have not settled; a pop is atomic: of several who settle one, whoever pops it does.
        self._open: dict[Task, bool] = {}
        self._strategies: tuple[Strategy, ...] = ()
        self._places: tuple[Place, ...] = ()
        self._lazy: tuple[Place, ...] = ()
        self._finished: list[Task] = []  # in the order they settled; only ever appended to
        self._each: Wakers = []  # woken at every settle
        self._all: Wakers = []  # woken when all have settled
        self._completing = [1]
        self._starter: Callable[[Task], None]
        self._window: Window[Task] | None = None  # where the calls wait for each other or for limits
        self._stack: AsyncExitStack | None = None
        self._in_loop = False  # is the clock that of the caller's loop?
        self._context: object = None  # the Context it belongs to
        self._note: Callable[[Function], None] | None = None  # is to hear of calls that are put off
        self._parent: CallState | None = None  # the call whose body made it
        self._undo: list[Callable[[], None]] = []  # timers, to be cancelled when all have settled
        self._pressed: list[BaseException] = []  # a Ctrl-C that ended a body, for whoever waits
        self._listeners: list[Callable[[Event], object]] = []
        # Calls that were started ahead, each in a Group of its own, join the Group of their response.
        self._followers: list[Group] = []  # the Groups that the calls here have joined
        self._joined: dict[Task, Entry[Task] | None] = {}  # those that have joined this one, till they settle

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

    def events(self) -> Events:
        """What happens to the calls, as it happens: ``Started``, ``Progress``, ``Output``, ``Settled``.

        For ``for`` and ``async for``.  It begins with what has started and settled already, and ends
        when every call's ``Settled`` was given.  Leaving early interrupts nothing.
        """
        return Events(self)

    def interrupt(self, reason: str = "interrupted", *, after_running: bool = False) -> None:
        """Ask every call to stop; see :meth:`Task.interrupt`.  Any thread, loop or signal handler.

        Args:
            reason: Why, in words fit for the model.
            after_running: What runs may finish, what waits never starts.
        """
        interrupt_all(self._tasks, Ask(check_reason(reason), tells=True), after_running=after_running)

    cancel = interrupt

    def __enter__(self) -> Self:
        if not self._done():
            self._refuse_loop(None, "async with")
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        if exc is None:
            self.wait()
        else:
            abort(self, self._tasks, self._all, self._done, exc)

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
                await aabort(self, self._tasks, self._all, self._done, exc)

    # The two ways to wait: on a thread, in a loop.  Lazy places run their calls in here.

    def _wait(self, wakers: Wakers, done: Callable[[], bool], timeout: float | None, owned: Sequence[Task]) -> None:
        wait(self, wakers, done, timeout, owned)
        self._raise_pressed()

    async def _await(self, wakers: Wakers, done: Callable[[], bool], owned: Sequence[Task]) -> None:
        await await_(self, wakers, done, owned)
        self._raise_pressed()

    def _raise_pressed(self) -> None:
        """A Ctrl-C ended a body: whoever waits first has to see it."""
        if self._pressed:
            ctrl_c = self._pressed.pop()
            self._pressed.clear()
            raise ctrl_c

    async def _await_all(self) -> tuple[Return, ...]:
        await self._await(self._all, self._done, self._tasks)
        return self._answer(None)

    def _ask(self, ask: Ask) -> None:
        """Ask every call to stop."""
        ask_all(self._tasks, ask)

    def _be_driven(self) -> None:
        """Somebody waits: lazy calls may take their turn at windows and limits."""
        window = self._window
        if window is not None and not window.driven:
            CONTROL.post(partial(self._drive_window, window))

    def _drive_window(self, window: Window[Task]) -> None:
        window.driven = True
        for entry in window.take():
            self._starter(entry.item)

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
        if any(task._place is not None and task._place.bound_to(loop) for task in self._tasks):
            raise WrongLoop(f"a call here runs on the {kind} loop that this would block; use {instead}")

    def _done(self) -> bool:
        return len(self._finished) == len(self._tasks)

    def _more(self) -> bool:
        return len(self._finished) < len(self._tasks)

    def _answer(self, timeout: float | None) -> tuple[Return, ...]:
        self._raise_pressed()
        if not self._done():
            raise WaitTimeout(timeout or 0.0, [task.function.id for task in self._tasks if task.alive])
        return tuple([task._return for task in self._tasks if task._return is not None])

    # For tasks

    def _owners_in(self, strategy: Strategy) -> list[Owner]:
        return [task for task in self._tasks if task._return is None and strategy in task._strategies()]

    def _finish(self, task: Task, outcome: Outcome) -> None:
        """A task has its outcome: trace it, make it visible, start what waited for it, wake who waits."""
        task._publish(outcome)
        self._finished.append(task)
        if self._listeners:
            self._emit_settled(task)
        if task._entry is not None or self._each or self._followers or len(self._finished) == len(self._tasks):
            self._let_go(task, task._entry)

    def _follow(self, tasks: Iterable[Task]) -> None:
        """Be told when these, which are in Groups of their own, settle."""
        for task in tasks:
            self._pressed.extend(task._group._pressed)
            # First to be among those who are told, and then a look: whoever settles does it the other way round.
            task._group._followers.append(self)
            if task._return is not None:
                self._hear(task)

    def _hear(self, task: Task) -> None:
        """A task that has joined has settled; told twice, it counts once."""
        try:
            entry = self._joined.pop(task)
        except KeyError:
            return
        try:
            self._count(task, entry)
        except BaseException:  # a Ctrl-C; half counted, whoever waits would wait for ever
            CONTROL.post(partial(self._count, task, entry))
            raise

    def _count(self, task: Task, entry: Entry[Task] | None) -> None:
        if task not in self._finished:
            self._finished.append(task)
        self._emit_settled(task)
        self._let_go(task, entry)

    def _press(self, exc: BaseException) -> bool:
        """A Ctrl-C ended a body; whether it was not the first."""
        again = bool(self._pressed)
        self._pressed.append(exc)
        return again

    def _emit_settled(self, task: Task) -> None:
        if self._listeners and task._return is not None:
            self._emit(Settled(task, task._return))

    def _mend(self, task: Task, outcome: Outcome) -> None:
        """Do what is missing of a :meth:`_finish` that was cut short; on the control thread."""
        if task._return is None:
            run_beside(partial(self._finish, task, outcome), "trace")
            return
        if task not in self._finished:
            self._finished.append(task)
        self._emit_settled(task)
        wake_all(task._wakers)
        self._let_go(task, task._entry)

    def _let_go(self, task: Task, entry: Entry[Task] | None) -> None:
        """A task has finished: start what waited for it, wake who waits.  More than once does no harm."""
        if entry is not None:
            CONTROL.post(lambda: [self._starter(start.item) for start in entry.window.settle(entry)])
        if len(self._finished) == len(self._tasks):
            self._complete()
            wake_all(self._all)
        if self._each:
            wake_all(self._each)
        for follower in self._followers:
            follower._hear(task)

    def _complete(self) -> None:
        try:
            self._completing.pop()
        except IndexError:  # two calls settled at once, and both saw that all had
            return
        for undo in self._undo:
            undo()
        if self._parent is not None:
            self._parent.inner.remove(self)
        for place in self._places:
            place.release()
        for strategy in self._strategies:
            strategy._live.discard(self)
        LIVE.discard(self)

    def _emit(self, event: Event) -> None:
        """Tell who walks over ``events()``."""
        for listener in self._listeners[:]:
            listener(event)
        if self._listeners:
            wake_all(self._each)

    def _tell(self, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """Call a user's callback in a copy of the submitter's context; one that raises is logged."""
        try:
            context.copy().run(callback, *args)
        except Exception:  # noqa: BLE001 - a callback is the user's code
            _log.exception("toolexec: the callback %r raised", callback)
