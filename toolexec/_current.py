"""What a tool can ask about, and say to, the call it is running for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from toolexec._call_state import CallState, Listener, Progress
from toolexec._here import CURRENT
from toolexec._inject import Later, injectable
from toolexec._waiting import apark, check_timeout, park, refuse_running_loop


class CurrentCall:
    """The call whose body runs here, on every strategy, also in another process or interpreter.

    Made by :func:`current_call`.  Any thread of the tool's may use it; once the call has its Return,
    what is said here is dropped.
    """

    __slots__ = ("_state",)

    def __init__(self, state: CallState) -> None:
        self._state = state

    @property
    def id(self) -> str | None:
        """The call's id, or None."""
        return self._state.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self._state.name

    @property
    def interrupted(self) -> bool:
        """Whether the call has been asked to stop, by an interrupt or because a limit of time is over; it stays so."""
        return self._state.asked

    @property
    def deadline(self) -> float | None:
        """When the nearest limit of time is over, or None; a time of the call's clock.

        That is ``time.monotonic()``, but for a call that runs in its caller's own loop: there it is
        that loop's clock.
        """
        return self._state.deadline

    @property
    def remaining(self) -> float | None:
        """Seconds until the nearest limit of time is over, never below zero, or None."""
        state = self._state
        return None if state.deadline is None else max(0.0, state.deadline - state.clock.now())

    def checkpoint(self) -> None:
        """Return if the call may go on.

        Raises:
            Interrupt: It has been asked to stop; every time, once it was.
        """
        if self._state.asked:
            self._state.deliver_once()  # nothing else need be raised into the body
            raise self._state.interrupt()

    def wait_interrupted(self, timeout: float | None = None) -> bool:
        """Block until the call is asked to stop.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            Whether it was asked.

        Raises:
            WrongLoop: On a running loop's thread; ``await call.until_interrupted()``.
        """
        check_timeout(timeout)
        state = self._state
        if timeout != 0 and not state.asked:
            refuse_running_loop("await call.until_interrupted()")
            park(
                state.wakers, lambda: state.asked, state.clock, None if timeout is None else state.clock.now() + timeout
            )
        return state.asked

    async def until_interrupted(self) -> None:
        """Await that the call is asked to stop; under asyncio or trio."""
        state = self._state
        await apark(state.wakers, lambda: state.asked, state.clock, None)

    def progress(self, done: float, total: float | None = None, message: str | None = None, data: Any = None) -> None:
        """Report progress: to ``on_progress``, to ``group.events()``, and to the idle limit, which starts anew.

        Args:
            done: How much is done, in any unit.
            total: How much there is, in the same unit.
            message: Words for a person.
            data: Anything that can travel from where the tool runs.
        """
        self._state.report(Progress(done, total, message, data))

    def on_interrupt(self, callback: Callable[[], object]) -> AbstractContextManager[None]:
        """Have ``callback`` called, while the ``with`` block lasts, when the call is asked to stop.

        It is called once, at once, on a thread beside the tool, where the tool runs; at once, too, if
        the call has been asked already.  So it can stop what the tool blocks in: ``connection.interrupt``
        for SQLite, ``process.kill``, ``socket.shutdown``.  An exception that then leaves the body is
        taken for the interrupt's doing, and the call is ``cancelled``.  One that raises is logged.

        Raises:
            TypeError: It cannot be called.
        """
        if not callable(callback):
            raise TypeError(f"on_interrupt takes a function to call, not {callback!r}")
        return _Listening(self._state, Listener(callback))

    def __reduce__(self) -> tuple[type[Later], tuple[type[CurrentCall]]]:
        # Injected into a call elsewhere: there it is the one that the worker has for it.
        return Later, (CurrentCall,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CurrentCall) and other._state is self._state

    def __hash__(self) -> int:
        return hash(self._state)

    def __repr__(self) -> str:
        return f"<CurrentCall {self.name!r} id={self.id!r}{' interrupted' if self.interrupted else ''}>"


injectable(CurrentCall, "call", CurrentCall)


class _Listening(AbstractContextManager[None]):
    __slots__ = ("_listener", "_state")

    def __init__(self, state: CallState, listener: Listener) -> None:
        self._state = state
        self._listener = listener

    def __enter__(self) -> None:
        state = self._state
        state.listeners.append(self._listener)
        if state.on_listen is not None:
            state.on_listen()
        if state.asked:  # perhaps before the append
            state.tell(self._listener)

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        state = self._state
        if state.asked:  # in its block: the tool, or who cancels it, may have seen that before the callback was told
            state.tell(self._listener)
        state.listeners.remove(self._listener)
        self._listener.end()


def current_call() -> CurrentCall | None:
    """The call that is running here, or None outside of one."""
    state = CURRENT.get()
    return None if state is None else CurrentCall(state)


def checkpoint() -> None:
    """Return if the call that is running here may go on, or if there is none.

    Raises:
        Interrupt: It has been asked to stop.
    """
    call = current_call()
    if call is not None:
        call.checkpoint()


def progress(done: float, total: float | None = None, message: str | None = None, data: Any = None) -> None:
    """Report progress of the call that is running here; see :meth:`CurrentCall.progress`.  No call, no report."""
    call = current_call()
    if call is not None:
        call.progress(done, total, message, data)


def interrupted() -> bool:
    """Whether a call is running here and has been asked to stop."""
    state = CURRENT.get()
    return state is not None and state.asked
