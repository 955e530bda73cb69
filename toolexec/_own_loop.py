"""Running something awaitable to its end on this thread, in a loop made for that one call."""

from __future__ import annotations

import threading
from typing import Any

from toolexec._call_state import CallState
from toolexec._loop_kind import LoopKind, running_loop
from toolexec._outcome import Outcome, failed, stopped
from toolexec._values import settle_value


def run_to_end(value: Any, call: CallState, loop: LoopKind) -> Outcome:
    """Await ``value`` in a fresh loop on this thread, or on a helper thread if a loop runs here already.

    Meanwhile ``call.cancel_once`` cancels it natively.
    """
    run = _run_asyncio if loop == "asyncio" else _run_trio
    if running_loop() is None:
        return run(value, call)
    box: list[Outcome] = []
    # Daemon: should the tool never come back, it does not hold the program's exit.
    helper = threading.Thread(target=lambda: box.append(run(value, call)), name="toolexec-own-loop", daemon=True)
    helper.start()
    helper.join()
    return box[0]


def _run_asyncio(value: Any, call: CallState) -> Outcome:
    import asyncio

    # Not asyncio.run: on the main thread that installs a signal handler, and the engine installs none.
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(settle_value(value, call))

        def cancel() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop closed: the call is over
                pass

        call.cancellable(cancel)
        try:
            return Outcome("ok", loop.run_until_complete(task))
        except asyncio.CancelledError as exc:
            # Ours only if we asked; a CancelledError born inside the tool is the tool's own fault.
            return stopped(call) if call.asked else failed(call, exc)
        except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is that call's answer
            return failed(call, exc)
    finally:
        call.cancels.clear()
        _close_asyncio(loop)


def _close_asyncio(loop: Any) -> None:
    """End what the tool left on its loop, as asyncio.run does."""
    import asyncio

    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


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
            except trio.Cancelled:
                raise
            except BaseException as exc:  # noqa: BLE001 - whatever a tool raises is that call's answer
                return failed(call, exc)
        return stopped(call)

    try:
        return trio.run(main)
    except BaseException as exc:  # noqa: BLE001 - a KeyboardInterrupt that trio re-raises at its end
        return failed(call, exc)
    finally:
        call.cancels.clear()
