"""Launching: from Functions to the started Tasks of one Group."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from toolexec._arguments import Plain
from toolexec._call_state import Ask, CallState
from toolexec._clock import MONOTONIC, Clock
from toolexec._control import CONTROL
from toolexec._deadline import check_limit, start_group_clock
from toolexec._discovery import chosen, shared
from toolexec._errors import ArgumentsError, Interrupt, NoSuchToolError, UnsendableError, WorkerLost
from toolexec._group import LIVE, Group
from toolexec._here import CURRENT
from toolexec._inject import Sources, check_injected, injected_into
from toolexec._job import Job, Parcel
from toolexec._lifecycle import refuse_when_exiting
from toolexec._loop_kind import running_loop
from toolexec._outcome import Outcome
from toolexec._owning import abort
from toolexec._runner import entry
from toolexec._schedule import Entry, Limit, Window
from toolexec._strategy import Place, Strategy, check_window
from toolexec._task import Task
from toolexec._tracer import Tracer, Tracing
from toolexec._waiting import wake_all

if TYPE_CHECKING:
    from toolexec._function import Function


_NOTHING: Mapping[str, Any] = {}


def launch_one(function: Function, choice: Any, **options: Any) -> Task:
    """Start one call; a ``choice`` of the caller's goes before the tool's own."""
    own = function._definition.strategy
    return launch([function], [choice if choice is not None else own], **options).tasks[0]


def launch(
    functions: Sequence[Function],
    choices: Sequence[Any],
    *,
    window: int | None = None,
    clock: Clock = MONOTONIC,
    tracing: Tracing | None = None,
    on_progress: Callable[..., object] | None = None,
    timeout: float | None = None,
    call_timeout: float | None = None,
    context: object = None,
    stopped: Callable[[Function], str | None] | None = None,
) -> Group:
    """Claim the calls, bind them, and start everything the window allows.

    Args:
        functions: The calls, in call order.
        choices: The strategy for each: a name, an instance, or None for ``auto``.
        window: How many may be in flight at once, over all strategies; None leaves it to each.
        clock: Tells the time.
        tracing: Traces the calls that have no tracer of their own.
        on_progress: Called with every report of progress.
        timeout: Seconds that the Group has, from now.
        call_timeout: Seconds that each call has, from the start of its body, beside its tool's own limits.
        context: The Context that the Group belongs to.
        stopped: Why a call of that Context may not start, or None.

    Raises:
        UnknownStrategy, StrategyUnavailable, DeclarationError, RuntimeError, ValueError: Nothing was started.
    """
    check_window(window)
    timeout = check_limit("timeout", timeout)
    call_timeout = check_limit("timeout", call_timeout)
    _check_callback(on_progress)
    refuse_when_exiting()
    # Everything that can be wrong with the use, before the first call is claimed.
    strategies = [_pick(function, chosen(choice)) for function, choice in zip(functions, choices, strict=True)]
    for function in functions:
        if function._definition.source is not None and not isinstance(function.arguments, Plain):
            check_injected(function.name, function._parameters.injected, context, _deps(context))
    places = {strategy: strategy.bind() for strategy in dict.fromkeys(strategies) if strategy is not None}
    group = _group_in(tuple(places.values()), clock)
    group._context = context
    group._starter = _start
    parent = CURRENT.get()
    refused: list[tuple[Task, Outcome]] = []
    ready: list[Task] = []
    tasks: list[Task] = []
    try:
        for function, strategy in zip(functions, strategies, strict=True):
            own = function.tracer
            task = Task(function, group, copy_context(), tracing if own is None else _tracing(own, tracing))
            task._on_progress = on_progress
            task._limits = function._definition.time_limits.or_call(call_timeout)
            tasks.append(task)
            function._task = task
            function._claimed = True
            bound = _bind(task, strategy, parent, tracing)
            if isinstance(bound, Outcome):
                refused.append((task, bound))
            else:
                assert strategy is not None
                task._job, task._strategy, task._place = bound, strategy, places[strategy]
                bound.call.lazy = task._place.lazy
                ready.append(task)
        group._tasks = tuple(tasks)  # from here on each of them gets a Return
        if timeout is not None and ready:
            start_group_clock(group, timeout)
        if parent is not None and ready:
            group._parent = parent
            parent.inner.append(group)
        _begin(group, ready, refused, window, stopped)
    except BaseException as exc:  # a Ctrl-C, anywhere
        if group._tasks:
            _end(group, refused, exc)
        else:
            _give_back(tasks, places.values())
        raise
    return group


def _check_callback(on_progress: object) -> None:
    if on_progress is not None and not callable(on_progress):
        raise TypeError(f"on_progress is {on_progress!r}: it takes a function, which is called with each Progress")


def _group_in(places: tuple[Place, ...], clock: Clock) -> Group:
    """A Group in these places, by the clock of the caller's loop where calls run in that."""
    loop_clock = next((own for place in places if (own := place.clock()) is not None), None)
    in_loop = clock is MONOTONIC and loop_clock is not None
    group = Group(loop_clock if in_loop and loop_clock is not None else clock)
    group._in_loop = in_loop
    group._places = places
    group._lazy = tuple(place for place in places if place.lazy)
    if len(group._lazy) < len(places):
        CONTROL.ensure()  # a call that may outlive the program's end will need its timers then
    return group


