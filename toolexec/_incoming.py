"""Incoming: whose stream it is, and what it has said so far."""

from __future__ import annotations

from typing import Any

from toolexec._arguments import excerpt
from toolexec._assembling import Assembler, Whole
from toolexec._decoding import Decoder
from toolexec._errors import FormatError
from toolexec._formats import installed, recognised
from toolexec._provider import Provider, Reply


class Incoming:
    """One stream, read item by item.

    Attributes:
        provider: Whose it is; None until that is seen.
    """

    __slots__ = ("_assembler", "_decoder", "_first", "_seen", "provider")

    def __init__(self, provider: Provider | None, first: Provider | None) -> None:
        """Begin.

        Args:
            provider: Whose it is; None finds out.
            first: Whose it most likely is.
        """
        self.provider = provider
        self._first = first
        self._assembler: Assembler | None = None if provider is None else provider.assembler()
        self._decoder = Decoder()
        self._seen: Any = None  # the first event that nobody recognised

    @property
    def model(self) -> str | None:
        """The name of the model that speaks, once it is known."""
        return None if self._assembler is None else self._assembler.model

    def feed(self, item: Any) -> list[Whole]:
        """The calls that are whole by this item: an event, or a piece of the body.

        Raises:
            FormatError: It is no stream of this format, or says that its answer has failed.
        """
        events = self._decoder.feed(item) if isinstance(item, str | bytes | bytearray) else [item]
        return [whole for event in events for whole in self._take(event)]

    def finish(self) -> tuple[list[Whole], Reply]:
        """The calls that only the end has made whole, and the reply.

        Raises:
            FormatError: The stream ended early, or is of nobody's format.
        """
        whole = [whole for event in self._decoder.finish() for whole in self._take(event)]
        if self._assembler is None:
            seen = "nothing at all" if self._seen is None else f"first of all {excerpt(repr(self._seen))}"
            raise FormatError(
                f"no stream of any provider that is installed ({', '.join(installed())}); there was {seen}"
            )
        return whole, self._assembler.finish()

    def _take(self, event: Any) -> list[Whole]:
        if self._assembler is None:
            self.provider = recognised(event, self._first, streamed=True)
            if self.provider is None:
                # A ping perhaps, or a comment of some proxy; if no other comes, the end says so.
                self._seen = event if self._seen is None else self._seen
                return []
            self._assembler = self.provider.assembler()
        assert self.provider is not None
        try:
            return list(self._assembler.feed(event))
        except (AttributeError, KeyError, TypeError) as exc:
            raise FormatError(
                f"no event of {self.provider.name} ({type(exc).__name__}: {exc}): {excerpt(repr(event))}"
            ) from exc
