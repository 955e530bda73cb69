"""Running something awaitable to its end on this thread, in a loop made for that one call."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

from toolexec._asyncio_end import end_asyncio
from toolexec._call_state import CallState
from toolexec._leaves import leaves
from toolexec._loop_kind import LoopKind, running_loop
from toolexec._outcome import Outcome, failed, stopped
from toolexec._values import settle_value

# How long what a body leaves on its loop may take to clean up, and a body itself after a Ctrl-C: as
# long as a call that is asked to stop has by default.
_CLEAN_UP_S = 2.0

# A signal that comes just before the main thread falls asleep does not wake it; so it looks up now and then.
_BEAT_S = 0.5


def run_to_end(value: Any, call: CallState, loop: LoopKind) -> Outcome:
    """Await ``value`` in a fresh loop: on this thread, or on a helper thread where that cannot be.

    Meanwhile ``call.cancel_once`` cancels it natively.
    """
    run = _run_asyncio if loop == "asyncio" else _run_trio
    # A thread runs one loop at a time.  And trio, run on the main thread, takes over the handling of
    # Ctrl-C there; the engine leaves signal handlers alone.
    if running_loop() is not None or (loop == "trio" and threading.current_thread() is threading.main_thread()):
        return _run_on_helper(run, value, call)
    return run(value, call)


def _run_on_helper(run: Any, value: Any, call: CallState) -> Outcome:
    outcomes: list[Outcome] = []
    context = copy_context()  # what is current here stays entered, so the other thread needs a copy
    # Daemon: should the tool never come back, it does not hold the program's exit.
    helper = threading.Thread(
        target=lambda: outcomes.append(context.run(run, value, call)), name="toolexec-own-loop", daemon=True
    )
    helper.start()
    try:
        while helper.is_alive():
            helper.join(_BEAT_S)
    except BaseException:  # a Ctrl-C: the body ends by it, as it would on this thread
        _cancel(call)
        helper.join(_CLEAN_UP_S)
        raise
    return outcomes[0]


def _cancel(call: CallState) -> None:
    try:
        cancel = call.cancels.pop()
    except IndexError:  # it ends already
        return
    cancel()


def _run_asyncio(value: Any, call: CallState) -> Outcome:
    import asyncio

    # Not asyncio.run: on the main thread that installs a signal handler, and the engine installs none.
    loop = asyncio.new_event_loop()
    task = loop.create_task(settle_value(value, call))

    def cancel() -> None:
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:  # the loop closed: the call is over
            pass

    try:
        call.cancellable(cancel)
        return Outcome("ok", loop.run_until_complete(task))
    except asyncio.CancelledError as exc:
        # Ours only if we asked; a CancelledError born inside the tool is the tool's own fault.
        return stopped(call) if call.asked else failed(call, exc)
    except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is that call's answer
        return failed(call, exc)
    finally:
        call.cancels.clear()
        end_asyncio(loop, _CLEAN_UP_S, cancelled={task} if call.delivered else ())


def _run_trio(value: Any, call: CallState) -> Outcome:
    import trio

    async def main() -> Outcome:
        token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as scope:

            def cancel() -> None:
                try:
                    token.run_sync_soon(scope.cancel)
                except trio.RunFinishedError:  # the call is over
                    pass

            call.cancellable(cancel)
            try:
                return Outcome("ok", await settle_value(value, call))
            except BaseException as exc:
                if all(issubclass(type(leaf), trio.Cancelled) for leaf in leaves(exc)):
                    raise
                return failed(call, exc)  # whatever a tool raises is that call's answer
        return stopped(call)

    try:
        return trio.run(main)
    except BaseException as exc:  # noqa: BLE001 - an Interrupt that hit trio itself
        return failed(call, exc)
    finally:
        call.cancels.clear()