def _begin(
    group: Group,
    ready: Sequence[Task],
    refused: Sequence[tuple[Task, Outcome]],
    window: int | None,
    stopped: Callable[[Function], str | None] | None,
) -> None:
    if group._tasks:
        LIVE.add(group)
    # Whoever interrupts the Context, or the call around this, or closes the strategy, sets a flag and
    # then looks which calls there are; here it is the other way round.  So one of the two sees the other.
    parent = group._parent
    for task in ready:
        _enlist(task)
        if parent is not None and parent.asked:
            task._ask(Ask(parent.reason))
        if stopped is not None and (reason := stopped(task.function)) is not None:
            task._ask(Ask(reason))
    for task, outcome in refused:
        task._refuse(outcome)
    _start_all(ready, window)


def _end(group: Group, refused: Sequence[tuple[Task, Outcome]], exc: BaseException) -> None:
    """What has begun is stopped, the rest never begins."""
    for task, outcome in refused:
        if task.alive:
            task._refuse(outcome)
    abort(group, group._tasks, group._all, group._done, exc)


def _give_back(tasks: Iterable[Task], places: Iterable[Place]) -> None:
    """Undo the claim of calls none of which has begun."""
    for task in tasks:
        task.function._claimed = False
        task.function._task = None
    for place in places:
        place.release()


def _enlist(task: Task) -> None:
    """From here on closing the strategy reaches the call; or it was closed since it was chosen."""
    strategy = task._strategy
    assert strategy is not None
    strategy._live.add(task)
    if strategy.closed:
        task._ask(Ask("its strategy was closed"))


def _pick(function: Function, strategy: Strategy | None) -> Strategy | None:
    """The strategy of one call, ``auto`` resolved; None for a tool that is not there."""
    if strategy is not None or function._definition.source is None:
        return strategy
    if not function._definition.is_async:
        return shared("thread")
    return shared(running_loop() or function._definition.loop)


def _tracing(own: Tracer, default: Tracing | None) -> Tracing:
    return default if default is not None and default.tracer is own else Tracing(own)


def _bind(task: Task, strategy: Strategy | None, parent: CallState | None, tracing: Tracing | None) -> Job | Outcome:
    """A job for the call, or the outcome that refuses it."""
    function = task.function
    definition = function._definition
    if definition.source is None or strategy is None:
        return Outcome(
            "unknown_tool", function.unavailable().value, exception=NoSuchToolError(f"no tool named {function.name!r}")
        )
    call = CallState(function.id, function.name, task._group._clock, parent=parent)
    try:
        fill = _fill(task, strategy, call, tracing)
    except UnsendableError as exc:
        return Outcome("unsendable", exception=exc)
    try:
        args, kwargs = _take(function, fill)
        # An isolated call's runner lives where its body does; this process's copy is not told of its interrupt.
        call.runner = runner = None if strategy.isolated else function.runner
    except ArgumentsError as exc:
        return Outcome("bad_arguments", exception=exc)
    except BaseException as exc:
        # An Interrupt here is for the call whose body starts this one, and not this one's fault.
        if isinstance(exc, KeyboardInterrupt) or (isinstance(exc, Interrupt) and parent is not None and parent.asked):
            raise
        return Outcome("raised", exception=exc)
    call.grace = strategy.grace  # a body may end by its interrupt before the ladder has set the exact one
    job = Job(
        task,
        Parcel(
            function.id,
            function.name,
            definition.source,
            args,
            kwargs,
            definition.loop,
            task._limits.timeout,
            definition.deliver == "poll",
        ),
        is_async=definition.is_async,
        entry=None if strategy.isolated else entry(runner),
        context=task._context,
        call=call,
    )
    # What an ancestor holds, a call inside it need not wait for: it would wait for ever.
    call.limits = tuple(limit for limit in definition.limits if limit not in _held(parent))
    return job


