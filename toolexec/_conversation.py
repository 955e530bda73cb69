"""Conversation: the responses of a model so far, and the answers to their calls as messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from toolexec._errors import DeclarationError
from toolexec._formats import format_of
from toolexec._received import Received, seen, settle_by_hand
from toolexec._rendering import Rendering

if TYPE_CHECKING:
    from toolexec._function import Function
    from toolexec._provider import Provider
    from toolexec._return import Return


class Conversation:
    """What a Context has of it; no part of its API by itself."""

    functions: dict[str, Function]

    def __init__(self, provider: Any, rendering: Rendering, *, history: bool) -> None:
        if not isinstance(history, bool):
            raise DeclarationError(f"history is {history!r}; it takes True or False")
        self._provider: Provider | None = None if provider is None else format_of(provider)
        self._rendering = rendering
        self._turn = 0
        self._history = history
        self._responses: list[Received] = []

    @property
    def _likely(self) -> Provider | None:
        """Whose format the next response has, most likely."""
        return self._provider or (self._responses[-1].provider if self._responses else None)

    def _remember(self, received: Received) -> None:
        if not self._history:
            self._responses = [response for response in self._responses if response.is_open]
        received.turn = self._turn
        self._responses.append(received)
        seen(received)

    @property
    def returns(self) -> tuple[Return, ...]:
        """The Returns of the conversation so far, in call order; calls without one are left out."""
        return tuple(function._return for function in self._calls() if function._return is not None)

    @property
    def calls(self) -> tuple[Function, ...]:
        """The calls of this turn's responses, in the order they came; with ``history=False`` of the last ones."""
        turn = [response for response in self._responses if response.turn == self._turn]
        return tuple(function for response in turn for function in response.functions)

    def _asked(self) -> list[list[tuple[Function, Any]]]:
        """The calls of this turn, by response; see ``Received.asked``."""
        return [response.asked for response in self._responses if response.turn == self._turn and response.functions]

    def _calls(self) -> Iterator[Function]:
        return (function for response in self._responses for function in response.functions)

    def messages(self, provider: Any = None) -> list[dict[str, Any]]:
        """The results of the last response, as messages for the provider; the same when called twice.

        Args:
            provider: A name or an instance; by default the Context's, or else that of the response.

        Raises:
            ToolexecError: A call of it has no Return yet.
            FormatError: There is no such provider.
        """
        known, tools = self._out(provider)
        return self._responses[-1].messages(known, tools, self._rendering) if self._responses else []

    def turn(self, provider: Any = None) -> list[dict[str, Any]]:
        """What the model said last and the results, ids rewritten alike in both; empty if it asked for nothing.

        Append this to the conversation: a response in which two calls share an id, or one has none,
        can be answered no other way.  Arguments and raises are those of :meth:`messages`.
        """
        known, tools = self._out(provider)
        last = self._responses[-1] if self._responses else None
        return [] if last is None or last.asks_nothing else last.both(known, tools, self._rendering)

    def history(self, provider: Any = None) -> list[dict[str, Any]]:
        """All responses as :meth:`turn` gives the last one, those without calls included.

        What people said in between is not the Context's, and is not there.
        """
        known, tools = self._out(provider)
        return [message for response in self._responses for message in response.both(known, tools, self._rendering)]

    def repair(self, messages: Sequence[Any], provider: Any = None) -> list[Any]:
        """A history made elsewhere, of a run that crashed say, in which every call has exactly one answer.

        A call without one is told not to have been answered: it may or may not have run.  Answers that
        the provider would refuse go to their place; to no call, or second ones, they are left out.

        Args:
            messages: All messages, as a request takes them, or an SDK's objects; none is changed.
            provider: Whose format they have; by default that is seen from the calls in them.

        Raises:
            FormatError: They are of no provider, or of one that keeps no histories.
        """
        last = self._responses[-1].provider if self._responses else None
        from toolexec._repair import repair  # few conversations need it

        return repair(messages, provider, [known for known in (self._provider, last) if known is not None])

    def record(self, returns: Iterable[Return]) -> None:
        """Settle calls with Returns that were made by hand, such as ``fn.return_(value)``.

        Each is matched with the first open call of its id and name; ``cancel`` and ``budget_spent``
        settle their call by themselves.

        Raises:
            ToolexecError: One answers no call that is open; nothing was settled.
        """
        settle_by_hand(list(self._calls()), returns)

    def _out(self, provider: Any) -> tuple[Provider, list[str]]:
        own = self._responses[-1].provider if self._responses else None
        return format_of(provider or self._provider or own or "openai"), list(self.functions)
