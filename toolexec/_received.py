"""Received: one response of a model, and its answers in any provider's format."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from toolexec._arguments import excerpt, kind_of
from toolexec._calls import call_dict, unique_ids
from toolexec._deferred import ids_of, is_deferred
from toolexec._errors import FormatError, ToolexecError
from toolexec._formats import format_of, installed, recognised
from toolexec._json import is_array, is_object
from toolexec._parts import Part
from toolexec._provider import Answer, Provider, Reply
from toolexec._rendering import Rendering
from toolexec._return import frameless

if TYPE_CHECKING:
    from toolexec._function import Function


class Received:
    """The calls of one response, and what is needed to answer them.

    Attributes:
        reply: The response, read.
        provider: Whose format it had; None for a list of call dicts.
        functions: Its calls, in order; of a stream those that are known so far.
        state: Whether all of it is there, or it is a stream that still goes on, or one that broke.
        turn: In which turn of its conversation it came.
        texts: By place, what the model reads of a result that came back from a dump.
    """

    __slots__ = ("_ids", "functions", "provider", "reply", "state", "texts", "turn")

    def __init__(
        self,
        reply: Reply,
        provider: Provider | None,
        functions: Iterable[Function],
        state: Literal["whole", "open", "broken"] = "whole",
    ) -> None:
        self.reply = reply
        self.provider = provider
        self.functions = tuple(functions)
        self.state: Literal["whole", "open", "broken"] = state
        self.turn = 0
        self.texts: dict[int, str] = {}
        self._ids: dict[str, list[str | None]] = {}  # by provider: what was made up once has to stay

    @property
    def asked(self) -> list[tuple[Function, Any]]:
        """Its calls, each with its arguments as the model sent them, which an intercept may have changed."""
        if self.state == "whole":
            return [(function, call.arguments) for function, call in zip(self.functions, self.reply.calls, strict=True)]
        return [(function, function.arguments) for function in self.functions]

    @property
    def is_open(self) -> bool:
        """Whether something of it is still to come: calls, or their Returns."""
        return self.state == "open" or any(
            function._return is None or is_deferred(function) for function in self.functions
        )

    @property
    def asks_nothing(self) -> bool:
        """Whether it is a whole response without calls."""
        return self.state == "whole" and not self.functions

    def messages(self, provider: Provider, tools: Iterable[str], rendering: Rendering) -> list[dict[str, Any]]:
        """The results, in call order.

        Raises:
            ToolexecError: A call has no Return yet, or is still to come.
        """
        if not self._is_whole() or not self.functions:
            return []
        return provider.results(self._reply_for(provider), self._answers(provider, tools, rendering))

    def both(self, provider: Provider, tools: Iterable[str], rendering: Rendering) -> list[dict[str, Any]]:
        """What the model said, and the results; see :meth:`messages`."""
        if not self._is_whole():
            return []
        reply, answers = self._reply_for(provider), self._answers(provider, tools, rendering)
        return [*provider.assistant(reply, answers), *(provider.results(reply, answers) if answers else ())]

    def _is_whole(self) -> bool:
        """Whether there is anything to send: nothing is, of a response that broke off."""
        if self.state == "open":
            raise ToolexecError("the stream of the last response still goes on; read it to its end first")
        return self.state == "whole"

    def drop_frames(self) -> None:
        """Replace the exceptions of its Returns by copies that hold no frames."""
        for function in self.functions:
            ret = function._return
            if ret is not None and ret.exception is not None:
                function._return = replace(ret, exception=frameless(ret.exception))
                if function._task is not None and function._task._return is ret:
                    function._task._return = function._return

    def _reply_for(self, provider: Provider) -> Reply:
        own = self.provider is not None and self.provider.name == provider.name
        # A copy: what is given out is the caller's to add to, a mark for its cache say.
        return self.reply._replace(native=copy.deepcopy(self.reply.native) if own else None)

    def _answers(self, provider: Provider, tools: Iterable[str], rendering: Rendering) -> list[Answer]:
        if put_off := ids_of(function for function in self.functions if is_deferred(function)):
            raise ToolexecError(
                f"calls are deferred, and have no answer for the model yet: {put_off}; approve, deny or answer them"
            )
        ids = self._ids.get(provider.name)
        if ids is None:
            given = [record.id for record in self.reply.calls]
            made = unique_ids(given, provider.legal_id, needed=provider.needs_ids)
            ids = self._ids.setdefault(provider.name, made)
        return [
            Answer(
                call_id,
                provider.rename(function.name),
                record.arguments,
                *_result(function, provider, tools, rendering, self.texts.get(place)),
            )
            for place, (call_id, function, record) in enumerate(zip(ids, self.functions, self.reply.calls, strict=True))
        ]


# Who wants to know what is received, by what each has been told.
_WATCHED: list[list[Received]] = []


def seen(received: Received) -> None:
    """Tell who watches that a Context has this response."""
    for responses in _WATCHED:
        responses.append(received)


@contextmanager
def watch_received() -> Generator[Callable[[], list[Function]]]:
    """Hold on to what any Context of this process receives while the block lasts.

    What it gives tells which of those calls are pending: not claimed, called, cancelled or answered.
    """
    responses: list[Received] = []
    _WATCHED.append(responses)
    try:
        yield lambda: [function for response in responses for function in response.functions if function.pending]
    finally:
        _WATCHED[:] = [others for others in _WATCHED if others is not responses]
        responses.clear()


def read(response: object, provider: Any, first: Provider | None) -> tuple[Reply, Provider | None]:
    """Take a response apart, and say whose it was.

    Args:
        response: An SDK's object, a dict, a list of call dicts, or any of these as JSON text.
        provider: Whose format it has, a name or an instance; None finds out.
        first: Whose it most likely is.

    Raises:
        FormatError: It is none of these; the text shows what was seen.
    """
    if isinstance(response, str | bytes | bytearray):
        response = _parsed(response)
    if provider is not None:
        known = format_of(provider)
        if not known.recognises(response):
            raise FormatError(f"no response of {known.name}: {kind_of(response)} {excerpt(repr(response))}")
        return known.read(response), known
    if _is_plain(response):
        return Reply([call_dict(entry, position) for position, entry in enumerate(response)]), None
    found = recognised(response, first)
    if found is not None:
        return found.read(response), found
    if not is_array(response):
        raise FormatError(
            f"no whole response of any provider that is installed ({', '.join(installed())}), and no list of call "
            f"dicts: {type(response).__name__} {excerpt(repr(response))}"
        )
    return Reply([call_dict(entry, position) for position, entry in enumerate(response)]), None


def settle_by_hand(functions: Sequence[Function], returns: Iterable[Any]) -> None:
    """Give calls the Returns that were made for them elsewhere.

    Raises:
        ToolexecError: One of them answers no open call; nothing was settled.
    """
    open_ = [function for function in functions if function._return is None and not function._claimed]
    pairs: list[tuple[Function, Any]] = []
    for ret in returns:
        match = next((fn for fn in open_ if fn.id == ret.id and fn.name == ret.name), None)
        if match is None:
            put_off = any(fn.id == ret.id and fn.name == ret.name and is_deferred(fn) for fn in functions)
            raise ToolexecError(
                f"a Return of {ret.name!r} with the id {ret.id!r} answers no call that is open; nothing was recorded"
                + ("; a deferred one takes context.answer or deny" if put_off else "")
            )
        open_ = [function for function in open_ if function is not match]
        pairs.append((match, ret))
    for function, ret in pairs:
        function._cancelled = ret.cancelled
        function._return = ret


def _is_plain(response: object) -> TypeGuard[Sequence[Any]]:
    """Whether it begins as a list of call dicts does; then no provider need be asked."""
    if not is_array(response):
        return False
    return not response or (is_object(response[0]) and ("name" in response[0] or "function" in response[0]))


def _parsed(text: str | bytes | bytearray) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise FormatError(f"a response that is no JSON ({exc}): {excerpt(repr(text))}") from None


def _result(
    function: Function, provider: Provider, tools: Iterable[str], rendering: Rendering, kept: str | None
) -> tuple[list[Part], bool, bool]:
    ret = function._return
    if ret is None:
        raise ToolexecError(f"the call of {function.name!r} has no Return yet; first ctx.wait(), or await ctx.run()")
    if ret.status == "unknown_tool":
        ret = replace(ret, value={**ret.value, "available": [provider.rename(name) for name in tools]})
    return rendering.shown(ret, function._definition.json, kept), ret.ok, ret.status != "unknown_tool"