def _take(function: Function, fill: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What the body is given, by position and by keyword; a model's arguments are validated."""
    given = function.arguments
    return given if isinstance(given, Plain) else function._parameters.take(given, fill)


def _deps(context: Any) -> Mapping[Any, Any]:
    return {} if context is None else context._deps


def _fill(task: Task, strategy: Strategy, call: CallState, tracing: Tracing | None) -> Mapping[str, Any]:
    """The values of the parameters that are not the model's."""
    function = task.function
    injected = () if isinstance(function.arguments, Plain) else function._parameters.injected
    if not injected:
        return _NOTHING
    context: Any = task._group._context
    default = Tracer() if tracing is None else tracing.tracer
    tracer = default if function.tracer is None else function.tracer
    return injected_into(
        function.name, injected, Sources(call, context, _deps(context), tracer, isolated=strategy.isolated)
    )


def _held(call: CallState | None) -> set[Limit]:
    held: set[Limit] = set()
    while call is not None:
        held.update(call.limits)
        call = call.parent
    return held


def _start_all(tasks: Sequence[Task], window: int | None) -> None:
    """Start what may start; the rest is left to the control thread, as calls settle."""
    limited = False
    shares: dict[object, int | None] = {}
    counts: dict[object, int] = {}
    concurrent = False
    entries: list[Entry[Task]] = []
    for task in tasks:
        strategy, place, job = task._strategy, task._place, task._job
        assert strategy is not None
        assert place is not None
        assert job is not None
        key: object = None if window is not None else strategy
        # A lazy place runs its calls one at a time by itself.
        shares[key] = window if window is not None else None if place.lazy else strategy.window
        counts[key] = counts.get(key, 0) + 1
        concurrent = concurrent or not place.lazy
        exclusive = task.function._definition.exclusive
        limited = limited or exclusive or bool(job.call.limits)
        entries.append(Entry(task, key, job.call.limits, exclusive=exclusive, lazy=place.lazy))
    crowded = concurrent and any((size := shares[key]) is not None and count > size for key, count in counts.items())
    if not limited and not crowded:
        for task in tasks:
            _start(task)
        return
    opening = Window(entries, shares)
    tasks[0]._group._window = opening
    for entry_ in entries:
        entry_.item._entry = entry_
    if not limited:
        # Only this Group's own window is concerned, and nobody else knows it yet.
        for entry_ in opening.take():
            _start(entry_.item)
        return
    # Limits are shared with other Groups, so the control thread decides; what may start has started
    # before this returns.
    opened: queue.SimpleQueue[None] = queue.SimpleQueue()

    def open_window() -> None:
        for entry_ in opening.take():
            _start(entry_.item)
        opened.put(None)

    CONTROL.post(open_window)
    opened.get()


def _start(task: Task) -> None:
    job, place = task._job, task._place
    assert job is not None
    assert place is not None
    # In this order: an interrupt first sets the flag and then looks whether the job was handed over.
    task._handed = True
    if job.asked or job.call.barred is not None:
        if job.call.barred is not None:
            job.call.ask(job.call.barred)
        job.deliver(job.stopped())
        return
    try:
        place.start(job)
    except Exception as exc:  # noqa: BLE001 - a strategy that cannot start a call must not lose it
        lost = WorkerLost(f"its strategy could not start the call: {type(exc).__name__}: {exc}")
        lost.__cause__ = exc
        job.deliver(Outcome("lost", exception=lost))
    if place.lazy:
        wake_all(task._group._each)  # who waits runs it
