"""An async body as a trio task, and a trio run in the background."""

from __future__ import annotations

import queue
import threading

import trio

from toolexec.lowlevel import Awaiting, Job, Outcome

ENDED = "its event loop ended"


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
    token = trio.lowlevel.current_trio_token()
    outcome: Outcome | None = None
    with trio.CancelScope() as scope:

        def cancel() -> None:
            try:
                token.run_sync_soon(scope.cancel)
            except trio.RunFinishedError:  # the run is over, and the call with it
                pass

        job.call.cancellable(cancel)
        try:
            outcome = Outcome("ok", await (job.abody() if awaiting is None else job.resume(awaiting)))
        except trio.Cancelled as exc:
            if not scope.cancel_called:
                job.deliver(Outcome("cancelled", exception=exc, reason=outside))
            raise
        except BaseExceptionGroup as group:
            _, rest = group.split(trio.Cancelled)
            if rest is None:
                if not scope.cancel_called:
                    job.deliver(Outcome("cancelled", exception=group, reason=outside))
                raise
            outcome = job.failed(group)
        except BaseException as exc:  # noqa: BLE001 - SystemExit too: it must not end the run
            outcome = job.failed(exc)
    job.call.cancels.clear()
    job.deliver(job.stopped() if outcome is None else outcome)


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
