"""The state of one attempt at a call: what its body, its strategy and the ladder share about it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolexec._at_need import is_first, own_list
from toolexec._beside import run_beside
from toolexec._errors import Interrupt

if TYPE_CHECKING:
    from toolexec._clock import Clock
    from toolexec._group import Group
    from toolexec._task import Task

_log = logging.getLogger("toolexec")

# How long leaving an ``on_interrupt`` block waits for a callback that runs just then.  It ought to
# return at once; longer would let a broken one hold a body that nothing can stop.  A guess.
_CALLBACK_S = 1.0


class Progress(NamedTuple):
    """One report of progress from inside a tool.

    Attributes:
        done: How much is done, in the tool's own unit; for a generator tool the number of parts so far.
        total: How much there is, in the same unit, or None where unknown.
        message: Words for a person, or None.
        data: Anything; for a generator tool the part that was yielded.
        task: The Task that reports; None inside a worker.
    """

    done: float
    total: float | None = None
    message: str | None = None
    data: Any = None
    task: Task | None = None


class Ask(NamedTuple):
    """Why a call has to stop.

    Attributes:
        reason: In words fit for the model.
        timeout: Whether a limit of time is over, which ``reason`` then names; its Return is a ``timeout``.
        tells: Whether whoever asks runs the hook of a call that runs on its waiter's thread.
        again: Whether it is this attempt's own time that is over, and another attempt may follow.
    """

    reason: str
    timeout: bool = False
    tells: bool = False
    again: bool = False


def check_reason(reason: object) -> str:
    """Refuse a reason that is no text."""
    if not isinstance(reason, str):
        raise TypeError(f"reason is {reason!r}: it takes words, which the model may read")
    return reason


class Listener:
    """A function to be called once when an interrupt comes, while its block lasts."""

    __slots__ = ("_callback", "_ended", "_token")

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback
        self._token = [1]  # whoever pops it decides: the interrupt, or the end of the block
        self._ended = threading.Lock()
        self._ended.acquire()

    def tell(self) -> bool:
        """Call it beside the tool, on a thread of its own; False when it was told, or its block has ended."""
        try:
            self._token.pop()
        except IndexError:
            return False
        run_beside(self._run, "on-interrupt")
        return True

    def end(self) -> None:
        """The block ends; a callback that runs just then is waited for, so that it hits nothing later."""
        try:
            self._token.pop()
        except IndexError:
            self._ended.acquire(timeout=_CALLBACK_S)

    def _run(self) -> None:
        try:
            self._callback()
        except BaseException:  # noqa: BLE001 - the user's code, on a thread where nobody would see it
            _log.exception("toolexec: the on_interrupt callback %r raised", self._callback)
        finally:
            self._ended.release()


class CallState:
    """One attempt at a call, in whatever process or interpreter its body runs.

    Nothing here takes a lock: all of it may be reached from a signal handler, and cut by an Interrupt.

    Attributes:
        id: The call's id, or None.
        name: The tool's name.
        parent: The call whose body made this one, or None.
        sink: Takes its reports of progress.
        runner: The object whose hook is told of an interrupt; None until it is resolved.
        clock: What ``deadline`` and ``ends_at`` are times of.
        deadline: When a limit of time is over, or None; the nearest.
        asks: Why it was asked to stop; the first counts, and appending is atomic.
        barred: Why it may not begin any more; a body that has begun never sees this.
        ends_at: When the grace is over that began with the ask, or None.
        grace: How long that grace is, in seconds; without any no hook runs.
        lazy: Whether its body runs on the thread of whoever waits for it: nothing is raised into that.
        limits: What this call holds that others may wait for; calls it makes itself need not wait for these.
        cancels: At most one function, which cancels what the body awaits; whoever pops it calls it.
        inner: The Groups its body made, while they are alive.
        wakers: Whom to wake when it is asked.
        listeners: What to call when it is asked.
        on_listen: Called when the first listener comes, in a worker that has to prepare for it.
        told: Whether a listener was told: an exception that leaves the body then is taken for its doing.
    """

    __slots__ = (
        "__dict__",
        "asks",
        "barred",
        "clock",
        "deadline",
        "ends_at",
        "grace",
        "id",
        "lazy",
        "limits",
        "name",
        "on_listen",
        "parent",
        "runner",
        "sink",
        "told",
    )

    def __init__(
        self,
        id: str | None,
        name: str,
        clock: Clock,
        *,
        sink: Callable[[Progress], object] | None = None,
        parent: CallState | None = None,
        runner: Any = None,
    ) -> None:
        self.id: str | None = id
        self.name: str = name
        self.clock: Clock = clock
        self.sink: Callable[[Progress], object] | None = sink
        self.parent: CallState | None = parent
        self.runner: Any = runner
        self.deadline: float | None = None
        self.asks: Sequence[Ask] = ()
        self.barred: Ask | None = None
        self.ends_at: float | None = None
        self.grace: float = 0.0
        self.lazy: bool = False
        self.limits: tuple[Any, ...] = ()
        self.on_listen: Callable[[], object] | None = None
        self.told: bool = False

    @property
    def cancels(self) -> list[Callable[[], object]]:
        return own_list(self, "_cancels")

    @property
    def inner(self) -> list[Group]:
        return own_list(self, "_inner")

    @property
    def wakers(self) -> list[Callable[[], object]]:
        return own_list(self, "_wakers")

    @property
    def listeners(self) -> list[Listener]:
        return own_list(self, "_listeners")

    # Being asked

    @property
    def asked(self) -> bool:
        """Whether it has been asked to stop; sticky."""
        return bool(self.asks)

    @property
    def reason(self) -> str:
        """Why."""
        return self.asks[0].reason if self.asks else "interrupted"

    def ask(self, ask: Ask) -> bool:
        """Ask it to stop; whether this is the first time.  Any thread or signal handler."""
        if self.asks and (ask.again or not self.asks[0].again):
            return False
        asks = own_list(self, "asks")
        asks.append(ask)  # behind the end of an attempt's own time: then no other follows
        return asks[0] is ask

    def asked_around(self) -> CallState | None:
        """The nearest call that was asked to stop: this one, or one around it; None when none was."""
        call: CallState | None = self
        while call is not None and not call.asked:
            call = call.parent
        return call

    def interrupt(self) -> Interrupt:
        """The exception that says so."""
        return Interrupt(self.reason)

    def notify(self) -> None:
        """It was asked: wake who waits for that, and call who listens.  Once."""
        for wake in self.wakers[:]:
            wake()
        for listener in self.listeners[:]:
            self.tell(listener)

    def tell(self, listener: Listener) -> None:
        """Call one listener, unless that was done."""
        self.told = True
        listener.tell()

    # Delivering it: one Interrupt, or one cancellation, in all

    @property
    def delivered(self) -> bool:
        """Whether an interrupt was raised into the body, or what it awaits was cancelled."""
        return "_delivered" in vars(self)

    def deliver_once(self) -> bool:
        """Whether the caller is the one to deliver it."""
        return is_first(self, "_delivered")

    def undeliver(self) -> None:
        """What was raised got lost on its way (Python drops what is raised in a ``__del__``)."""
        vars(self).pop("_delivered", None)

    def hit_by_outer(self) -> bool:
        """Whether an Interrupt that ended this body, on its waiter's thread, was raised for the call that waits."""
        call = self
        while call.lazy and call.parent is not None:
            call = call.parent
        return not call.lazy and call.delivered

    def cancellable(self, cancel: Callable[[], object]) -> None:
        """From now on ``cancel`` cancels what the body awaits: called once at most, at once if already asked."""
        self.cancels.append(cancel)
        if self.asked:
            self.cancel_once()

    def cancel_once(self) -> None:
        """Cancel what the body awaits, unless that was done or nothing is awaited.  Any thread."""
        if self.lazy:
            return
        # The pop is atomic: of those who were asked to cancel and the body that saw it, one cancels.
        try:
            cancel = self.cancels.pop()
        except IndexError:
            return
        if self.deliver_once():
            cancel()

    # Its hook

    @property
    def hook_due(self) -> bool:
        """Whether the body has ended by an interrupt, and the hook has still to hear of it."""
        if self.hook_taken or not (self.delivered and self.asked and self.grace > 0):
            return False
        # A lazy call's hook is run by whoever interrupts it.  A limit of time, or a caller who leaves,
        # runs none; the thread that the ladder starts for that may come after the body's end.
        return not (self.lazy and self.asks[0].tells)

    @property
    def hook_taken(self) -> bool:
        """Whether somebody runs the hook, or has run it."""
        return "_hook_taken" in vars(self)

    def meet(self) -> bool:
        """Whether the caller is the second of the two that have to be through: the body, and a hook beside it."""
        return not is_first(self, "_through")

    def take_hook(self) -> bool:
        """Whether the caller is the one to run the hook."""
        return is_first(self, "_hook_taken")

    # For its body

    def report(self, progress: Progress) -> None:
        """Pass a report of progress on to whoever listens."""
        if self.sink is not None:
            self.sink(progress)

    def grace_left(self) -> float | None:
        """Seconds of the grace that are left, or None when it was not asked."""
        return None if self.ends_at is None else max(0.0, self.ends_at - self.clock.now())
