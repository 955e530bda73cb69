"""Functions: several calls together, in call order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from toolexec._claim import newest
from toolexec._errors import WaitTimeout
from toolexec._function import Function
from toolexec._return import Return
from toolexec._waiting import check_timeout, refuse_running_loop

if TYPE_CHECKING:
    from toolexec._group import Group
    from toolexec._task import Task


class Functions(Sequence[Function]):
    """Calls of one Context, in call order; falsy when there are none.

    Leaving some out, with ``except_`` or ``-``, goes by identity and gives another Functions.
    """

    __slots__ = ("_functions", "_opener")

    def __init__(self, functions: Iterable[Function], opener: Callable[..., Group]) -> None:
        self._functions = tuple(functions)
        self._opener = opener

    @overload
    def __getitem__(self, index: int) -> Function: ...
    @overload
    def __getitem__(self, index: slice) -> Functions: ...
    def __getitem__(self, index: int | slice) -> Function | Functions:
        if isinstance(index, slice):
            return Functions(self._functions[index], self._opener)
        return self._functions[index]

    def __len__(self) -> int:
        return len(self._functions)

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions)

    def except_(self, *functions: Function) -> Functions:
        """These calls without the given ones."""
        left_out = {id(function) for function in functions}
        return Functions((function for function in self if id(function) not in left_out), self._opener)

    def __sub__(self, other: Iterable[Function]) -> Functions:
        return self.except_(*other)

    def __repr__(self) -> str:
        return f"Functions({list(self._functions)!r})"

    def group(self, strategy: Any = None, *, window: int | None = None, timeout: float | None = None) -> Group:
        """Start those that are pending, as one Group; it holds those, too, that a stream has started ahead.

        Args:
            strategy: For tools that have none of their own; the Context's by default.
            window: How many may be in flight at once, over all strategies.
            timeout: Seconds the Group has, from now.  Then what has not settled is stopped, and its
                Return is a ``timeout``; finished calls keep their values.

        Returns:
            The Group.  A call that was started ahead is in the first one that is made of it.

        Raises:
            UnknownStrategy, StrategyUnavailable: Nothing was started.
        """
        return self._opener(
            [function for function in self if function.pending or function._ahead],
            strategy,
            window=window,
            timeout=timeout,
            once=True,
        )

    def wait(
        self, strategy: Any = None, *, window: int | None = None, timeout: float | None = None
    ) -> tuple[Return, ...]:
        """Start those that are pending and block until all of these have settled.

        Returns:
            The Returns, in call order; also of calls that were started or answered before.

        Raises:
            WrongLoop: On a running loop's thread, before anything was started; ``await fns.run()``.
            WaitTimeout: Some have not settled after ``timeout`` seconds; nothing was interrupted.
        """
        return self._wait(strategy, window, timeout, "await fns.run() or await ctx.run()")

    def _wait(self, strategy: Any, window: int | None, timeout: float | None, instead: str) -> tuple[Return, ...]:
        check_timeout(timeout)
        if timeout != 0:
            refuse_running_loop(f"{instead} (timeout=0 only polls)")
        group = self.group(strategy, window=window)
        clock = group._clock
        until = None if timeout is None else clock.now() + timeout
        try:
            group.wait(timeout)
            for rest in self._rest(strategy, window):
                rest.wait(None if until is None else max(0.0, until - clock.now()))
        except WaitTimeout:
            raise WaitTimeout(timeout or 0.0, [fn.id for fn in self if fn._return is None]) from None
        return self._answers()

    async def run(self, strategy: Any = None, *, window: int | None = None) -> tuple[Return, ...]:
        """:meth:`wait`, from a running loop."""
        await self.group(strategy, window=window)
        for rest in self._rest(strategy, window):
            await rest
        return self._answers()

    def call(self) -> tuple[Return, ...]:
        """Run those that are pending here and now, one after another."""
        return self.wait("sequential")

    def _rest(self, strategy: Any, window: int | None) -> Iterator[Task | Group]:
        """What is still to be waited for: calls that somebody else runs, or was stopped from starting."""
        for function in self:
            while function._return is None:
                task = newest(function)
                if task is not None and task.alive:
                    yield task
                elif function.pending:
                    yield self.group(strategy, window=window)
                else:
                    break

    def _answers(self) -> tuple[Return, ...]:
        return tuple(function._return for function in self if function._return is not None)
