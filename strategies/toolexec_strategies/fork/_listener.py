"""One thread that hears a fork server and the children whose calls need none of their own."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from toolexec_strategies.fork._spare import Spare

# A child ends within a millisecond of its answer, unless flushing its output blocks; then it is killed.
EXIT_S: Final = 1.0

# How long children are not forked anew for while calls keep all processors busy: a fork takes one of them for a
# millisecond or two, which calls that are about to be answered could use.
_QUIET_S: Final = 0.002


class Children(Protocol):
    """What the listener needs of the server."""

    def drop(self, spare: Spare) -> None: ...

    def drop_idle(self, spare: Spare) -> None: ...

    def kill(self, spare: Spare) -> None: ...

    def refill(self) -> None: ...

    def may_fork(self) -> bool: ...


class Listener:
    """Waits for many descriptors at once, where the system can do that for several threads (Linux).

    Args:
        control: The descriptor of the server's control socket.
        children: Of which it hears.

    Attributes:
        deaf: Whether nobody listens any more: who sends a request looks after its answer, then.
    """

    def __init__(self, control: int, children: Children) -> None:
        self._control = control
        self._children = children
        self._spares: dict[int, Spare] = {}
        self._leaving: dict[Spare, float] = {}  # those that have answered, in order, and until when they may take
        self._killed: set[Spare] = set()  # of these
        self._refill_at: float | None = None
        self.deaf = not hasattr(select, "epoll")
        self._epoll: Any = None
        if not self.deaf:
            self._epoll = select.epoll()
            self._epoll.register(control, select.EPOLLIN)

    def watch(self, spare: Spare) -> None:
        """Hear of what a child says and of its end; any thread."""
        if self._epoll is None or spare.watched:
            return
        spare.watched = True
        # Edges: a child that somebody else has come to hear says nothing here but once, and nothing that is
        # known already is told again.
        for fd in (spare.wire, spare.exit_pipe):
            self._spares[fd] = spare
            self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def unwatch(self, spare: Spare) -> None:
        """Hear no more of it; any thread.  Before its descriptors are closed: a fork of this process may hold them."""
        if not spare.watched:
            return
        spare.watched = False
        for fd in (spare.wire, spare.exit_pipe):
            self._spares.pop(fd, None)
            try:
                self._epoll.unregister(fd)
            except (OSError, ValueError):  # it is closed, at the end
                pass

    def listen(self, obey: Callable[[], bool]) -> None:
        """Until ``obey``, which takes a message of the server's, says that there are no more."""
        if self._epoll is None:
            while obey():
                pass
            return
        try:
            while self._hear(obey):
                pass
        finally:
            self.deaf = True

    def _hear(self, obey: Callable[[], bool]) -> bool:
        for fd, _ in self._epoll.poll(self._pause()):
            if fd == self._control:
                if not obey():
                    return False
                continue
            # Its number may be another child's by now: both look for themselves what there is.
            spare = self._spares.get(fd)
            if spare is None:
                continue
            if spare.rider is not None:
                spare.rider.hear(spare)
            if fd == spare.exit_pipe:
                self._look_after(spare)
        if self._leaving or self._refill_at is not None:
            self._do_what_is_due()
        return True

    def see_off(self, spare: Spare) -> None:
        """A child has answered and is about to end; only on the listening thread."""
        self._leaving[spare] = time.monotonic() + EXIT_S

    def hurry(self) -> None:
        """Have those that were seen off end now: the processor is free, and will not be later; any thread."""
        for spare in list(self._leaving):
            spare.dismiss()

    def _look_after(self, spare: Spare) -> None:
        """A child seems to have ended: its report is for whoever sees to the child, and for nobody else to read."""
        if spare.rider is not None:
            spare.rider.hand_over(spare)
        elif spare in self._leaving:
            if spare.await_exit(0):
                del self._leaving[spare]
                self._let_go(spare)
        else:
            self._children.drop_idle(spare)

    def _refill_soon(self) -> None:
        if self._children.may_fork():
            self._refill_at = None
            self._children.refill()
        elif self._refill_at is None:
            self._refill_at = time.monotonic() + _QUIET_S

    def _pause(self) -> float | None:
        times = [self._refill_at] if self._refill_at is not None else []
        if self._leaving:
            times.append(next(iter(self._leaving.values())))
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _do_what_is_due(self) -> None:
        now = time.monotonic()
        if self._refill_at is not None and now >= self._refill_at:
            self._refill_at = None
            self._children.refill()
        while self._leaving:
            spare, until = next(iter(self._leaving.items()))
            if now < until:
                return
            del self._leaving[spare]
            if spare in self._killed:
                self._let_go(spare)
            else:
                self._killed.add(spare)
                self._children.kill(spare)
                self.see_off(spare)

    def _let_go(self, spare: Spare) -> None:
        self._killed.discard(spare)
        self._children.drop(spare)
        self._refill_soon()

    def leave(self) -> None:
        """The server is gone: let go of the children that were about to end."""
        for spare in list(self._leaving):
            self._children.drop(spare)
        self._leaving.clear()

    def close(self) -> None:
        """Give the descriptor back."""
        self.deaf = True
        if self._epoll is not None:
            self._epoll.close()
