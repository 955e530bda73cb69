"""An async body as an asyncio task, and an asyncio loop in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from toolexec.lowlevel import Awaiting, Job, Outcome

ENDED = "its event loop ended"


async def drive(job: Job, awaiting: Awaiting | None = None) -> None:
    """Run a job as the whole of the current task and deliver it; raises only to let the loop cancel it."""
    me = asyncio.current_task()
    assert me is not None
    if awaiting is None and not job.begin():
        job.deliver(job.stopped())
        return
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        try:
            loop.call_soon_threadsafe(me.cancel)
        except RuntimeError:  # the loop is closed: the call has ended with it
            pass

    job.call.cancellable(cancel)
    try:
        outcome = Outcome("ok", await (job.abody() if awaiting is None else job.resume(awaiting)))
    except asyncio.CancelledError as exc:
        if job.asked:
            outcome = job.stopped()
        elif me.cancelling():
            # The loop is taking its tasks down (or the tool cancelled its own task: it looks the same).
            job.deliver(Outcome("cancelled", exception=exc, reason=ENDED))
            raise
        else:
            outcome = job.failed(exc)  # born inside the tool, so the tool's own fault
    except GeneratorExit as exc:  # the loop was closed under the task
        job.deliver(Outcome("cancelled", exception=exc, reason=ENDED))
        raise
    except BaseException as exc:  # noqa: BLE001 - SystemExit too: it must not end the loop
        outcome = job.failed(exc)
    job.call.cancels.clear()
    job.deliver(outcome)


def start_task(job: Job, awaiting: Awaiting | None = None, *, eager: bool = False) -> asyncio.Task[None]:
    """Start :func:`drive` as a task of the loop that runs on this thread, in the job's context.

    Args:
        job: The job.
        awaiting: What a sync body left to be awaited; its body has begun already.
        eager: Run its first step here and now, where Python can and no task factory objects.
    """
    loop = asyncio.get_running_loop()
    coroutine: Coroutine[Any, Any, None] = drive(job, awaiting)
    if eager and _EAGER and loop.get_task_factory() is None:
        return asyncio.Task(coroutine, loop=loop, context=job.context, **_EAGER)
    return loop.create_task(coroutine, context=job.context)


# eager_start came with Python 3.12.
_EAGER: dict[str, Any] = {"eager_start": True} if hasattr(asyncio, "eager_task_factory") else {}


class BackgroundAsyncio:
    """An asyncio loop on a daemon thread of its own, started on first use."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="toolexec-asyncio", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            self.loop.close()

    def stop(self, timeout: float) -> None:
        """End the loop; wait for its thread for at most ``timeout`` seconds."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout)
