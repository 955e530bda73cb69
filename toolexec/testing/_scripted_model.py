"""ScriptedModel: stands in for a model, says what a script tells it to, and checks what it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, Self, TypeAlias, cast

from toolexec.providing import CallRecord, Said, format_of, is_array
from toolexec.testing._answering import answer_faults, batches_of, block_faults, id_faults, repetition_faults
from toolexec.testing._responses import RESPONSES
from toolexec.testing._scripted_calls import ScriptedCall, Spoken, asked, unknown_format
from toolexec.testing._streams import STREAMS

# What a model says at one time: a text, calls, or both.
ScriptedItem: TypeAlias = str | list[ScriptedCall] | tuple[list[ScriptedCall], str]

_FORMATS = tuple(name for name in RESPONSES if name != "mcp")  # what a server of MCP is sent, no model says


class ScriptError(AssertionError):
    """What a :class:`ScriptedModel` was sent does not fit its script; the text says in what."""


class ScriptedModel:
    """Stands in for a model: says what its script tells it to, and checks what it is sent.

        model = ScriptedModel([[("add", {"a": 2, "b": 3})], "It is 5."])
        response = model(messages)

    Each request has to answer all calls that were given before: each once, in call order, directly behind
    the message that asks for it, which has to be there as it was given; where ids were missing or repeated,
    under whatever ids.  Calls that the first request brings along are held to the same.  With
    "openai-responses" a request may also hold the outputs alone, as with ``previous_response_id``; then
    they are those of the response before, and come first.

    For one conversation.  The calls of a last item are never seen answered: end the script with a text.

    Attributes:
        provider: Whose responses it gives.
        requests: The messages that it was sent, a list for each request.
    """

    def __init__(self, items: Iterable[ScriptedItem], provider: str = "openai") -> None:
        """Read the script.

        Args:
            items: What it says, in turn: a text; a list of calls, as :func:`response` takes them; or
                ``([calls], text)``.  Ids that are made up are numbered on through the whole script.
            provider: "openai", "openai-responses", "anthropic", "google", "ollama" or "bedrock".

        Raises:
            FormatError: There is no such provider, or it is "mcp", which no model speaks.
            TypeError: Something is no item, or no call.
        """
        if provider not in _FORMATS:
            raise unknown_format(provider, _FORMATS)
        self.provider = provider
        self.requests: list[list[Any]] = []
        self._items: list[Spoken] = []
        first = 1
        for item in items:
            calls, text = _read(item)
            self._items.append(Spoken(asked(provider, calls, first=first), text))
            first += len(calls)
        self._format = format_of(provider)
        self._before: list[Sequence[CallRecord]] | None = None

    def __call__(self, messages: Any, **options: Any) -> Any:
        """The next response, as :func:`response` makes it.

        Args:
            messages: What the model's API would be sent as ``messages``, ``contents`` or ``input``.
            **options: What else goes into a request, such as ``tools``; it is not looked at.

        Raises:
            ScriptError: The messages do not answer what was asked, or the script is over.
        """
        return RESPONSES[self.provider](self._next(messages))

    async def acall(self, messages: Any, **options: Any) -> Any:
        """The same, for code that awaits its model."""
        return self(messages, **options)

    def stream(self, messages: Any, *, size: int = 5, **options: Any) -> list[dict[str, Any]]:
        """The events of the next response, as the function ``stream`` makes them.

        Args:
            messages: As for a call.
            size: How many characters of text, or of arguments, an event has at most.
            **options: As for a call.

        Raises:
            ScriptError: As for a call.
        """
        return list(STREAMS[self.provider](self._next(messages), size))

    async def astream(self, messages: Any, *, size: int = 5, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """The same, for ``async for event in ctx.stream(await model.astream(messages))``."""
        return _Events(self.stream(messages, size=size, **options))

    def assert_done(self) -> None:
        """Check that all of the script was said.

        Raises:
            ScriptError: Some was not asked for.
        """
        said, all_of_it = len(self.requests), len(self._items)
        if said < all_of_it:
            raise ScriptError(f"the script has {all_of_it} items, and {said} were asked for; next is {self._shown()}")

    def _shown(self) -> str:
        spoken = self._items[len(self.requests)]
        names = ", ".join(call.name for call in spoken.calls)
        return f"the text {spoken.text!r}" if not names else f"a response with calls of {names}"

    def _next(self, messages: Any) -> Spoken:
        request = list(messages) if is_array(messages) else [messages]
        number = len(self.requests)
        self._check(request, number)
        if number == len(self._items):
            raise ScriptError(f"the script is over: it has {number} items, and this is request {number + 1}")
        self.requests.append(request)
        return self._items[number]

    def _check(self, request: Sequence[Any], number: int) -> None:
        said = [self._format.said(message) for message in request]
        given = [_records(spoken) for spoken in self._items[:number]]
        faults = list(block_faults(self._format, said, request))
        if self.provider == "openai-responses" and given and not any(one.calls for one in said):
            # The server remembers the rest; what the model said last stands right before what comes now.
            given = given[-1:]
            said.insert(0, Said(given[0]))
        batches = batches_of(said, many=self._format.blocks is None)
        there = [batch.calls for batch in batches]
        faults += id_faults(batches, needed=self._format.needs_ids)
        faults += repetition_faults(there, [calls for calls in given if calls], self._before, self._same)
        faults += answer_faults(said, batches)
        if faults:
            raise ScriptError(f"request {number + 1} does not fit the script: {'; '.join(faults)}")
        if self._before is None:
            self._before = there

    def _same(self, response: Sequence[CallRecord], given: CallRecord, there: CallRecord) -> bool:
        """Whether a call of a response is one of the request, which may have had to give it another name or id."""
        known = self._format
        if there.name not in (given.name, known.rename(given.name)):
            return False
        if not there.id and not known.needs_ids:
            return True
        twice = [call.id for call in response].count(given.id) > 1
        legal = given.id and (known.legal_id is None or known.legal_id.fullmatch(given.id))
        return there.id == given.id or not legal or twice


class _Events:
    """Events for ``async for``; unlike a generator, nothing has to be closed where it is left early."""

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self._events: Iterator[dict[str, Any]] = iter(events)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, Any]:
        for event in self._events:
            return event
        raise StopAsyncIteration


def _records(spoken: Spoken) -> list[CallRecord]:
    return [CallRecord(call.id, call.name, call.arguments) for call in spoken.calls]


def _read(item: object) -> tuple[Sequence[ScriptedCall], str | None]:
    """Calls and text of one item.

    Raises:
        TypeError: It is none; the text shows how to write one.
    """
    if isinstance(item, str):
        return (), item
    if is_array(item) and not isinstance(item, tuple):
        return item, None
    if is_array(item) and len(item) == 2 and isinstance(item[0], list) and isinstance(item[1], str):
        return cast("list[ScriptedCall]", item[0]), item[1]
    raise TypeError(
        'an item of a script is a text, a list of calls [("name", {arguments}), ...], '
        f"or ([calls], text), and not {item!r}"
    )
