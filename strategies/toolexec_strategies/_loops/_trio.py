"""An async body as a trio task, and a trio run in the background."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import trio

from toolexec.lowlevel import Awaiting, Job, Outcome, leaves

ENDED = "its event loop ended"


class Body:
    """An async body in a trio run: what stops it, and what lets go of its hook.  Any thread.

    Attributes:
        scope: Around the body.
        hook: Around the hook that runs after it, as soon as it does.
    """

    __slots__ = ("_token", "hook", "scope")

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self.scope = trio.CancelScope()
        self.hook: trio.CancelScope | None = None

    def cancel(self) -> None:
        """Cancel the body."""
        self._soon(self.scope.cancel)

    def leave(self) -> None:
        """Cancel the hook; the body cannot be left, it has been cancelled and goes on as it likes."""
        self._soon(self._leave)

    def _leave(self) -> None:
        if self.hook is not None:
            self.hook.cancel()

    def _soon(self, call: Callable[[], object]) -> None:
        try:
            self._token.run_sync_soon(call)
        except trio.RunFinishedError:  # the run is over, and the call with it
            pass


# A Ctrl-C is for the tool's code, or for whoever waits: in here it would cost the call its Return.
@trio.lowlevel.enable_ki_protection
async def drive(job: Job, awaiting: Awaiting | None = None, outside: str = ENDED) -> None:
    """Run a job as the whole of the current task and deliver it; raises only trio's own Cancelled.

    Args:
        job: The job.
        awaiting: What a sync body left to be awaited; its body has begun already.
        outside: The reason to give when a scope around the whole call is cancelled.
    """
    if awaiting is None and not job.begin():
        job.deliver(job.stopped())
        return
    call = job.call
    body = job.slot = Body()
    outcome: Outcome | None = None
    ended: BaseException | None = None  # by a scope around the call
    try:
        with body.scope:
            call.cancellable(body.cancel)
            try:
                outcome = Outcome("ok", await _unprotected(job, awaiting))
            except BaseException as exc:
                if _is_cancelled(exc):
                    raise
                outcome = job.failed(exc)  # SystemExit too: it must not end the run
    except BaseException as exc:  # noqa: BLE001 - a Cancelled that the call's own scope has not kept
        ended = exc
    call.cancels.clear()
    if ended is not None:
        call.deliver_once()  # trio did
        job.ask(outside)
    if outcome is None:
        outcome = job.stopped()
    try:
        if call.hook_due:
            body.hook = trio.CancelScope(shield=True)
            with body.hook:
                await job.afinish(outcome)
        else:
            await job.afinish(outcome)
        if ended is not None:
            raise ended
    finally:
        del ended  # it would keep itself alive, with its traceback


@trio.lowlevel.disable_ki_protection
async def _unprotected(job: Job, awaiting: Awaiting | None) -> Any:
    return await (job.abody() if awaiting is None else job.resume(awaiting))


def _is_cancelled(exc: BaseException) -> bool:
    """Whether it is trio's cancellation alone; a nursery may have wrapped several."""
    return all(issubclass(type(leaf), trio.Cancelled) for leaf in leaves(exc))


async def hook_beside(job: Job) -> None:
    """Run a job's hook while its body still runs, for what is left of its grace."""
    until = trio.current_time() + (job.call.grace_left() or 0.0)
    with trio.CancelScope(deadline=until, shield=True):
        await job.arun_hook()


class BackgroundTrio:
    """A trio run on a daemon thread of its own, started on first use."""

    def __init__(self) -> None:
        tokens: queue.SimpleQueue[trio.lowlevel.TrioToken] = queue.SimpleQueue()
        self._stop: trio.Event | None = None
        self._thread = threading.Thread(target=self._run, args=(tokens,), name="toolexec-trio", daemon=True)
        self._thread.start()
        self.token = tokens.get()

    def _run(self, tokens: queue.SimpleQueue[trio.lowlevel.TrioToken]) -> None:
        async def main() -> None:
            self._stop = stop = trio.Event()
            tokens.put(trio.lowlevel.current_trio_token())
            await stop.wait()

        trio.run(main)

    def stop(self, timeout: float) -> None:
        """End the run; wait for its thread for at most ``timeout`` seconds."""
        assert self._stop is not None  # made before the token was handed over
        try:
            self.token.run_sync_soon(self._stop.set)
        except trio.RunFinishedError:
            pass
        self._thread.join(timeout)
