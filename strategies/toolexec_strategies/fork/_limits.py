"""What a forked call may use up: memory, CPU time, descriptors; held to by the kernel."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import resource
import signal
import time
from collections.abc import Generator
from typing import Final, NamedTuple

from toolexec import WorkerLost
from toolexec.lowlevel import Outcome
from toolexec_strategies._remote._settings import Unprepared

# The kernel counts CPU time in whole seconds, over the life of a process.  A child that has used
# less than this before its call is taken to have used nothing: one for one call has used
# milliseconds, and rounding up would give it a second more than was asked for.
_HEAD_START_S: Final = 0.1

# A tool that took its memory in small pieces leaves none to handle its MemoryError with.  Lifting the
# limit takes a few objects; this much is unmapped as soon as it is let go.
_RESERVE_BYTES: Final = 1 << 20

# How a process dies that does not look whether it got the memory it asked for: it reads from
# nowhere, or gives up of its own accord.
_OUT_OF_MEMORY: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGTRAP)


class Limits(NamedTuple):
    """How much a call may use beyond what its process had before; each None for no limit of ours.

    They are soft limits, which the process itself may lift (this contains accidents and not
    malice), so that a child can be used again, and has memory to pack what a call came to.

    Attributes:
        memory_bytes: Address space.
        cpu_s: CPU time of all its threads.
        open_files: Descriptors.
    """

    memory_bytes: int | None = None
    cpu_s: int | None = None
    open_files: int | None = None

    def impose(self) -> object:
        """In a child, right before the body.

        Returns:
            To be let go right after the body, before anything else is done: memory to do it with.

        Raises:
            Unprepared: The system does not have it.
        """
        reserve = None if self.memory_bytes is None else bytearray(_RESERVE_BYTES)
        if self.memory_bytes is not None:
            _set("memory_bytes", resource.RLIMIT_AS, _mapped_bytes() + self.memory_bytes)
        if self.cpu_s is not None:
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)  # whatever a module made of it when it was imported
            used = max(0, math.ceil(time.process_time() - _HEAD_START_S))
            _set("cpu_s", resource.RLIMIT_CPU, used + self.cpu_s)
        if self.open_files is not None:
            _set("open_files", resource.RLIMIT_NOFILE, _descriptor_limit(self.open_files))
        return reserve

    @contextlib.contextmanager
    def exempt(self) -> Generator[None]:
        """In a child, around starting a thread of ours while the body runs: what that maps is not the call's.

        It is 8 MiB for the stack, and 64 MiB set aside by the C library's malloc.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if self.memory_bytes is None or soft == resource.RLIM_INFINITY:
            yield
            return
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        before = _mapped_bytes()
        try:
            yield
        finally:
            _set("memory_bytes", resource.RLIMIT_AS, soft + max(0, _mapped_bytes() - before))

    def lift(self) -> None:
        """In a child, right after the body."""
        for limit, kind in zip(self, (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE), strict=True):
            if limit is not None:
                hard = resource.getrlimit(kind)[1]
                resource.setrlimit(kind, (hard, hard))

    def judge(self, outcome: Outcome, pid: int) -> Outcome:
        """In a child: what a call came to, seen that it ran under these limits."""
        exc = outcome.exception
        if outcome.status != "raised" or exc is None:
            return outcome
        if self.memory_bytes is not None and issubclass(type(exc), MemoryError):
            lost = WorkerLost(f"the tool (pid {pid}) met its limit of memory: {self._memory()}", pid=pid)
            lost.__cause__ = exc
            return Outcome("lost", exception=lost)
        if self.open_files is not None and issubclass(type(exc), OSError) and getattr(exc, "errno", 0) == errno.EMFILE:
            try:
                exc.add_note(f"The tool may hold {self.open_files} descriptors open (open_files of the fork strategy).")
            except Exception:  # noqa: BLE001 - the tool's own class, which may do anything
                pass
        return outcome

    def explain(self, number: int) -> str | None:
        """In the host: why a signal may have ended a call, in words that follow the signal's name."""
        if self.cpu_s is not None and number == signal.SIGXCPU:
            return f"because it had used up its CPU time: cpu_s={self.cpu_s}"
        if self.memory_bytes is not None and number in _OUT_OF_MEMORY:
            return f"perhaps because it met its limit of memory: {self._memory()}"
        return None

    def _memory(self) -> str:
        return f"memory_bytes={self.memory_bytes} of the fork strategy"


def _set(option: str, kind: int, limit: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    try:
        resource.setrlimit(kind, (limit, hard))
    except (OSError, ValueError, OverflowError) as exc:
        raise Unprepared(f"cannot be held to {option}: {exc}") from None


def _mapped_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - on the path of every call
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError as exc:
        raise Unprepared(f"cannot be held to memory_bytes: {exc}") from None


def _descriptor_limit(count: int) -> int:
    """The number that all descriptors have to stay below, for ``count`` more to fit."""
    limit = count
    for fd in sorted(int(name) for name in os.listdir("/dev/fd")):  # noqa: PTH208 - on the path of every call
        if fd >= limit:
            break
        try:
            os.fstat(fd)
        except OSError:  # the one that the listing itself used
            continue
        limit += 1
    return limit
