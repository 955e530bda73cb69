"""An async body as an asyncio task, and an asyncio loop in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from toolexec.lowlevel import Awaiting, CallState, Job, Outcome, end_asyncio
from toolexec_strategies._loops._steps import NOTHING, Steps

ENDED = "its event loop ended"

# What tasks that are left on the background loop at its end have for their clean-up.  The calls have
# had their grace before; a guess.
_CLEAN_UP_S = 1.0


class Body:
    """An async body on an asyncio loop: what stops it, tells its hook, and lets go of it.  Any thread."""

    __slots__ = ("_late_hook", "_left", "_loop", "_steps", "_task", "ended")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Any] | None = None  # once it has to wait
        self._steps: Steps | None = None
        self._left = False
        self._late_hook: asyncio.Task[None] | None = None
        self.ended = False

    def steps(self, coroutine: Coroutine[Any, Any, Any], wish: Any = NOTHING, *, last_word: bool = False) -> Steps:
        """For its own task to await, step by step; from ``wish`` on, if the first step gave that."""
        self._task = _current_task()
        self._steps = steps = Steps(coroutine, self._task, wish, last_word=last_word)
        if self._left:  # in the midst of its first step
            steps.drop()
        return steps

    def end(self, call: CallState) -> None:
        """The body has ended."""
        self.ended = True
        if self._steps is not None:
            call.cancels.clear()

    @property
    def dropped(self) -> bool:
        """Whether it takes no further step."""
        return self._steps is not None and self._steps.dropped

    def cancel(self) -> None:
        """Cancel it, natively, unless it has ended by the time the loop comes to that."""
        self._soon(self._cancel)

    def leave(self) -> None:
        """Take no further step: of the body, or of the hook that runs after it."""
        self._soon(self._leave)

    def hook(self, job: Job) -> None:
        """Run the hook while the body still runs."""
        self._soon(self._start_hook, job)

    def _soon(self, call: Callable[..., object], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop is closed, and the call has ended with it
            pass

    def _cancel(self) -> None:
        if self._task is not None and not self.ended:
            self._task.cancel()

    def _leave(self) -> None:
        if self._steps is None or self._task is None:
            self._left = True
        elif not self._task.done():
            self._steps.drop()

    def _start_hook(self, job: Job) -> None:
        # Held here, as a loop holds its tasks weakly.
        self._late_hook = self._loop.create_task(_hook_beside(job), context=job.context.copy())


async def drive(job: Job, awaiting: Awaiting | None = None) -> None:
    """Run a job as the whole of the current task and deliver it."""
    if awaiting is None and not job.begin():
        job.deliver(job.stopped())
        return
    call = job.call
    body = job.slot = Body()
    try:
        coroutine = job.abody() if awaiting is None else job.resume(awaiting)
        try:
            wish = coroutine.send(None)
        except StopIteration as end:  # it never had to wait
            outcome = Outcome("ok", end.value)
        else:
            steps = body.steps(coroutine, wish)
            call.cancellable(body.cancel)
            outcome = Outcome("ok", await steps)
    except asyncio.CancelledError as exc:
        if body.dropped:
            return  # left behind, and answered for
        outcome = _cancelled(job, exc)
    except GeneratorExit as exc:  # the loop was closed under the task
        job.deliver(Outcome("cancelled", exception=exc, reason=ENDED))
        raise
    except BaseException as exc:  # noqa: BLE001 - SystemExit too: it must not end the loop
        outcome = job.failed(exc)
        if asyncio.get_running_loop().is_closed():  # it met its closing with an exception of its own
            job.deliver(outcome)
            return
    body.end(call)
    if outcome.exception is None and not call.asks:
        job.finish(outcome)
    else:
        await _finish_asked(job, body, outcome)


def _cancelled(job: Job, exc: asyncio.CancelledError) -> Outcome:
    if not job.asked and _current_task().cancelling():
        # The loop is taking its tasks down (or the tool cancelled its own task: it looks the same).
        job.call.deliver_once()
        job.ask(ENDED)
    # Else born inside the tool, so the tool's own fault.
    return job.stopped() if job.asked else job.failed(exc)


async def _finish_asked(job: Job, body: Body, outcome: Outcome) -> None:
    if not job.call.hook_due:
        await job.afinish(outcome)
        return
    me = _current_task()
    while me.cancelling():  # what is due now was not cancelled: it may use timeouts of its own
        me.uncancel()
    await body.steps(job.afinish(outcome), last_word=True)


def _current_task() -> asyncio.Task[Any]:
    me = asyncio.current_task()
    assert me is not None
    return me


async def _hook_beside(job: Job) -> None:
    """Run a job's hook while its body still runs, for what is left of its grace."""
    me = _current_task()
    steps = Steps(job.arun_hook(), me, last_word=True)
    bound = me.get_loop().call_later(job.call.grace_left() or 0.0, steps.drop)
    try:
        await steps
    except asyncio.CancelledError:
        if not steps.dropped:
            raise
    finally:
        bound.cancel()


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


def answer_unstepped(job: Job) -> None:
    """Its task is done: a loop that ends cancels some before their first step, which would have seen to the rest."""
    if not isinstance(job.slot, Body):
        job.deliver(Outcome("cancelled", reason=ENDED))


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
            end_asyncio(self.loop, _CLEAN_UP_S)
            asyncio.set_event_loop(None)

    def stop(self, timeout: float) -> None:
        """End the loop; wait for its thread for at most ``timeout`` seconds."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout)
