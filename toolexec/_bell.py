"""Bell: rung from any thread, awaited in one event loop."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

from toolexec._loop_kind import running_loop


class Bell:
    """A one-shot event between any thread and the loop (asyncio or trio) it is made in.

    ``ring`` may be called from any thread, also before anyone waits, more than once, and after the
    loop is gone; it takes no lock and never raises.  Only one task may wait.
    """

    __slots__ = ("_rung", "_wake", "wait")

    def __init__(self) -> None:
        """Bind to the loop that runs on this thread.

        Raises:
            RuntimeError: No event loop runs here.
        """
        kind = running_loop()
        if kind == "asyncio":
            self._bind_asyncio()
        elif kind == "trio":
            self._bind_trio()
        else:
            raise RuntimeError("no asyncio or trio loop is running on this thread; from plain code use the sync form")

    def ring(self) -> None:
        """Wake the waiter."""
        self._wake()

    def _bind_asyncio(self) -> None:
        asyncio = sys.modules["asyncio"]
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(settle)
            except RuntimeError:  # the loop is closed: nobody is left to wake
                pass

        async def wait() -> None:
            await future

        self._wake: Callable[[], None] = wake
        self.wait: Callable[[], Awaitable[None]] = wait

    def _bind_trio(self) -> None:
        trio = sys.modules["trio"]
        event = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def wake() -> None:
            try:
                token.run_sync_soon(event.set, idempotent=True)
            except trio.RunFinishedError:  # the run is over: nobody is left to wake
                pass

        self._wake = wake
        self.wait = event.wait
