"""Job: one attempt at one call, as the strategy that runs it sees it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import Context
from typing import Any, NamedTuple, Protocol

from toolexec._call_state import Ask, CallState, Progress
from toolexec._ctrl_c import pressed
from toolexec._errors import WorkerLost
from toolexec._here import CURRENT
from toolexec._hook import arun_hook, run_hook, run_taken_hook
from toolexec._invoke import Awaiting, invoke
from toolexec._loop_kind import LoopKind
from toolexec._outcome import Outcome, failed, stopped
from toolexec._values import settle_value


class Parcel(NamedTuple):
    """What of a call has to travel to a worker that shares no memory with this one.

    Attributes:
        id: The call's id, or None.
        name: The tool's name.
        source: What the tool was declared with; the worker resolves its own runner from it.
        args: Positional arguments, validated.
        kwargs: Keyword arguments, validated.
        loop: The kind of loop an async body runs in.
        timeout: Seconds the body has, from its start, until the nearest limit; None without one.  The
            engine keeps the limits; a worker only tells the tool.
        polls: Whether an interrupt is not to be raised into a sync body.
        carrier: What of its tracer's trace goes along (``traceparent`` and the like); None without any.
    """

    id: str | None
    name: str
    source: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    loop: LoopKind
    timeout: float | None = None
    polls: bool = False
    carrier: Mapping[str, str] | None = None


class Sheet(Protocol):
    """What a job has to know of its tool."""

    @property
    def source(self) -> Any: ...
    @property
    def loop(self) -> LoopKind: ...
    @property
    def deliver(self) -> str: ...


class Owner(Protocol):
    """Whom a job reports to: the Task it was made for."""

    @property
    def _timeout(self) -> float | None: ...

    @property
    def _tracing(self) -> object: ...

    @property
    def _steps(self) -> object: ...

    def _sent(self, job: Job) -> Mapping[str, str] | None: ...

    def _begun(self, job: Job) -> None: ...

    def _progressed(self, job: Job, progress: Progress) -> None: ...

    def _conclude(self, job: Job, outcome: Outcome) -> None: ...

    def _settle(self, job: Job, outcome: Outcome) -> None: ...

    def _ask(self, ask: Ask) -> bool: ...

    def _printed(self, job: Job, text: str) -> None: ...

    def _ctrl_c(self, job: Job, exc: BaseException) -> None: ...

    def _done(self) -> bool: ...

    @property
    def _wakers(self) -> list[Callable[[], object]]: ...


class Job:
    """One attempt at one call.

    A strategy gets it in ``start`` and owes it exactly one ``finish`` (``await afinish`` in a loop;
    ``deliver`` where a worker has run the hook, or no body has begun).  In between it calls ``begin``
    right before the body, and then ``body``, ``await abody`` or whatever runs the ``parcel`` elsewhere.

    Attributes:
        args: Positional arguments, validated.
        kwargs: Keyword arguments, validated.
        is_async: Whether the body is a coroutine function or an async generator.
        entry: What to call, where the body runs in this process; None under an isolated strategy.
        context: The submitter's context variables, copied for this call alone.
        call: The state that the body sees; one for each job: an interrupt belongs to it, never to a worker.
        begun: Whether its body has begun, as far as this process has heard.
        makes: Whether some of its arguments are still to be made, where the body runs.
        slot: For the strategy that runs the job, to keep what it needs about it.
    """

    __slots__ = (
        "__dict__",
        "_concluded",
        "_outcomes",
        "_over",
        "_owner",
        "_sheet",
        "args",
        "begun",
        "call",
        "context",
        "entry",
        "is_async",
        "kwargs",
        "makes",
        "slot",
    )

    def __init__(
        self,
        owner: Owner,
        sheet: Sheet,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        context: Context,
        call: CallState,
    ) -> None:
        self._owner = owner
        self._sheet = sheet
        self.args: Sequence[Any] = args
        self.kwargs: Mapping[str, Any] = kwargs
        self.context: Context = context
        self.call: CallState = call
        self.is_async: bool = False
        self.entry: Callable[..., Any] | None = None
        self.makes: bool = False
        self.begun: bool = False
        self.slot: Any = None
        self._concluded: Outcome | None = None
        self._outcomes: Sequence[Outcome] = ()  # where another job may follow this one; the first counts
        self._over = False  # another has followed it

    @property
    def parcel(self) -> Parcel:
        """The call itself, as it would be sent."""
        call, sheet = self.call, self._sheet
        return Parcel(
            call.id,
            call.name,
            sheet.source,
            self.args,
            self.kwargs,
            sheet.loop,
            self._owner._timeout,
            sheet.deliver == "poll",
        )

    @property
    def asked(self) -> bool:
        """Whether the call has been asked to stop."""
        return self.call.asked

    @property
    def over(self) -> bool:
        """Whether it has come to an end, and another attempt may be on its way."""
        return self._over or bool(self._outcomes)

    @property
    def polls(self) -> bool:
        """Whether the tool only asks whether it was interrupted: nothing is to be raised into it."""
        return self._sheet.deliver == "poll"

    @property
    def watched(self) -> bool:
        """Whether code of the user's runs here when the call starts or comes to its end: a tracer's, an intercept's."""
        return self._owner._tracing is not None or self._owner._steps is not None

    @property
    def settled(self) -> bool:
        """Whether the call has its Return, from whomever, or goes on in another attempt."""
        return self._over or self._owner._done()

    def ask(self, reason: str) -> None:
        """Ask the call to stop, from the strategy's own side (its loop ends, say).  Any thread."""
        self._owner._ask(Ask(reason))

    def begin(self) -> bool:
        """Say that the body begins now; the call's clock starts, and its start is traced unless it was (``to_send``).

        Call it on the thread or loop that runs the body (or, for a body that runs elsewhere, where
        its worker's report arrives), outside anything an Interrupt may be raised into.

        Returns:
            False when the call was asked to stop before: then the body must not run, and
            ``deliver(stopped())`` is what is owed.  (A worker's report is of a body that runs; it is
            told by ``ask``.)
        """
        call = self.call
        if self.entry is None or (not call.asks and call.barred is None):
            self.begun = True
            call.sink = self.report  # not before: it is 64 bytes more of each call that waits
            self._owner._begun(self)
        # Looked at once more: who asks looks the other way round, whether it has begun; so one sees the other.
        if call.barred is not None and self.entry is not None:
            call.ask(call.barred)
        return not call.asks

    def body(self, *, hand_over: bool = False) -> Outcome | Awaiting:
        """Run the body on this thread, in the job's context; never raises.

        An async body runs in a loop of its own.  With ``hand_over`` an awaitable that comes back is
        not awaited but handed to the caller.
        """
        assert self.entry is not None, "an isolated strategy runs the parcel, not the body"
        return self.context.run(
            invoke, self.entry, self.args, self.kwargs, self.call, self._sheet.loop, hand_over=hand_over
        )

    def abody(self) -> Coroutine[Any, Any, Any]:
        """An async body, to be awaited as part of the calling task, whose context is the job's.

        Both this and awaiting it raise what the tool raises.
        """
        assert self.entry is not None, "an isolated strategy runs the parcel, not the body"
        CURRENT.set(self.call)
        return settle_value(self.entry(*self.args, **self.kwargs), self.call)

    def resume(self, awaiting: Awaiting) -> Coroutine[Any, Any, Any]:
        """What a sync body left to be awaited; as :meth:`abody`."""
        CURRENT.set(self.call)
        return settle_value(awaiting.awaitable, self.call)

    def report(self, progress: Progress) -> None:
        """Pass on a report of progress from the body; on the thread or loop that saw it."""
        self._owner._progressed(self, progress)

    def printed(self, text: str) -> None:
        """Pass on what the tool printed, where that is captured; on the thread or loop that saw it."""
        self._owner._printed(self, text)

    def finish(self, outcome: Outcome) -> None:
        """The body has ended on this thread: run its hook, if an interrupt ended it, and deliver.

        Not before: whoever waits may count on the hook having run.  Should it hang, the ladder
        delivers the outcome without it.  A Ctrl-C that ended the body goes to whoever waits.
        """
        if outcome.exception is None and not self.call.asks:  # nor was a hook told, which follows being asked
            self._owner._settle(self, outcome)
            return
        if self._ended_by_ctrl_c(outcome) or self._is_left_to_hook(outcome):
            return
        try:
            if self.call.hook_due:
                self._owner._conclude(self, outcome)
                self.run_hook()
        finally:
            self.deliver(outcome)

    async def afinish(self, outcome: Outcome) -> None:
        """:meth:`finish` in the loop that ran the body, as part of its task, shielded where the loop needs that."""
        if outcome.exception is None and not self.call.asks:  # nor was a hook told, which follows being asked
            self.deliver(outcome)
            return
        if self._ended_by_ctrl_c(outcome) or self._is_left_to_hook(outcome):
            return
        try:
            if self.call.hook_due:
                self._owner._conclude(self, outcome)
                await self.arun_hook()
        finally:  # also when the task is cancelled once more, meanwhile
            self.deliver(outcome)

    def _ended_by_ctrl_c(self, outcome: Outcome) -> bool:
        ctrl_c = pressed(outcome.exception)
        if ctrl_c is None:
            return False
        self.ctrl_c(ctrl_c)
        return True

    def _is_left_to_hook(self, outcome: Outcome) -> bool:
        """Whether the hook runs on the thread of who interrupts, and still does: that one delivers then."""
        call = self.call
        if not call.lazy or not call.hook_taken:
            return False
        self._concluded = outcome
        self._owner._conclude(self, outcome)
        return not call.meet()

    def run_hook(self) -> None:
        """Run the tool's hook on this thread, unless it ran; never raises."""
        # A copy: the context itself may be entered, by the body that still runs.
        ran = True
        try:
            ran = self.context.copy().run(run_hook, self.call, self._sheet.loop)
        finally:
            if ran:
                self._hook_over()

    def run_taken_hook(self) -> None:
        """:meth:`run_hook`, for who has taken it."""
        try:
            self.context.copy().run(run_taken_hook, self.call, self._sheet.loop)
        finally:
            self._hook_over()

    def _hook_over(self) -> None:
        if self.call.lazy and self.call.meet() and self._concluded is not None:
            self.deliver(self._concluded)

    async def arun_hook(self) -> None:
        """:meth:`run_hook` in the running loop, as part of a task whose context is the job's."""
        try:
            await arun_hook(self.call)
        except KeyboardInterrupt as exc:  # a person's: it must end neither this task nor the loop
            self.ctrl_c(exc)

    def to_send(self) -> Parcel:
        """The parcel as it is to be sent now, with what is left of its Group's time.

        To be asked for once, where the call is handed over to its worker: its start is traced here, as
        the trace has to travel with it.
        """
        call, parcel = self.call, self.parcel
        carrier = self._owner._sent(self)
        if carrier is not None:
            parcel = parcel._replace(carrier=carrier)
        if call.deadline is None:
            return parcel
        left = max(0.0, call.deadline - call.clock.now())
        return parcel._replace(timeout=left if parcel.timeout is None else min(left, parcel.timeout))

    def ctrl_c(self, exc: BaseException) -> None:
        """A KeyboardInterrupt ended the body, on the main thread: a person pressed Ctrl-C.

        The call is cancelled and its Group interrupted; whoever waits gets the exception.
        """
        self._owner._ctrl_c(self, exc)

    def deliver(self, outcome: Outcome) -> None:
        """Settle the call.  Any thread; never raises; the first delivery wins, later ones are dropped."""
        if not isinstance(outcome, Outcome):
            wrong = f"its strategy delivered a {type(outcome).__name__}, where an Outcome is due"
            outcome = Outcome("lost", exception=WorkerLost(wrong))
        self._owner._settle(self, outcome)

    def stopped(self) -> Outcome:
        """The outcome of a call that ended, or never began, because it was asked to stop."""
        return stopped(self.call)

    def failed(self, exc: BaseException) -> Outcome:
        """The outcome of a body that raised ``exc``."""
        return failed(self.call, exc)
