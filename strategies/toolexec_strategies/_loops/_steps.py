"""A coroutine that is stepped by hand, so that whoever awaits it can go on without it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

from toolexec.lowlevel import keep_forever

NOTHING: Any = object()


class Steps:
    """Awaiting a coroutine in an asyncio task, until it ends or is dropped.

    asyncio has no way to be rid of a coroutine that swallows its cancellation, and ``asyncio.run``
    waits for it for ever.  So what the coroutine yields is passed on here, step by step, and once it
    is dropped there is no next step: it stands still at its await, while its task ends.
    """

    __slots__ = ("_coroutine", "_last_word", "_task", "_wish", "dropped")

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, Any],
        task: asyncio.Task[Any],
        wish: Any = NOTHING,
        *,
        last_word: bool = False,
    ) -> None:
        """Take the coroutine; awaiting this starts it.

        Args:
            coroutine: What to step.
            task: The task that awaits this.
            wish: What it has yielded at its first step, where that was taken already.
            last_word: Whether it gets to see one CancelledError when it is dropped, for its clean-up.
                A body has seen one long before.
        """
        self._coroutine = coroutine
        self._task = task
        self._wish = wish
        self._last_word = last_word
        self.dropped = False

    def drop(self) -> None:
        """Take no further step; whoever awaits this gets a CancelledError.  On the loop's thread."""
        self.dropped = True
        self._task.cancel()

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine = self._coroutine
        try:
            wish = coroutine.send(None) if self._wish is NOTHING else self._wish
            self._wish = None
            while True:
                sent: Any = None
                thrown: BaseException | None = None
                try:
                    sent = yield wish
                except BaseException as exc:  # noqa: BLE001 - handed on below
                    thrown = exc
                if thrown is None:
                    wish = coroutine.send(sent)
                    continue
                # Not in the handler above: the coroutine would see that exception as one being handled.
                try:
                    wish = self._throw(thrown)
                finally:
                    del thrown  # it would keep itself alive, with its traceback
        except StopIteration as end:
            return end.value

    def _throw(self, exc: BaseException) -> Any:
        if issubclass(type(exc), GeneratorExit):
            if not self.dropped:
                self._coroutine.close()
            raise exc
        if not self.dropped:
            return self._coroutine.throw(exc)
        if self._last_word:
            self._last_word = False
            self._coroutine.throw(exc)
        keep_forever(self._coroutine)
        raise exc
