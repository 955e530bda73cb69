"""The Returns of a Group as its calls finish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from toolexec._return import Return

if TYPE_CHECKING:
    from toolexec._group import Group


class AsFinished:
    """One walk over a Group, sync or async; several may be under way at once.

    No generator: one that is left early would be closed at some later moment, which trio warns of.
    """

    __slots__ = ("_group", "_index")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._index = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Return:
        """Block until one more call has settled.

        Raises:
            WrongLoop: On a running loop's thread, when none is ready.
        """
        group = self._group
        if self._index >= len(group):
            raise StopIteration
        if not self._ready():
            group._refuse_loop(None, "async for")
            group._wait(group._each, self._ready, None, group._tasks)
        return self._take()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Return:
        """Await that one more call has settled."""
        group = self._group
        if self._index >= len(group):
            raise StopAsyncIteration
        await group._await(group._each, self._ready, group._tasks)
        return self._take()

    def _ready(self) -> bool:
        return len(self._group._finished) > self._index

    def _take(self) -> Return:
        ret = self._group._finished[self._index]._return
        assert ret is not None  # a task is among the finished once it has its Return
        self._index += 1
        return ret
