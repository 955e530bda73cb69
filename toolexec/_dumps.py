"""Dumps: a Context as text, and a Context that goes on from there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from toolexec._calls import CallRecord
    from toolexec._function import Function
    from toolexec._provider import Provider
    from toolexec._received import Received
    from toolexec._rendering import Rendering
    from toolexec._supervision import Supervision


class Dumps:
    """What a Context has for it; no part of its API by itself."""

    _responses: list[Received]
    _provider: Provider | None
    _rendering: Rendering
    _turn: int
    _asks: list[str]
    _stopped_ids: dict[str, str]
    _supervision: Supervision | None

    if TYPE_CHECKING:

        def __init__(self, tools: Iterable[Any] = (), **options: Any) -> None: ...
        def _calls(self) -> Iterable[Function]: ...
        def _deferrable(self) -> Iterable[Function]: ...
        def _note(self, function: Function) -> None: ...
        def _bind(self, record: CallRecord, provider: Provider | None, model: str | None = None) -> Function: ...

    def dump(self) -> str:
        """The conversation as text, from which :meth:`restore` goes on, in another process perhaps, and days later.

        It is JSON, and holds arguments and results as they are: keep it as you keep those.  Meanwhile no
        other thread may start calls.  Of the calls that were given to ``submit`` only those are in it that
        were put off; the others are their Tasks', and no part of the conversation.

        Raises:
            ToolexecError: A call is in flight, or a stream goes on; or what an open call is to run with is
                no plain data.
        """
        from toolexec._dumped import DumpedTurn  # few Contexts are dumped
        from toolexec._dumping import dump

        spent = {} if self._supervision is None else self._supervision.spent
        received = {id(function) for function in self._calls()}
        submitted = [function for function in self._deferrable() if id(function) not in received]
        turn = DumpedTurn(self._turn, list(self._asks), dict(self._stopped_ids), spent)
        return dump(self._responses, submitted, turn, self._rendering)

    @classmethod
    def restore(cls, dumped: str | bytes | bytearray, tools: Iterable[Any] = (), **options: Any) -> Self:
        """A Context that goes on where one was dumped.

        What was pending is pending, with a runner of its own, what was deferred waits to be settled, and
        what was answered does not run again.  Results that are no plain data come back as they were
        rendered, exceptions of others than toolexec's as ``ForeignError``.

        Args:
            dumped: What :meth:`dump` gave.  Who can change it decides what runs, and with which arguments.
            tools: As for the Context; those of answered calls may be missing.
            **options: Likewise, and for the most part the same: supervision, say, is no part of a dump.  ``reveal``
                and ``redact`` hold for what is answered from now on; errors from before are told as they were.

        Raises:
            FormatError: It is no dump, one of another version, or has a response of a provider that is
                not there.
            ToolexecError: A call that is not answered is of a tool that is not among ``tools``; and what
                making a Context raises.
        """
        from toolexec._restoring import load

        context = cls(tools, **options)
        context._responses, submitted, turn = load(dumped, context._bind, context._provider)
        for function in submitted:
            context._note(function)
        context._turn, context._asks, context._stopped_ids = turn.number, turn.asks, turn.stopped_ids
        if context._supervision is not None:
            context._supervision.next_turn(turn.spent)
        return context
