"""The interpreters of one strategy: idle ones kept warm, more made as calls need them."""

from __future__ import annotations

import logging
import os
import time
import weakref

from toolexec_strategies.interpreter._worker import Interpreter

# How long closing waits for interpreters to end; an idle one takes a few milliseconds, one that a
# tool is stuck in is left to the end of the process.
_END_S = 2.0

_log = logging.getLogger("toolexec")


class Pool:
    """Takes no lock: closing before a fork happens on whatever thread forks, and a Ctrl-C may cut that.

    Args:
        most_idle: How many idle interpreters are kept.
    """

    def __init__(self, most_idle: int) -> None:
        self.idle: list[Interpreter] = []
        self.live: set[Interpreter] = set()  # until they are closed
        self._most_idle = most_idle
        self._shut = False
        _pools.add(self)

    def take(self) -> Interpreter:
        """An interpreter for one call."""
        try:
            return self.idle.pop()  # the one used last is the warmest
        except IndexError:
            inside = Interpreter(self.live.discard)
            self.live.add(inside)
            inside.start()
            return inside

    def put(self, inside: Interpreter, *, usable: bool) -> None:
        """Give one back after its call."""
        if usable and len(self.idle) < self._most_idle:
            self.idle.append(inside)
            if self._shut:  # looked at after the append: either this sees it, or `shut` sees the interpreter
                self._drop_idle()
        else:
            inside.release()

    def leave(self, inside: Interpreter) -> None:
        """A call there was left behind: nobody waits for this one any more; it ends when the body does."""
        inside.left = True
        inside.end()

    def shut(self) -> None:
        """Close what is idle, wait for it (bounded), and have the others end after their calls."""
        self._shut = True
        for inside in list(self.live):
            inside.end()
        self.close_idle()

    def close_idle(self) -> bool:
        """Close what is idle, and wait (bounded) for all that end; whether none is left at all."""
        self._drop_idle()
        deadline = time.monotonic() + _END_S
        for inside in list(self.live):
            if inside.ending and not inside.left:
                inside.gone.wait(max(0.0, deadline - time.monotonic()))
        return not self.live

    def forget(self) -> None:
        """In a forked copy of the host, which has no other interpreters: close what was inherited."""
        for inside in self.live:
            inside.forget()
            _forgotten.append(inside)

    def _drop_idle(self) -> None:
        while True:
            try:
                inside = self.idle.pop()
            except IndexError:
                return
            inside.release()


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()

# Letting their handles go would have interpreters destroyed that a fork has done away with.
_forgotten: list[Interpreter] = []


def _before_fork() -> None:
    # CPython 3.14 and 3.15: with any subinterpreter alive, the child dies of SIGSEGV inside os.fork()
    # itself, before any code of ours could run there.  (subprocess forks in C and is not affected.)
    none_left = [pool.close_idle() for pool in list(_pools)]
    if not all(none_left):
        _log.warning(
            "toolexec: os.fork() while a tool runs in a subinterpreter: this version of Python is likely to crash in "
            "the child; use subprocess, multiprocessing's spawn or forkserver, or the fork strategy"
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
