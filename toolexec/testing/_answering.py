"""Which calls a request asks for and answers, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolexec.providing import Answered, CallRecord, Provider, Said, get, is_array


class Batch:
    """The calls of one response, as they stand in a request.

    Attributes:
        calls: In order.
        zone: The messages right behind, which answer them.
        answered: For each call, whether something does.
        order: The calls that are answered in the zone, in the order of the answers.
    """

    def __init__(self, calls: Sequence[CallRecord], zone: range) -> None:
        self.calls = calls
        self.zone = zone
        self.answered = [False] * len(calls)
        self.order: list[int] = []

    def take(self, answer: Answered) -> int | None:
        """The call without an answer that this one is for, or None."""
        for number, call in enumerate(self.calls):
            if not self.answered[number] and answer.fits(call):
                self.answered[number] = True
                return number
        return None

    def label(self, number: int) -> str:
        """What to call a call."""
        return label(self.calls[number], number)


def label(call: CallRecord, number: int) -> str:
    """What to call a call in a message: its id, or its place where it has none."""
    return f"{call.id!r} ({call.name})" if call.id else f"call {number + 1} ({call.name})"


def batches_of(said: Sequence[Said], *, many: bool) -> list[Batch]:
    """The calls of a request, response by response.

    Args:
        said: What each message has to do with calls.
        many: Whether the answers are a message each, instead of all in one.
    """
    found: list[Batch] = []
    index = 0
    while index < len(said):
        calls = list(said[index].calls)
        goes_on = said[index].part
        index += 1
        while goes_on and index < len(said) and said[index].part:
            calls += said[index].calls
            index += 1
        if calls:
            behind = index
            while behind < len(said) and said[behind].answers and (many or behind == index):
                behind += 1
            found.append(Batch(calls, range(index, behind)))
    return found


def answer_faults(said: Sequence[Said], batches: Sequence[Batch]) -> Iterator[str]:
    """What is wrong with the answers, in words: of calls that have none, more than one, or one in another place."""
    zones = {index: batch for batch in batches for index in batch.zone}
    astray: list[Answered] = []
    for index, one in enumerate(said):
        for answer in one.answers:
            batch = zones.get(index)
            number = None if batch is None else batch.take(answer)
            if batch is None or number is None:
                astray.append(answer)  # only once all others have found their call is it clear whose it can be
            else:
                batch.order.append(number)
    displaced: list[str] = []
    twice: list[str] = []
    unknown: list[str] = []
    for answer in astray:
        taken = next((batch.label(n) for batch in batches if (n := batch.take(answer)) is not None), None)
        name = repr(answer.id or answer.name)
        if taken is not None:
            displaced.append(taken)
        elif any(answer.fits(call) for batch in batches for call in batch.calls):
            twice.append(name)
        else:
            unknown.append(name)
    missing = [batch.label(n) for batch in batches for n, there in enumerate(batch.answered) if not there]
    yield from _listed("not answered", missing)
    yield from _listed("answered twice", twice)
    yield from _listed("answered, and never asked for", unknown)
    yield from _listed("not answered directly behind the message that asks", displaced)
    for batch in batches:
        if batch.order != sorted(batch.order):
            came, asked = (", ".join(map(batch.label, order)) for order in (batch.order, sorted(batch.order)))
            yield f"answered out of order: {came}, where the order of the calls is {asked}"


def id_faults(batches: Sequence[Batch], *, needed: bool) -> Iterator[str]:
    """Which calls of one response cannot be told apart by their ids."""
    for batch in batches:
        ids = [call.id for call in batch.calls]
        yield from _listed("asked for under one id", sorted({repr(one) for one in ids if one and ids.count(one) > 1}))
        if needed:
            yield from _listed("asked for without an id", [batch.label(n) for n, one in enumerate(ids) if not one])


def block_faults(provider: Provider, said: Sequence[Said], messages: Sequence[Any]) -> Iterator[str]:
    """Where answers are blocks of a message: those that do not stand first in it, or not alone where they have to."""
    if provider.blocks is None:
        return
    for index, one in enumerate(said):
        blocks = get(messages[index], provider.blocks.key)
        if not one.answers or not is_array(blocks):
            continue
        if [answer.block for answer in one.answers] != list(range(len(one.answers))):
            yield f"message {index} has something before its answers, or between them"
        elif provider.blocks.alone and len(blocks) > len(one.answers):
            yield f"message {index} has something beside its answers"


def repetition_faults(
    batches: Sequence[Sequence[CallRecord]],
    given: Sequence[Sequence[CallRecord]],
    before: Sequence[Sequence[CallRecord]] | None,
    same: Callable[[Sequence[CallRecord], CallRecord, CallRecord], bool],
) -> Iterator[str]:
    """What the request does not say again as the model has said it.

    Args:
        batches: The calls in the request, response by response.
        given: Those of the model; empty responses are left out.
        before: Those that the conversation began with; None takes all that are not the model's.
        same: Whether a call that was given in a response is one of the request.
    """
    left = list(batches)
    others: list[Sequence[CallRecord]] = []
    lost: list[str] = []
    added: list[str] = []
    for calls in given:
        pairings = [_paired(calls, there, same) for there in left]
        whole = (n for n, pairs in enumerate(pairings) if None not in pairs and len(pairs) == len(left[n]))
        some = (n for n, pairs in enumerate(pairings) if any(number is not None for number in pairs))
        best = next(whole, next(some, None))
        if best is None:
            lost += [label(call, n) for n, call in enumerate(calls)]
            continue
        pairs = pairings[best]
        lost += [label(call, n) for n, call in enumerate(calls) if pairs[n] is None]
        added += [label(call, n) for n, call in enumerate(left[best]) if n not in pairs]
        others += left[:best]
        left = left[best + 1 :]
    others += left
    if before is not None:
        added += [label(call, n) for calls in others if calls not in before for n, call in enumerate(calls)]
    yield from _listed("asked for by the model, and not in the request", lost)
    yield from _listed("asked for in the request, and not by the model", added)


def _paired(
    calls: Sequence[CallRecord],
    there: Sequence[CallRecord],
    same: Callable[[Sequence[CallRecord], CallRecord, CallRecord], bool],
) -> list[int | None]:
    """For each of the calls, which one of the request it is, or None."""
    pairs: list[int | None] = []
    for call in calls:
        free = (n for n, one in enumerate(there) if n not in pairs and same(calls, call, one))
        pairs.append(next(free, None))
    return pairs


def _listed(what: str, labels: Sequence[str]) -> Iterator[str]:
    if labels:
        yield f"{what}: {', '.join(labels)}"
