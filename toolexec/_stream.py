"""Stream: a response that is still coming in, and the starting of its calls meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from toolexec._discovery import chosen
from toolexec._errors import FormatError, Interrupt
from toolexec._functions import Functions
from toolexec._incoming import Incoming
from toolexec._json import is_object
from toolexec._launch import pick
from toolexec._owning import aabort, abort
from toolexec._provider import Reply
from toolexec._received import Received
from toolexec._waiting import refuse_running_loop

if TYPE_CHECKING:
    from toolexec._assembling import Whole
    from toolexec._calls import CallRecord
    from toolexec._context import Context
    from toolexec._function import Function
    from toolexec._strategy import Strategy
    from toolexec._task import Task

Start = bool | Callable[["Function"], bool]


class Stream:
    """A response that is still coming in: gives its items as they came, and starts its calls meanwhile.

    Made by ``Context.stream``; for one ``for`` or ``async for``.  After its end ``ctx.group()`` holds all
    calls of the response, in call order.  If it breaks, whether it raises, ends too early or its reader is
    cancelled, the calls it started are interrupted, the others cancelled, and there is nothing to send.

    As a context manager, sync or async, it counts a block that is left before its end, or by an exception,
    as a break, and waits until the calls it started have settled.
    """

    __slots__ = (
        "_barred",
        "_context",
        "_in_flight",
        "_incoming",
        "_items",
        "_known",
        "_lazy",
        "_over",
        "_queue",
        "_received",
        "_records",
        "_source",
        "_start",
    )

    def __init__(self, source: Any, incoming: Incoming, context: Context, start: Start) -> None:
        self._source: Any = (source,) if isinstance(source, str | bytes | bytearray) else source
        self._incoming = incoming
        self._context = context
        self._start = start
        self._items: Any = None
        self._known: dict[int, Function] = {}  # by their places in the response
        self._records: dict[int, CallRecord] = {}  # what was told of them
        self._received: Received | None = None
        self._over = False
        self._barred = False  # by an exclusive call: what comes after it may not start before it
        self._queue: list[tuple[Function, Strategy | None]] = []  # may start, once there is room
        self._in_flight: dict[Strategy, list[Task]] = {}
        self._lazy: dict[Strategy, bool] = {}
        _check_source(self._source)
        if not (isinstance(start, bool) or callable(start)):
            raise TypeError(f"start is {start!r}: it takes True, False, or a function that says so of each call")

    @property
    def functions(self) -> Functions:
        """The calls that are known so far, in call order."""
        return Functions(self._received.functions if self._received else (), self._context._open)

    # Reading it

    def __iter__(self) -> Iterator[Any]:
        """The items.

        Raises:
            TypeError: It is async; use ``async for``.
        """
        if not hasattr(self._source, "__iter__"):
            raise TypeError(f"a {type(self._source).__name__} is an async stream: use 'async for'")
        return self

    def __next__(self) -> Any:
        """The next item, once what it completes has started.

        Raises:
            FormatError: The stream is of no known format, or ended before its answer did.
        """
        if self._over:
            raise StopIteration
        try:
            if self._items is None:
                self._items = iter(self._source)
            for item in self._items:
                self._take(item)
                return item
            self._finish()
        except BaseException as exc:
            self._break(f"the response broke off: {type(exc).__name__}")
            raise
        raise StopIteration

    def __aiter__(self) -> AsyncIterator[Any]:
        """The items.

        Raises:
            TypeError: It is not async; use ``for``.
        """
        if not hasattr(self._source, "__aiter__"):
            raise TypeError(f"a {type(self._source).__name__} is no async stream: use 'for'")
        return self

    async def __anext__(self) -> Any:
        """The next item; see ``__next__``."""
        if self._over:
            raise StopAsyncIteration
        try:
            if self._items is None:
                self._items = aiter(self._source)
            # No 'async for': what it leaves early is a generator of the SDK's, which the reader may still close.
            try:
                item = await anext(self._items)
            except StopAsyncIteration:
                self._finish()
            else:
                self._take(item)
                return item
        except BaseException as exc:
            self._break(f"the response broke off: {type(exc).__name__}")
            raise
        raise StopAsyncIteration

    def __enter__(self) -> Self:
        refuse_running_loop("'async with', also around a sync 'for'")
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        if self._leave(exc):
            for task in self._tasks():
                abort(task._group, [task], task._wakers, task._done, exc or Interrupt())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        if self._leave(exc):
            for task in self._tasks():
                await aabort(task._group, [task], task._wakers, task._done, exc or Interrupt())

    def _leave(self, exc: BaseException | None) -> bool:
        """Whether the block is left as none should be; then what was started is asked to stop."""
        if not self._over:
            self._break("the response was left before its end")
        elif exc is not None:
            self._stop(f"its caller was stopped by {type(exc).__name__}")
        return exc is not None or (self._received is not None and self._received.state == "broken")

    def _tasks(self) -> list[Task]:
        return [function._task for function in self._known.values() if function._task is not None]

    # What it says

    def _take(self, item: Any) -> None:
        self._listen()
        for whole in self._incoming.feed(item):
            self._announce(whole)
        self._start_queued()

    def _finish(self) -> None:
        received = self._listen()
        wholes, reply = self._incoming.finish()
        for whole in wholes:
            self._announce(whole)
        for place, record in enumerate(reply.calls):
            if self._records.setdefault(place, record) != record:
                raise FormatError(f"the stream has changed its call of {record.name!r} after that was whole")
            if place not in self._known:
                self._known[place] = self._context._bind(record, self._incoming.provider, reply.model)
        received.reply = reply
        received.functions = tuple(self._known[place] for place in range(len(reply.calls)))
        received.provider = self._incoming.provider
        received.state = "whole"
        self._over = True

    def _break(self, reason: str) -> None:
        self._listen().state = "broken"
        self._over = True
        self._stop(reason)

    def __del__(self) -> None:
        # Left by a plain 'break': the response would stay open, and its calls run for nobody.
        if self._received is not None and not self._over:
            self._break("the response was left before its end")

    def _stop(self, reason: str) -> None:
        self._queue.clear()
        for function in self._known.values():
            if function._return is None:
                function.cancel(reason)

    def _listen(self) -> Received:
        """Its place in the conversation, which it has from the first item on."""
        if self._received is None:
            self._received = Received(Reply(()), None, (), "open")
            self._context._remember(self._received)
        return self._received

    def _announce(self, whole: Whole) -> None:
        if whole.place in self._known:
            raise FormatError(f"the stream tells twice of its call of {whole.record.name!r}")
        function = self._context._bind(whole.record, self._incoming.provider, self._incoming.model)
        self._known[whole.place], self._records[whole.place] = function, whole.record
        received = self._listen()
        if whole.place == len(received.functions):
            received.functions = (*received.functions, function)
        else:
            received.functions = tuple(self._known[place] for place in sorted(self._known))
        if self._barred:
            return
        definition = function._definition
        self._barred = definition.exclusive
        supervision = self._context._supervision
        if supervision is not None and supervision.holds(self._context, function):
            return
        wanted = self._start if isinstance(self._start, bool) else self._start(function)
        if wanted and definition.start_early and not definition.exclusive:
            strategy = pick(function, chosen(self._context._choice(function)))
            if strategy is None or not self._is_lazy(strategy):
                self._queue.append((function, strategy))

    # What it starts

    def _start_queued(self) -> None:
        """Start what may start, in the order it came; a strategy's window counts here as in a Group."""
        waiting: list[tuple[Function, Strategy | None]] = []
        full: set[Strategy] = set()
        for function, strategy in self._queue:
            if not function.pending:  # started, answered or cancelled by someone else
                continue
            if strategy is not None and (strategy in full or not self._has_room(strategy)):
                full.add(strategy)
                waiting.append((function, strategy))
                continue
            tasks = self._context._open([function], strategy, once=True).tasks
            if not tasks:  # another thread was faster
                continue
            function._ahead = True
            if strategy is not None:
                self._in_flight[strategy].append(tasks[0])
        self._queue = waiting

    def _has_room(self, strategy: Strategy) -> bool:
        alive = [task for task in self._in_flight.get(strategy, ()) if task.alive]
        self._in_flight[strategy] = alive
        return strategy.window is None or len(alive) < strategy.window

    def _is_lazy(self, strategy: Strategy) -> bool:
        """Whether calls run only when somebody waits for them: such a one can start no sooner."""
        lazy = self._lazy.get(strategy)
        if lazy is None:
            place = strategy.bind()
            lazy = self._lazy[strategy] = place.lazy
            place.release()
        return lazy


def _check_source(source: Any) -> None:
    if is_object(source):
        hint = f"give its {'stream'!r}" if "stream" in source else "a whole response goes into receive()"
    elif hasattr(source, "__iter__") or hasattr(source, "__aiter__"):
        return
    elif hasattr(source, "__await__"):
        hint = "await it first"
    elif hasattr(source, "__enter__") or hasattr(source, "__aenter__"):
        hint = "enter it first, and give what 'as' names"
    else:
        hint = "a whole response goes into receive()"
    raise FormatError(f"a {type(source).__name__} is no stream: {hint}")
