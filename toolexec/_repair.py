"""Repairing a history that was made elsewhere, so that a provider takes it: each call gets exactly one answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolexec._arguments import excerpt, kind_of
from toolexec._calls import CallRecord
from toolexec._errors import FormatError
from toolexec._formats import format_of, installed, named
from toolexec._history import Answered, Blocks, Fitting, Said
from toolexec._json import is_array, is_object
from toolexec._parts import Text
from toolexec._provider import Answer, Provider, Reply, get
from toolexec._return import Return, cancelled_form, render

UNANSWERED = "this call was not answered: it may or may not have run; ask again if its result is still needed"
# In place of a message that held nothing but answers to no call, where the message cannot be left out.
_GONE = "(a tool's result was here; the call that it answers is not in this conversation)"


def repair(messages: Any, provider: Any, first: Sequence[Provider]) -> list[Any]:
    """A new list in which each call has exactly one answer, where its provider wants it.

    Args:
        messages: The history.
        provider: Whose format it has, a name or an instance; None finds out.
        first: Whose it most likely is.

    Raises:
        FormatError: It is no history of that provider, or of any.
    """
    if not is_array(messages):
        raise FormatError(f"a history is a list of messages, not {kind_of(messages)} {excerpt(repr(messages))}")
    found = _recognised(messages, first) if provider is None else format_of(provider)
    if found is None:
        for position, message in enumerate(messages):
            if all(get(message, key) is None for key in ("role", "type", "parts")) and not isinstance(message, str):
                raise FormatError(
                    f"message {position} is none of any provider that is installed ({', '.join(installed())}): "
                    f"{kind_of(message)} {excerpt(repr(message))}"
                )
        return list(messages)  # nobody's calls are in there
    return _Repair(found, messages).made() if messages else []


def _recognised(messages: Sequence[Any], first: Sequence[Provider]) -> Provider | None:
    """The provider in whose format calls or answers stand in the history; else the likely one, whose calls may hide."""
    for provider in _candidates(first):
        try:
            said = [provider.said(message) for message in messages]
            if all(one.own for one in said) and any(one.calls or one.answers for one in said):
                return provider
        except Exception:  # noqa: BLE001 - a third party's, or the message's own code: the others are still asked
            continue
    return first[0] if first else None


def _candidates(first: Sequence[Provider]) -> Iterator[Provider]:
    yield from first
    for name in installed():
        try:
            yield named(name)
        except FormatError:  # one that cannot be loaded recognises nothing
            continue


class _Batch:
    """The calls of one message, and what answers them.

    Attributes:
        calls: In order.
        end: The index after the last message that has one of them.
        zone: The indices of the messages right behind, which answer.
        answers: For each call, the index of the message that answers it and which of its answers does.
        order: The calls that are answered where they should be, in the order of the answers.
    """

    __slots__ = ("_free", "answers", "calls", "end", "order", "zone")

    def __init__(self, calls: Sequence[CallRecord], end: int, zone: Sequence[int]) -> None:
        self.calls = calls
        self.end = end
        self.zone = zone
        self.answers: list[tuple[int, Answered] | None] = [None] * len(calls)
        self.order: list[int] = []
        self._free = Fitting()
        for number, call in enumerate(calls):
            self._free.add(call, number)

    def take(self, index: int, answer: Answered) -> bool:
        """Whether the answer is for one of these calls; if that has one already, the first counts."""
        fitting = self._free.places(answer)
        for numbers in fitting:
            while numbers and self.answers[numbers[0]] is not None:
                numbers.popleft()
        free = min((numbers[0] for numbers in fitting if numbers), default=None)
        if free is not None:
            self.answers[free] = (index, answer)
            if index in self.zone:
                self.order.append(free)
        return bool(fitting)

    def in_order(self, *, stays: bool) -> list[int]:
        """All calls in the order in which to answer them: their own, but where answers may stay where they are.

        One whose answer does not stay is answered right behind the call before it.
        """
        stay = self.order if stays else []
        placed = set(stay)
        order: list[int] = []
        for number in (-1, *stay):
            if number >= 0:
                order.append(number)
            following = number + 1
            while following < len(self.calls) and following not in placed:
                order.append(following)
                following += 1
        return order


class _Repair:
    """One history under repair."""

    __slots__ = ("_batches", "_messages", "_provider", "_said")

    def __init__(self, provider: Provider, messages: Sequence[Any]) -> None:
        self._provider = provider
        self._messages = messages
        self._said = [provider.said(message) for message in messages]
        self._batches = list(_batches(self._said, many=provider.blocks is None))
        strays: list[tuple[int, Answered]] = []
        zones = {index: batch for batch in self._batches for index in batch.zone}
        for index, one in enumerate(self._said):
            zone = zones.get(index)
            strays += [(index, answer) for answer in one.answers if zone is None or not zone.take(index, answer)]
        self._take_strays(strays)

    def _take_strays(self, strays: Sequence[tuple[int, Answered]]) -> None:
        """Behind something else, where the provider refuses it, an answer belongs to the last call that it fits."""
        before, end = Fitting(), 0
        for index, answer in strays:
            while end < len(self._batches) and self._batches[end].end <= index:
                for call in self._batches[end].calls:
                    before.add(call, end)
                end += 1
            last = max((places[-1] for places in before.places(answer) if places), default=None)
            if last is not None:
                self._batches[last].take(index, answer)

    def made(self) -> list[Any]:
        """The repaired history; a message that needs no change is the very same."""
        blocks = self._provider.blocks
        return self._as_messages() if blocks is None else list(self._as_blocks(blocks))

    def _pairs(self, batch: _Batch | None) -> list[tuple[CallRecord, tuple[int, Answered] | None]]:
        """The calls in the order in which to answer them, each with what answers it."""
        if batch is None:
            return []
        order = batch.in_order(stays=self._provider.needs_ids)  # without ids it is the order that tells which is whose
        return [(batch.calls[number], batch.answers[number]) for number in order]

    def _as_messages(self) -> list[Any]:
        begins = {batch.zone[0] if batch.zone else batch.end: batch for batch in self._batches}
        made: list[Any] = []
        for index in range(len(self._messages) + 1):
            for call, given in self._pairs(begins.get(index)):
                made.append(self._answer(call) if given is None else self._messages[given[0]])
            if index < len(self._messages) and not self._said[index].answers:
                made.append(self._messages[index])
        return made

    def _as_blocks(self, blocks: Blocks) -> Iterator[Any]:
        begins = {batch.end: batch for batch in self._batches}
        for index in range(len(self._messages) + 1):
            batch = begins.get(index)
            answers = [self._block(blocks, call, given) for call, given in self._pairs(batch)]
            there = index < len(self._messages)
            if there and self._said[index].takes and (answers or self._said[index].answers):
                yield from self._mended(blocks, index, answers)
                continue
            if batch is not None:
                yield {**self._answer(batch.calls[0]), blocks.key: answers}
            if there:
                yield self._messages[index]

    def _mended(self, blocks: Blocks, index: int, answers: list[Any]) -> Iterator[Any]:
        """A user's message with these answers and no others."""
        message = self._messages[index]
        shell = message if is_object(message) else {"role": get(message, "role")}
        before = self._blocks(blocks, index)
        held = {answer.block for answer in self._said[index].answers}
        others = [block for place, block in enumerate(before) if place not in held]
        apart = blocks.alone and answers and others
        if not apart and list(map(id, before)) == list(map(id, [*answers, *others])):
            yield message
        elif apart:
            yield {**shell, blocks.key: answers}
            yield message if len(others) == len(before) else {**shell, blocks.key: others}
        elif answers or others:
            yield {**shell, blocks.key: [*answers, *others]}
        elif not index or not self._said[index - 1].takes:  # else nothing but the user's stands there without it
            yield {**shell, blocks.key: self._text(blocks, _GONE)}

    def _block(self, blocks: Blocks, call: CallRecord, given: tuple[int, Answered] | None) -> Any:
        if given is None:
            return self._answer(call)[blocks.key][0]
        index, answer = given
        return self._blocks(blocks, index)[answer.block or 0]

    def _blocks(self, blocks: Blocks, index: int) -> Sequence[Any]:
        content = get(self._messages[index], blocks.key)
        return content if is_array(content) else self._text(blocks, content)

    def _text(self, blocks: Blocks, text: Any) -> list[Any]:
        made = self._provider.assistant(Reply((), text), ()) if isinstance(text, str) else ()
        return made[0][blocks.key] if made else []

    def _answer(self, call: CallRecord) -> dict[str, Any]:
        ret = Return(id=call.id, name=call.name, value=cancelled_form(UNANSWERED, unanswered=True), status="cancelled")
        answer = Answer(call.id, call.name, call.arguments, [Text(render(ret))], ok=False)
        return self._provider.results(Reply([call]), [answer])[0]


def _batches(said: Sequence[Said], *, many: bool) -> Iterator[_Batch]:
    index = 0
    while index < len(said):
        begin, last = index, index
        calls: list[CallRecord] = []
        while True:
            if said[index].calls:
                calls += said[index].calls
                last = index
            index += 1
            if index == len(said) or not (said[begin].part and said[index].part):
                break
        if not calls:
            continue
        behind = index
        while behind < len(said) and said[behind].answers and (many or behind == index):
            behind += 1
        yield _Batch(calls, last + 1, range(index, behind))
