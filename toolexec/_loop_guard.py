"""LoopGuard: notices a model that asks for the same calls over and over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolexec._errors import DeclarationError

if TYPE_CHECKING:
    from toolexec._context import Context
    from toolexec._function import Function

    Asked = Sequence[tuple[Function, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGuard:
    """Refuses the calls of a response with which the last calls of a turn are one pattern, for the third time.

    The pattern may have any length: ``a a a`` is a loop, and ``a b a b a b``; ``a a a b`` is none any more.
    Two calls are the same if name and arguments are, as the model sent them, the arguments as JSON values.
    What one response asks for twice counts once: of those the model has seen no result yet.  Calls that
    belong to no response (``submit``) are neither counted nor refused.

    Attributes:
        threshold: How many times make a loop; two or more.

    Raises:
        DeclarationError: The threshold is something else.
    """

    threshold: int = 3

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or self.threshold < 2:
            raise DeclarationError(f"LoopGuard: threshold is {self.threshold!r}; it takes a whole number, two or more")

    def call(self, context: Context) -> str | None:
        """A warning for the model, or None; asked before calls are started.

        Args:
            context: The calls of whose turn, those that are about to start included, are looked at.
        """
        calls = [call for response in context._asked() for call in _distinct(response).items()]
        length = self.pattern([signature for signature, _ in calls])
        if not length:
            return None
        names = ", ".join(name for _, name in calls[-length:])
        return (
            f"the same calls were asked for {self.threshold} times in a row ({names}), with the same arguments; you "
            "have the answers to the earlier ones: use them, or do something else"
        )

    def concerns(self, context: Context, function: Function) -> bool:
        """Whether a warning is about a call: it is the last response's."""
        asked = context._asked()
        return bool(asked) and _has(asked[-1], function)

    def may_warn(self, context: Context, function: Function) -> bool:
        """Whether a call may turn out to be part of a loop, once its response is there as a whole."""
        mine = _signature(function.name, function.arguments)
        earlier = [response for response in context._asked() if not _has(response, function)]
        return sum(mine in _distinct(response) for response in earlier) >= self.threshold - 1

    def pattern(self, signatures: Sequence[Any]) -> int:
        """The length of the shortest pattern that the sequence ends with ``threshold`` times, or 0."""
        last = len(signatures) - 1
        for length in range(1, len(signatures) // self.threshold + 1):
            if signatures[last] != signatures[last - length]:
                continue
            if all(
                signatures[place] == signatures[place - length]
                for place in range(last, last - length * (self.threshold - 1), -1)
            ):
                return length
        return 0


def _has(response: Asked, function: Function) -> bool:
    return any(one is function for one, _ in response)


def _distinct(response: Asked) -> dict[tuple[str, str], str]:
    return {_signature(function.name, arguments): function.name for function, arguments in response}


def _signature(name: str, given: Any) -> tuple[str, str]:
    if isinstance(given, str | bytes | bytearray):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):  # no JSON: the same text is the same call
            return name, str(given)
    try:
        return name, json.dumps(given if given is not None else {}, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys that cannot be sorted, a dict in itself
        return name, repr(given)
