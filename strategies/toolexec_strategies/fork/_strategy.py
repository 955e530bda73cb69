"""Fork: each call in a process of its own, forked from a small server that has the tools' modules ready."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

from toolexec.lowlevel import Job, LoopKind, Strategy, usable_cpus
from toolexec_strategies._remote._carried import Carried
from toolexec_strategies._remote._carry import Request
from toolexec_strategies._remote._settings import Settings
from toolexec_strategies._workers import retire_idle, run_in_thread
from toolexec_strategies.fork._flight import Flight
from toolexec_strategies.fork._options import (
    check_calls,
    check_env,
    check_folder,
    check_limits,
    check_preload,
    check_streams,
    check_timeout,
)
from toolexec_strategies.fork._plain import PlainFlight
from toolexec_strategies.fork._preload import Preloads
from toolexec_strategies.fork._process import ServerProcess

# More idle children than this help only bursts; each costs a few megabytes that nobody shares.
_MOST_SPARES = 4


class ForkStrategy(Strategy):
    """Run each call in a forked child that is used for that call only.

    The child comes from a server process with one thread, started on first use, and not from this
    process: a tool finds a fresh Python that has imported the tool's module, with this process's
    import path, working folder and environment, and no copy of anything this process has in memory.
    Whatever the tool does to its process (crash, exit, hang, leak) ends there.

    Cancellation: ``Interrupt`` is raised in the child's main thread by a signal, which wakes blocking
    system calls; later SIGTERM, and at the end of the grace SIGKILL, go to the child's whole process
    group.

    Args:
        grace: Seconds from asking a call to stop to its Return.
        window: How many calls of one Group run at once; by default the CPUs this process may use,
            and two at least.
        preload: Which modules the server imports ahead: True for those that the calls use, as they
            come; False for none; or a list of names.
        calls_per_child: How many calls a child may serve, one after another; None for any number.  One
            that serves several keeps its modules' state from call to call; the working folder, the
            environment and signal handlers are restored.  A child that was interrupted, or in which a
            tool left a thread or a process, serves no other call.
        start_timeout: Seconds to wait for a child to be ready, the server's start included.
        env: Environment variables that differ for the tools from this process's: a name and its
            value, or None for one that they must not see.
        cwd: The folder they run in; by default this process's, whatever it is when a call starts.
        memory_bytes: How much memory (address space) a call may take; a MemoryError that leaves the
            tool, and a death for want of memory, are ``lost``.  This and the next two count what the
            call takes beyond what its process had before, and hold for each process that the tool
            starts by itself.  Linux only.
        cpu_s: How many whole seconds of CPU time it may use, all threads together; then it is ``lost``.
        open_files: How many descriptors it may hold open; one more is the tool's OSError.
        stdout: Where a tool's standard output goes: "stderr", wherever its stderr goes; "inherit", to
            this process's stdout, as it was when the server started; "null"; or "capture", to
            ``Return.output`` and, piece by piece, to ``Output`` events.
        stderr: Likewise: "inherit", "null" or "capture".  Where both are captured they are one text, in
            the order in which they were written.  Of a long one the first and the last 32,768 characters
            are kept.
        carry: Context variables that go along: those that are set where a call is submitted are set
            alike where it runs.  They have to be globals of importable modules, and their values have to
            be fit for pickling.  What a tool sets does not come back.
    """

    name: ClassVar[str] = "fork"
    isolated: ClassVar[bool] = True

    def __init__(
        self,
        *,
        grace: float = 2.0,
        window: int | None = None,
        preload: bool | Sequence[str] = True,
        calls_per_child: int | None = 1,
        start_timeout: float = 30.0,
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        memory_bytes: int | None = None,
        cpu_s: int | None = None,
        open_files: int | None = None,
        stdout: str = "stderr",
        stderr: str = "inherit",
        carry: Sequence[ContextVar[Any]] = (),
    ) -> None:
        super().__init__(grace=grace, window=window)
        self.calls_per_child = check_calls(calls_per_child)
        self.start_timeout = check_timeout(start_timeout)
        self._preload = check_preload(preload)
        self._env = check_env(env)
        self._folder = check_folder(cwd)
        self.limits = check_limits(memory_bytes, cpu_s, open_files)
        self._streams = check_streams(stdout, stderr)
        self.carried = Carried(carry)
        # Whether nothing of a call is but its tool, its arguments and its answer.
        self.carries_nothing = not carry and not self._streams.captured
        self._guard = threading.Lock()  # only ever taken on worker threads and by shutdown
        self._preloads = Preloads(self._preload)
        self._servers: list[ServerProcess] = []
        self._current: ServerProcess | None = None

    def _default_window(self) -> int | None:
        return max(2, usable_cpus())

    @classmethod
    def unavailable(cls) -> str | None:
        if hasattr(os, "fork"):
            return None
        return "this platform has no os.fork; use the thread strategy, or interpreter (Python 3.14 or newer)"

    def start(self, job: Job) -> None:
        flight = job.slot = PlainFlight(self, job)
        try:
            departed = flight.depart()
        except BaseException:
            flight.mend()
            raise
        if not departed:
            run_in_thread(flight.fly)

    def ask(self, job: Job) -> None:
        if isinstance(job.slot, Flight):
            job.slot.ask()

    def stop(self, job: Job) -> None:
        if isinstance(job.slot, Flight):
            job.slot.stop()

    def kill(self, job: Job) -> bool:
        return isinstance(job.slot, Flight) and job.slot.kill()

    def shutdown(self) -> None:
        with self._guard:
            servers = list(self._servers)
            self._servers.clear()
            self._current = None
        for server in servers:
            server.end()
        retire_idle()

    def reset_after_fork(self) -> None:
        for server in self._servers:
            server.forget()
        self._guard = threading.Lock()  # somebody in the parent may hold the old one
        self._preloads = Preloads(self._preload)
        self._servers.clear()
        self._current = None

    def ready_server(self, request: Request, *, is_async: bool, loop: LoopKind) -> ServerProcess | None:
        """The server, if it has imported what the call needs; takes no lock; the call is not entered."""
        server = self._current
        if server is None or not server.usable:
            return None
        names = self._names(request, is_async=is_async, loop=loop)
        return server if names <= server.loaded and not self._preloads.outdated(names) else None

    def _names(self, request: Request, *, is_async: bool, loop: LoopKind) -> set[str]:
        modules = request.modules
        if is_async:
            modules = modules | {loop}  # or each child would import it
        return self._preloads.for_call(modules)

    def server_for(self, call: object, request: Request, *, is_async: bool, loop: LoopKind) -> ServerProcess:
        """A server that has imported what the call needs, entered for this call; on a worker thread.

        Raises:
            OSError: None can be started.
        """
        with self._guard:
            names = self._names(request, is_async=is_async, loop=loop)
            server = self._current
            if server is not None and self._preloads.outdated(names):
                server.retire()
                server = None
            if server is None or not server.enter(call):
                self._preloads.renew()
                self._preloads.outdated(names)
                settings = Settings(self._env, self._folder)
                spares = min(_MOST_SPARES, self.window or _MOST_SPARES)
                server = self._current = ServerProcess(
                    spares, self._on_thread_left, settings, self.limits, self._streams
                )
                self._servers = [one for one in self._servers if one.dead is None]
                self._servers.append(server)
                server.enter(call)
        server.load(names)
        return server

    def server_failed(self, server: ServerProcess) -> None:
        """A server died or does not answer: what it was importing meanwhile is left to the children."""
        name = server.being_loaded()
        if name is not None:
            self._preloads.avoid(name, "was being imported when the fork server stopped working")
        server.retire()

    def _on_thread_left(self, name: str) -> None:
        self._preloads.avoid(name, "leaves a thread running when it is imported")
