"""Launching: from Functions to the started Tasks of one Group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from toolexec._admission import Admission
from toolexec._arguments import Plain
from toolexec._binding import bind_call, deps_of
from toolexec._call_state import Ask, CallState
from toolexec._claim import claim, unclaim
from toolexec._clock import MONOTONIC, Clock
from toolexec._control import CONTROL
from toolexec._deadline import start_group_clock
from toolexec._deferred import the_deferred
from toolexec._discovery import chosen, shared
from toolexec._errors import ToolexecError
from toolexec._group import LIVE, Group
from toolexec._here import CURRENT
from toolexec._inject import check_injected
from toolexec._ladder import ask_all
from toolexec._lifecycle import refuse_when_exiting
from toolexec._loop_kind import running_loop
from toolexec._opening import open_group, start
from toolexec._outcome import Outcome
from toolexec._owning import abort
from toolexec._strategy import Place, Strategy, check_window
from toolexec._task import Task
from toolexec._time_limits import NO_LIMITS, check_limit
from toolexec._tracer import Tracer, Tracing, current_tracing

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._job import Job
    from toolexec._supervision import Supervision


_NO_CHOICE = object()


def launch_one(function: Function, choice: Any, **options: Any) -> Task:
    """Start one call; a ``choice`` of the caller's goes before the tool's own."""
    own = function._definition.strategy
    return launch([function], [choice if choice is not None else own], **function._launching, **options).tasks[0]


def launch_deferred(function: Function, choice: Any, **options: Any) -> Task:
    """Start, or answer, a call that was put off; of several who do so at once one does.

    Raises:
        ToolexecError: It is not deferred, or somebody else was sooner; nothing was started.
    """
    behind = function._task
    the_deferred((), function)  # after the look at its Task: another one is there only once the Return is taken away
    tasks = launch([function], [choice], once=True, behind=behind, **options).tasks
    if not tasks:
        raise ToolexecError(f"the call {function!r} was settled by somebody else at this moment")
    return tasks[0]


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
    context: Any = None,
    stopped: Callable[[], Callable[[Function], str | None] | None] | None = None,
    supervision: Supervision | None = None,
    decided: bool = False,
    answer: Outcome | None = None,
    supervised: bool = True,
    once: bool = False,
    behind: Task | None = None,
    note: Callable[[Function], None] | None = None,
) -> Group:
    """Claim the calls, bind them, and start everything the window allows.

    Args:
        functions: The calls, in call order.
        choices: The strategy for each: a name, an instance, or None for ``auto``.
        window: How many may be in flight at once, over all strategies; None leaves it to each.
        clock: Tells the time.
        tracing: Traces the calls that have no tracer of their own; by default what traces the call around them.
        on_progress: Called with every report of progress.
        timeout: Seconds that the Group has, from now.
        call_timeout: Seconds that each call has, from the start of its body, beside its tool's own limits.
        context: The Context that the Group belongs to.
        stopped: What tells why a call of that Context may not start; None while all may.
        supervision: What that Context lets run.
        decided: Whether that need not be asked: these may run.
        answer: What they have come to already; nothing runs.
        supervised: Whether anybody is to have a say in them.
        once: Whether calls that somebody else has claimed meanwhile are left to them.
        behind: Then whose Return is to be replaced, which was no more than deferred.
        note: Called with each call that is put off, before anyone else can see that.

    Raises:
        UnknownStrategy, StrategyUnavailable, DeclarationError, RuntimeError, ValueError: Nothing was started.
    """
    check_window(window)
    timeout = check_limit("timeout", timeout)
    call_timeout = check_limit("timeout", call_timeout)
    _check_callback(on_progress)
    refuse_when_exiting()
    # Everything that can be wrong with the use, before the first call is claimed.
    ahead = {id(function): function._task for function in functions if function._ahead}  # once: another thread may ask
    strategies: list[Strategy | None] = [None] * len(functions)
    if answer is None:
        strategies = _picked(functions, choices, ahead)
        _check_injected(functions, context)
    places = {strategy: strategy.bind() for strategy in dict.fromkeys(strategies) if strategy is not None}
    group = _group_in(tuple(places.values()), clock)
    group._context = context
    group._note = note
    group._starter = start
    parent = CURRENT.get()
    if tracing is None:
        tracing = current_tracing()
    refused: list[tuple[Task, Outcome]] = []
    tasks: list[Task] = []
    admission = Admission(context, supervision, stopped, decided=decided, answer=answer) if supervised else None
    try:
        to_bind = _claimed(group, tasks, zip(functions, strategies, strict=True), ahead, behind, once=once)
        _hand_options(group._open, tracing, on_progress, call_timeout)
        for task, strategy in to_bind:
            if admission is not None and (admission.concerns_all or task.function.intercept is not None):
                bound = admission.first_job(task, strategy, parent, places)
            else:
                bound = bind_call(task, strategy, parent)
            if isinstance(bound, Outcome):
                refused.append((task, bound))
            else:
                _give_place(task, bound, strategy, places)
        group._strategies, group._places = tuple(places), tuple(places.values())
        _hold(group, tasks, parent, timeout)  # from here on each of them gets a Return
        _begin(group, refused, window, stopped)
    except BaseException as exc:  # a Ctrl-C, anywhere
        if group._tasks:
            _end(group, refused, exc)
        else:
            _give_back((task for task in tasks if task._group is group), places.values())
        raise
    return group


def _claimed(
    group: Group,
    tasks: list[Task],
    calls: Iterable[tuple[Function, Strategy | None]],
    ahead: Mapping[int, Task | None],
    behind: Task | None,
    *,
    once: bool,
) -> list[tuple[Task, Strategy | None]]:
    """Claim the calls; ``tasks`` gets those that have started ahead as well."""
    claimed: list[tuple[Task, Strategy | None]] = []
    now = group._clock.now()
    for function, strategy in calls:
        if ahead and (started := ahead.get(id(function))) is not None:
            tasks.append(started)
            continue
        task = Task(function, group, copy_context(), now)
        tasks.append(task)
        group._open[task] = True
        if claim(function, task, behind, once=once):
            claimed.append((task, strategy))
        else:
            tasks.pop()
            del group._open[task]
    return claimed


def _hand_options(
    tasks: Iterable[Task],
    tracing: Tracing | None,
    on_progress: Callable[..., object] | None,
    call_timeout: float | None,
) -> None:
    for task in tasks:
        function = task.function
        if function.tracer is not None:
            task._trace(_tracing(function.tracer, tracing))
        elif tracing is not None:
            task._trace(tracing)
        if on_progress is not None:
            task._on_progress = on_progress
        limits = function._definition.time_limits
        if limits is not NO_LIMITS or call_timeout is not None:
            task._limits = limits.or_call(call_timeout)


def _give_place(task: Task, job: Job, strategy: Strategy | None, places: Mapping[Strategy, Place]) -> None:
    task._job = job
    place = task._place  # where a decision is awaited
    if place is None and strategy is not None:
        place = places[strategy]
        task._strategy, task._place = strategy, place
    if place is not None and place.lazy:
        job.call.lazy = True


def _check_injected(functions: Sequence[Function], context: Any) -> None:
    for function in functions:
        if function._definition.source is None or type(function.arguments) is Plain:
            continue
        if injected := function._parameters.injected:
            check_injected(function.name, injected, context, deps_of(context))


def _picked(
    functions: Sequence[Function], choices: Sequence[Any], ahead: Mapping[int, object]
) -> list[Strategy | None]:
    """The strategy of each call; None for one that has started ahead, or is of a tool that is not there."""
    strategies: list[Strategy | None] = []
    last: Any = _NO_CHOICE
    strategy: Strategy | None = None
    for function, choice in zip(functions, choices, strict=True):
        if ahead and id(function) in ahead:
            strategies.append(None)
            continue
        if choice is not last:  # of a Context's calls most have its own
            strategy, last = chosen(choice), choice
        strategies.append(pick(function, None) if strategy is None else strategy)
    return strategies


def _hold(group: Group, tasks: Sequence[Task], parent: CallState | None, timeout: float | None) -> None:
    """Give the Group its tasks, those that join it among them, and its clock and place among the calls around it."""
    joining = [task for task in tasks if task._group is not group]
    group._joined = dict.fromkeys(joining)
    group._tasks = tuple(tasks)
    for task in joining:
        task.function._ahead = False
    if not tasks:  # all were claimed by others: nobody else would
        _release(group._places)
    if any(task._job is not None for task in tasks):
        if timeout is not None:
            start_group_clock(group, timeout)
        if parent is not None:
            group._parent = parent
            parent.inner.append(group)


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
    refused: Sequence[tuple[Task, Outcome]],
    window: int | None,
    stopped: Callable[[], Callable[[Function], str | None] | None] | None,
) -> None:
    if group._tasks:
        LIVE.add(group)
    # Whoever interrupts the Context, or the call around this, or closes the strategy, sets a flag and
    # then looks which calls there are; here it is the other way round.  So one of the two sees the other.
    for strategy in group._strategies:
        strategy._live.add(group)
        if strategy.closed:  # since it was chosen
            for owner in group._owners_in(strategy):
                owner._ask(Ask("its strategy was closed"))
    parent = group._parent
    ready = [task for task in group._tasks if task._group is group and task._job is not None]
    if parent is not None and parent.asked:
        ask_all(ready, Ask(parent.reason))
    if stopped is not None and (reason_for := stopped()) is not None:
        for task in ready:
            if (reason := reason_for(task.function)) is not None:
                task._ask(Ask(reason))
    for task, outcome in refused:
        task._come_to(outcome)
    open_group(group, ready, window)
    group._follow(list(group._joined))


def _end(group: Group, refused: Sequence[tuple[Task, Outcome]], exc: BaseException) -> None:
    """What has begun is stopped, the rest never begins."""
    group._follow(list(group._joined))
    for task, outcome in refused:
        if task.alive:
            task._come_to(outcome)
    abort(group, group._tasks, group._all, group._done, exc)


def _give_back(tasks: Iterable[Task], places: Iterable[Place]) -> None:
    """Undo the claim of calls none of which has begun."""
    for task in tasks:
        if task._steps is not None:
            task._steps.drop()
        unclaim(task.function, task)
        task._void()
    _release(places)


def _release(places: Iterable[Place]) -> None:
    for place in places:
        place.release()


def pick(function: Function, strategy: Strategy | None) -> Strategy | None:
    """The strategy of one call, ``auto`` resolved; None for a tool that is not there."""
    if strategy is not None or function._definition.source is None:
        return strategy
    if not function._definition.is_async:
        return shared("thread")
    return shared(running_loop() or function._definition.loop)


def _tracing(own: Tracer, default: Tracing | None) -> Tracing:
    return default if default is not None and default.tracer is own else Tracing(own)
