"""Bench: what the harnesses of one strategy share while it is set up."""

from __future__ import annotations

import tempfile
from typing import TypeVar

from toolexec import Strategy
from toolexec.testing._gate import Gate
from toolexec.testing._rendezvous import Rendezvous

_G = TypeVar("_G", Gate, Rendezvous)


class Bench:
    """Strategy objects, and a folder for gates and journals.

    Attributes:
        strategies: The objects, by the grace that was asked for; None for their own.
    """

    def __init__(self) -> None:
        self.strategies: dict[float | None, Strategy] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0
        self._kept: list[Gate | Rendezvous] = []

    def __reduce__(self) -> tuple[type[Bench], tuple[()]]:
        # What is set up belongs to this process; a harness that is taken to another one starts anew there.
        return Bench, ()

    def open(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="toolexec-testing-")

    def close(self) -> None:
        self.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def clear(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def new_path(self) -> str:
        assert self._folder is not None, "a harness is used inside `with harness:`"
        self._made += 1
        return f"{self._folder.name}/{self._made}"

    def keep(self, gate: _G) -> _G:
        self._kept.append(gate)
        return gate
