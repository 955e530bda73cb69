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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopGuard:
    """Warns when the last calls of a turn are one pattern, of any length, for the third time.

    Two calls are the same if name and arguments are, the arguments as JSON values.  ``a a a`` is a loop,
    and ``a b a b a b``; ``a a a b`` is none any more.

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
            context: Whose ``calls``, those that are about to start included, are looked at.
        """
        calls = context.calls
        length = self.pattern([_signature(function) for function in calls])
        if not length:
            return None
        names = ", ".join(function.name for function in calls[-length:])
        return (
            f"the same calls were asked for {self.threshold} times in a row ({names}), with the same arguments; their "
            "results will not change: use what you have, or do something else"
        )

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


def _signature(function: Function) -> tuple[str, str]:
    given: Any = function.arguments
    if isinstance(given, str | bytes | bytearray):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):  # no JSON: the same text is the same call
            return function.name, str(given)
    try:
        return function.name, json.dumps(given if given is not None else {}, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys that cannot be sorted, a dict in itself
        return function.name, repr(given)
